"""llama.cpp's server in this process: started once, silent, and gone with the process."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ingot.errors import NotConfiguredError
from ingot_local import server, weights
from ingot_local.server import base_url

pytestmark = pytest.mark.ingot(mode="live")

ROOT = Path(__file__).resolve().parents[1]


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A Python of its own, with both of its output descriptors caught."""
    places = os.pathsep.join(map(str, [ROOT, ROOT / "providers"]))
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        env=os.environ | {"PYTHONPATH": places} | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(autouse=True)
def no_pinned_port(monkeypatch):
    monkeypatch.delenv("INGOT_LOCAL_PORT", raising=False)


def test_importing_the_module_does_not_load_llama_cpp():
    """Whoever never asks the local model does not pay for it."""
    done = run("import sys, ingot_local.server; print('xllamacpp' in sys.modules)")

    assert outcome(done) == (0, "False\n", "")


def test_without_xllamacpp_the_error_names_the_extra(tmp_path):
    """One sentence, and the command to type."""
    done = run(
        """
        import sys, pathlib
        sys.modules["xllamacpp"] = None
        from ingot.errors import NotConfiguredError
        from ingot_local.server import base_url
        try:
            base_url(pathlib.Path("x.gguf"))
        except NotConfiguredError as error:
            print(error)
        """
    )

    said = "the local model needs the package xllamacpp, which is not installed"
    assert outcome(done) == (0, f"{said}; pip install 'ingot-ask[local]'\n", "")


BROKEN = {
    "magic only": b"GGUF",
    "junk": b"GGUF" + b"\xff" * 5000,
    "endless": b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60),
    "empty": b"GGUF" + struct.pack("<IQQ", 3, 0, 0),
}


def test_a_file_that_does_not_load_is_named(tmp_path):
    """It neither ends the process nor says anything but the error, which comes each time."""
    pytest.importorskip("xllamacpp")
    paths = [tmp_path / name for name in BROKEN]
    for path in paths:
        path.write_bytes(BROKEN[path.name])
    done = run(
        f"""
        import pathlib
        from ingot.errors import NotConfiguredError
        from ingot_local.server import base_url
        for path in {[str(path) for path in paths] * 2}:
            try:
                base_url(pathlib.Path(path))
            except NotConfiguredError as error:
                print(error)
        """
    )
    lines = done.stdout.splitlines()

    assert (done.returncode, done.stderr, len(lines)) == (0, "", 2 * len(BROKEN))
    for path, line in zip(paths * 2, lines, strict=True):
        assert f"llama.cpp cannot load {str(path)!r} ({path.stat().st_size:,} bytes)" in line


@pytest.mark.parametrize("given", ["0", "70000", "-1", "http", "80 80", "\N{SUPERSCRIPT TWO}"])
def test_a_port_that_is_none_is_refused(tmp_path, monkeypatch, given):
    """What was given, and what was expected."""
    monkeypatch.setenv("INGOT_LOCAL_PORT", given)

    with pytest.raises(NotConfiguredError, match="expected a port from 1 to 65535"):
        base_url(tmp_path / "m.gguf")


def test_a_port_that_is_taken_is_refused(tmp_path, monkeypatch):
    """The variable is named, and what to do about it."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setenv("INGOT_LOCAL_PORT", str(port))
        with pytest.raises(NotConfiguredError) as caught:
            base_url(tmp_path / "m.gguf")

    assert f"port {port} in INGOT_LOCAL_PORT is in use" in str(caught.value)
    assert "unset it" in caught.value.advice


def test_to_stop_nothing_is_fine():
    """No server, nothing to do."""
    assert server.stop() is None


PRELUDE = """
import json, os, signal, sys, threading, time
import openai
from ingot_local import server, weights
from ingot_local.server import base_url

path = weights.locate("smollm2")

def ask(prompt, tokens=8, **more):
    client = openai.OpenAI(base_url=base_url(path), api_key="none", max_retries=0, timeout=60)
    messages = [{"role": "user", "content": prompt}]
    return client.chat.completions.create(
        model="m", messages=messages, max_tokens=tokens, temperature=0, **more
    )
