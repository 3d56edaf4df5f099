"""`ingot rill`: a runtime for any host, and looks into what it has learned."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from runtime_kit import counts, journal, opened, pair
from typer.testing import CliRunner, Result

from ingot.cli.commands import app
from ingot.rill.client import Client
from ingot.rill.errors import RillProcessError
from ingot.rill.host import Host

CONTEXT = {"arms": ["a", "b"], "features": {"size": 2.5, "kind": "x"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


def rill(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["rill", *arguments], prog_name="ingot")


def shown(*arguments: str) -> Any:
    done = rill(*arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    return json.loads(done.stdout)


def served(path: Path, *options: str, command: str = "serve") -> Host:
    return Host([sys.executable, "-m", "ingot", "rill", command, "--state", str(path), *options])


def test_a_runtime_learns_and_remembers(path: Path) -> None:
    """As a program that any host can drive; it chooses among arms unless told otherwise."""
    for number in range(1, 3):
        with Client(served(path)) as client:
            decision = client.decide(CONTEXT)
            client.feedback(decision.id, decision.output["arm"], 1.0)
            assert client.inspect()["completedDecisions"] == number


def test_it_speaks_as_it_is_told(path: Path) -> None:
    """Surface, hash, model and learner are its caller's choice."""
    options = ["--surface", "preview", "--learner", "counters", "--durable"]
    options += ["--model-generation", "7", "--feature-schema-hash", "cd" * 32]
    with Client(served(path, *options)) as client:
        greeting = client.handshake()
        pair(client)

    assert greeting.channel == "preview"
    assert greeting.schema_hash == "cd" * 32
    assert counts(path) == {"decisions": 1, "feedback": 1}


def test_the_command_line_of_the_source_system_works(path: Path) -> None:
    """Its checkers drive any program that takes it."""
    with Client(served(path, command="preview-serve")) as client:
        assert client.handshake().channel == "preview"
        pair(client)

    assert counts(path) == {"decisions": 1, "feedback": 1}


def test_what_cannot_be_served_is_told(path: Path) -> None:
    """In one line, with a code."""
    path.write_bytes(b"{")
    client = Client(served(path), restarts=0)
    with pytest.raises(RillProcessError, match=r"code 19: error: .* is no snapshot"):
        client.handshake()
    client.close()

    assert rill("serve", "--state", str(path)).exit_code == 19
    assert rill("serve", "--state", f"{path}2", "--feature-schema-hash", "x").exit_code == 2
    assert rill("serve", "--state", f"{path}2", "--learner", "x").exit_code == 3
    assert not path.with_name("state2").exists()


def test_a_host_that_leaves_is_no_error(path: Path) -> None:
    """Nobody reads the answers any more; what was asked is kept."""
    command = [sys.executable, "-m", "ingot", "rill", "serve", "--state", str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"{}\n" * 10)
        process.stdin.close()
        said = process.stderr.read()

    assert said == b""
    assert shown("inspect", "--state", str(path), "--json")["stateGeneration"] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is of Linux")
@pytest.mark.parametrize(
    ("pipes", "code", "said"),
    [
        ("<&-", 2, "one of them is closed"),
        (">&-", 2, "one of them is closed"),
        (">/dev/full", 1, "the output cannot be written: No space left on device"),
    ],
)
def test_a_pipe_that_cannot_be_used_is_told(path: Path, pipes: str, code: int, said: str) -> None:
    """In one line."""
    command = shlex.join([sys.executable, "-m", "ingot", "rill", "serve", "--state", str(path)])
    done = subprocess.run(  # noqa: S602 (the shell is what closes pipes)
        f"{command} {pipes}", shell=True, input="{}\n", capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr.count("\n")) == (code, 1)
    assert said in done.stderr


@pytest.mark.parametrize("command", ["serve", "inspect", "snapshot", "reset", "reset --force"])
def test_a_folder_is_no_state(path: Path, command: str) -> None:
    """Nothing is made beside it."""
    path.mkdir()
    done = rill(*command.split(), "--state", str(path))

    assert (done.exit_code, "it is a folder" in done.stderr) == (19, True)
    assert list(path.parent.iterdir()) == [path]


def test_a_state_is_shown_while_it_is_used(path: Path) -> None:
    """What decides there is found out."""
    with opened(path) as client:
        pair(client)
        client.decide({})
        told = shown("inspect", "--state", str(path), "--json")
        text = rill("inspect", "--state", str(path)).stdout
        state = shown("snapshot", "--state", str(path))

    assert (told["stateGeneration"], told["pendingDecisions"]) == (3, 1)
    assert "decisions that wait for feedback 1" in " ".join(text.split())
    assert state["decisions"] == 2


def test_a_copy_is_a_state(path: Path) -> None:
    """Made while the original is used."""
    copy = path.with_name("copy")
    with opened(path) as client:
        pair(client)
        assert rill("snapshot", "--state", str(path), "--out", str(copy)).exit_code == 0

    assert counts(copy) == {"decisions": 1, "feedback": 1}
    for elsewhere in (copy, path / "copy"):  # which is there, and which cannot be
        assert rill("snapshot", "--state", str(path), "--out", str(elsewhere)).exit_code == 2


def test_a_reset_forgets(path: Path) -> None:
    """All that was learned, and not that there was something: generations go on."""
    with opened(path) as client:
        pair(client)
        assert rill("reset", "--state", str(path)).exit_code == 19
    assert rill("reset", "--state", str(path)).exit_code == 0

    told = shown("inspect", "--state", str(path), "--json")
    assert (told["stateGeneration"], told["completedDecisions"]) == (3, 0)


def test_a_damaged_state_is_set_aside_by_force(path: Path) -> None:
    """Not by a plain reset, and not while it is used."""
    client = opened(path)
    pair(client)
    path.write_bytes(path.read_bytes()[:-9])
    used = rill("reset", "--state", str(path), "--force")
    assert (used.exit_code, "another runtime" in used.stderr) == (19, True)
    client.close()
    path.write_bytes(path.read_bytes()[:-9])
    assert rill("reset", "--state", str(path)).exit_code == 19
    done = rill("reset", "--state", str(path), "--force")

    assert done.exit_code == 0
    assert done.stderr.count("set aside: ") == 2
    assert not path.exists()
    assert not journal(path).exists()
    path.write_bytes(b"more damage")
    again = rill("reset", "--state", str(path), "--force")
    assert again.stderr == f"set aside: {path}.damaged1\n"
    assert path.with_name(f"{path.name}.damaged").stat().st_size > 100
    opened(path).close()


@pytest.mark.parametrize("command", ["inspect", "snapshot", "reset", "reset --force"])
def test_where_there_is_no_state_none_is_made(path: Path, command: str) -> None:
    """A typo is an error."""
    done = rill(*command.split(), "--state", str(path))

    assert done.exit_code == 19
    assert "there is no state" in done.stderr
    assert list(path.parent.iterdir()) == []