"""


def live(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    weights.pull(progress=False)
    return run(PRELUDE + textwrap.dedent(program), **variables)


@pytest.mark.live
def test_the_server_keeps_to_a_schema():
    """A list of strings comes back, under the key that the schema names."""
    done = live(
        """
        schema = {
            "type": "object",
            "properties": {"value": {"type": "array", "items": {"type": "string"}, "maxItems": 5}},
            "required": ["value"],
            "additionalProperties": False,
        }
        form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
        answer = ask("List three European capital cities.", 80, response_format=form)
        print(answer.choices[0].message.content.replace("\\n", " "))
        """
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert all(isinstance(item, str) for item in json.loads(done.stdout)["value"])


@pytest.mark.live
def test_first_uses_at_once_start_one_server():
    """Four threads, one URL, four equal answers; also to questions that follow others."""
    done = live(
        """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            urls = set(pool.map(base_url, [path] * 4))
            told = {a.choices[0].message.content for a in pool.map(ask, ["Name a fruit."] * 4)}
        ask("Name a planet.")
        told.add(ask("Name a fruit.").choices[0].message.content)
        print(len(urls), len(told))
        """
    )

    assert outcome(done) == (0, "1 1\n", "")


@pytest.mark.live
def test_a_refused_request_is_not_logged():
    """The client hears about it; the terminal does not."""
    done = live(
        """
        try:
            form = {"type": "json_schema", "json_schema": {"schema": {"type": 5}}}
            ask("x", response_format=form)
        except openai.BadRequestError:
            print("refused")
        """
    )

    assert outcome(done) == (0, "refused\n", "")


@pytest.mark.live
def test_a_pinned_port_is_used():
    """For a firewall, or to look at the traffic."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = live("print(base_url(path))", INGOT_LOCAL_PORT=str(port))

    assert outcome(done) == (0, f"http://127.0.0.1:{port}/v1\n", "")


@pytest.mark.live
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("pass", 0),
        ("sys.exit(3)", 3),
        ("it = iter(ask('Tell a long story.', 2000, stream=True)); next(it)", 0),
        ("threading.Thread(target=ask, args=('Go.', 4000), daemon=True).start(); time.sleep(1)", 0),
        ("base_url(path)\nserver.stop()\nbase_url(path)", 0),
    ],
    ids=["idle", "exit code", "stream left open", "call under way", "stopped and started"],
)
def test_the_process_ends_at_once_and_in_silence(end, code):
    """Whatever is under way: no hang, no noise, and the exit code is kept."""
    done = live(
        f"""
        ask("Name a fruit.")
        import atexit
        atexit.register(lambda: print("end", flush=True))
        {end.replace(chr(10), chr(10) + " " * 8)}
        """
    )

    assert outcome(done) == (code, "end\n", "")


@pytest.mark.live
def test_a_start_that_nobody_uses_ends_in_silence():
    """Stopped right after its birth, llama.cpp does not hang."""
    assert {(0, "", "")} == {outcome(live("base_url(path)")) for _ in range(3)}


@pytest.mark.live
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_during_a_call_ends_the_process():
    """One KeyboardInterrupt, nothing of llama.cpp's, within seconds."""
    done = live(
        """
        ask("Name a fruit.")
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            ask("Tell a long story.", 8000)
        except KeyboardInterrupt:
            print(time.monotonic() - began < 3)
            raise
        """
    )

    assert done.stdout == "True\n"
    assert done.returncode == -2
    assert done.stderr.endswith("KeyboardInterrupt\n")
    assert "llama" not in done.stderr


@pytest.mark.live
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("end", ["sys.exit(5)", "os._exit(5)"])
@pytest.mark.parametrize("use", ["ask('Name a fruit.')", "pass"])
def test_a_forked_child_has_a_server_of_its_own(use, end):
    """It starts one if it asks, ends with its own exit code, and leaves the parent's alone."""
    done = live(
        f"""
        url = base_url(path)
        child = os.fork()
        if child == 0:
            {use}
            print(base_url(path) != url if {use!r} != "pass" else True, flush=True)
            {end}
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        ask("Name a fruit.")
        print(base_url(path) == url)
        """
    )

    assert outcome(done) == (0, "True\n5\nTrue\n", "")
