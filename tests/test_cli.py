"""The command line: what it says, what it asks, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ingot import Response, Usage, errors
from ingot.cli import inputs
from ingot.cli.commands import app
from ingot.cli.exits import code_of
from ingot.testing import Script

COLOURS = ["red", "grün", "藍"]


def installed() -> bool:
    try:
        version("ingot-ask")
    except PackageNotFoundError:
        return False
    return True


announced = pytest.mark.skipif(not installed(), reason="plugins are found only when installed")


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without settings, and an environment without keys."""
    for name in list(os.environ):
        if name.startswith(("INGOT_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("INGOT_MODEL_DIR", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


def ingot(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=stdin, prog_name="ingot")


def child(code: str, *arguments: str, **named: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **named,
    )


# ingot ask


def test_a_value_is_one_line_of_json() -> None:
    """What is no terminal gets JSON on one line, in its own letters, and nothing on stderr."""
    with Script([COLOURS]):
        done = ingot("ask", "list[str]", "Name three colours.")

    assert (0, '["red", "grün", "藍"]\n', "") == (done.exit_code, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("type_", "reply", "printed"),
    [
        ("Text", "One.\nTwo: grün.", "One.\nTwo: grün.\n"),
        ("Markdown", "# Head\n", "# Head\n"),
        ("text", "[1, 2]", "[1, 2]\n"),
        ("Json", '{"a": [1, null]}', '{"a": [1, null]}\n'),
        ("dict[str, Decimal]", {"a": "1.10"}, '{"a": "1.10"}\n'),
        ("datetime", "2024-02-29T08:30:00Z", '"2024-02-29T08:30:00Z"\n'),
        ("set[int]", [1], "[1]\n"),
        ("tuple[int, str]", '{"value": [1, "a"]}', '[1, "a"]\n'),
        ("int", {"value": 9007199254740993123}, "9007199254740993123\n"),
        ("None", '{"value": null}', "null\n"),
        ("string[]", ["a"], '["a"]\n'),
    ],
)
def test_each_kind_of_value_is_printed(type_: str, reply: Any, printed: str) -> None:
    """Prose as it is, all else as the JSON of its type."""
    if type_ == "datetime":
        reply = json.dumps({"value": reply})
    if type_ == "int":
        reply = json.dumps(reply)
    with Script([reply]):
        done = ingot("ask", type_, "Say.")

    assert (0, printed, "") == (done.exit_code, done.stdout, done.stderr)


def test_a_class_of_a_module_is_printed_by_its_aliases(tmp_path: Path) -> None:
    """The JSON of a class is what would be read as one again."""
    (tmp_path / "shop_c.py").write_text(
        "from pydantic import BaseModel, Field\n"
        "class Invoice(BaseModel):\n    total: int = Field(alias='grandTotal')\n"
    )
    with Script(['{"grandTotal": 3}']):
        done = ingot("ask", "shop_c:Invoice", "Read.")

    assert (0, '{"grandTotal": 3}\n') == (done.exit_code, done.stdout)


def test_the_whole_answer() -> None:
    """`--answer` prints what it took, too."""
    reply = Response(
        text="grün",
        usage=Usage(input_tokens=7, output_tokens=2),
        stop_reason="stop",
        model="m-1",
        request_id="r-1",
    )
    with Script([errors.ProviderUnavailableError("down", retry_after=0.0), reply]):
        done = ingot("ask", "Text", "Say.", "--answer")
    told = json.loads(done.stdout)
    told.pop("seconds")

    assert {
        "value": "grün",
        "model": "script/m-1",
        "usage": {
            "input_tokens": 7,
            "output_tokens": 2,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
            "cache_write_1h_tokens": 0,
            "reasoning_tokens": 0,
        },
        "cost": None,
        "request_id": "r-1",
        "attempts": 2,
        "repairs": 0,
        "constrained": False,
        "note": None,
    } == told


def test_what_is_said_arrives(tmp_path: Path) -> None:
    """The prompt may come from stdin, and values from files; `@@` is a plain `@`."""
    (tmp_path / "letter.txt").write_bytes("\ufeffDear Zoë,\n".encode())
    with Script(["ok"]) as script:
        done = ingot(
            *("ask", "Text", "-", "--context", "letter=@letter.txt"),
            *("--context", "to=a=b", "--context", "at=@@home"),
            stdin="Summarise: grün\n",
        )
    asked = script.heard[0]

    assert (0, "Summarise: grün\n") == (done.exit_code, asked.prompt)
    assert (("letter", "Dear Zoë,\n"), ("to", "a=b"), ("at", "@home")) == asked.context


def test_settings_arrive() -> None:
    """Each option is the setting of its name."""
    with Script(['{"value": 1}']) as script:
        done = ingot(
            *("ask", "int", "Say.", "--model", "openai/m", "--system", "Be brief."),
            *("--max-tokens", "9", "--temperature", "0.5", "--seed", "3", "--timeout", "7"),
            *("--constrain", "prompt", "--retry", "0", "--repair", "1"),
            *("--param", 'a={"b": 1}', "--param", "c=true"),
        )
    asked = script.heard[0]

    assert (0, "1\n") == (done.exit_code, done.stdout)
    assert ("m", "Be brief.", 9) == (asked.model, asked.system, asked.max_tokens)
    assert (0.5, 3, 7) == (asked.temperature, asked.seed, asked.timeout)
    assert {"a": {"b": 1}, "c": True} == dict(asked.params)
    assert asked.format is not None
    assert asked.format.constrained is False


def test_a_reply_is_repaired_as_often_as_is_said() -> None:
    """`--repair` lets the model see what is wrong."""
    with Script(['{"value": "x"}', '{"value": 2}']):
        done = ingot("ask", "int", "Say.", "--repair", "1")

    assert (0, "2\n") == (done.exit_code, done.stdout)


FAILURES: list[tuple[int, Any]] = [
    (3, errors.NotConfiguredError("x")),
    (4, errors.UnsupportedTypeError("T", "x")),
    (5, errors.ProviderAuthError("x")),
    (6, errors.ProviderRateLimitError("x")),
    (7, errors.ProviderTimeoutError("x")),
    (8, errors.ProviderUnavailableError("x")),
    (9, errors.ProviderProtocolError("x")),
    (10, Response(stop_reason="refusal", empty_reason="refusal")),
    (11, Response(text="[1", stop_reason="length", empty_reason="truncated")),
    (12, Response(stop_reason="stop", empty_reason="blank")),
    (12, Response(stop_reason="filter", empty_reason="content_filter")),
    (13, "no JSON"),
    (13, '{"value": "x"}'),
    (130, KeyboardInterrupt()),
]


@pytest.mark.parametrize(("code", "reply"), FAILURES)
def test_a_failure_is_one_line_and_a_code(code: int, reply: Any) -> None:
    """Stdout stays empty, stderr has one line, and the code tells what happened."""
    with Script([reply]):
        done = ingot("ask", "int", "Say.", "--retry", "0")

    assert (code, "", 1) == (done.exit_code, done.stdout, done.stderr.count("\n"))
    assert done.stderr.startswith("error: ")


def test_every_error_has_a_code() -> None:
    """No class of the tree falls to the code of a crash."""

    def tree(cls: type[Exception]) -> list[type[Exception]]:
        return [cls, *(leaf for sub in cls.__subclasses__() for leaf in tree(sub))]

    classes = [cls for cls in tree(errors.IngotError) if cls.__module__ == errors.__name__]
    without = [cls.__name__ for cls in classes if code_of(cls.__new__(cls)) == 1]

    assert ["IngotError"] == without


def test_advice_is_in_the_words_of_the_command_line() -> None:
    """`max_tokens` of Python is `--max-tokens` here; the reply is shown if wanted."""
    cut = Response(text="[1,\n 2", stop_reason="length", empty_reason="truncated")
    with Script([cut]):
        done = ingot("ask", "list[int]", "Say.", "--show-reply", "--max-tokens", "5")

    assert (
        "[1,\n 2\nerror: the answer was cut off at --max-tokens=5 (length); "
        "raise --max-tokens, or ask for less; the part that came is shown by --show-reply\n"
    ) == done.stderr


MISUSES = {
    ("lst", "Say."): "cannot ask for `lst`: at character 1: there is no type `lst`; "
    "did you mean 'list'?",
    ("int", ""): "the prompt is empty",
    (
        "int",
        "Say.",
        "--max-tokens",
        "0",
    ): "--max-tokens must be a whole number of at least 1, not 0",
    ("int", "Say.", "--retry", "-1"): "--retry must be how often to try again, "
    "as a whole number, not -1",
    ("int", "Say.", "--context", "a"): "--context takes name=text or name=@file, not 'a'",
    ("int", "Say.", "--context", "a=1", "--context", "a=2"): "--context a is given twice",
    ("int", "Say.", "--context", "a=@bytes"): "--context a=@…: the file 'bytes' is not UTF-8 text "
    "(at byte 2)",
    ("int", "Say.", "--context", "a=@."): "--context a=@…: the file '.' cannot be read: "
    "Is a directory",
    ("int", "Say.", "--context", "1=a"): "'1' cannot name a context value; "
    "use letters, digits, '_', '-' and '.', a letter or '_' first",
    ("int", "Say.", "--param", "a=b"): "--param a: 'b' is not JSON; a text is written 'a=\"text\"'",
    ("int", "Say.", "--param", "a=NaN"): "--param a: 'NaN' is not JSON; "
    "a text is written 'a=\"text\"'",
    ("int", "\ud800"): "PROMPT is not UTF-8 text",
}


@pytest.mark.parametrize("arguments", MISUSES)
def test_a_misuse_is_told_before_anything_is_asked(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Code 2, one line that names the option, and no request."""
    (tmp_path / "bytes").write_bytes(b"ab\xff")
    with Script([]):
        done = ingot("ask", *arguments)

    assert (2, "", f"error: {MISUSES[arguments]}\n") == (done.exit_code, done.stdout, done.stderr)


def test_a_missing_file_is_told_with_the_folder(tmp_path: Path) -> None:
    """Where it was looked for is half of the answer."""
    with Script([]):
        done = ingot("ask", "int", "Say.", "--context", "a=@letter.txt")
    told = f"error: --context a=@…: there is no file 'letter.txt' (looked in {tmp_path})\n"

    assert (2, told) == (done.exit_code, done.stderr)


def test_stdin_that_is_no_text() -> None:
    """Binary content is not guessed at."""
    with Script([]):
        done = ingot("ask", "int", "-", stdin=b"ab\xff")

    assert (2, "error: the prompt on stdin is not UTF-8 text (at byte 2)\n") == (
        done.exit_code,
        done.stderr,
    )


def test_nobody_to_ask() -> None:
    """A malformed model and nothing configured are code 3, with the way out."""
    malformed = ingot("ask", "int", "Say.", "--model", "gpt")
    nothing = ingot("ask", "int", "Say.", "--model", "nobody/m")

    assert (3, 3) == (malformed.exit_code, nothing.exit_code)
    assert "write provider/model" in malformed.stderr
    assert "there is no provider 'nobody'" in nothing.stderr


def test_a_key_is_no_option() -> None:
    """It would stay in the history of the shell; the help says where it goes."""
    done = ingot("ask", "--help")

    assert 2 == ingot("ask", "int", "Say.", "--api-key", "k").exit_code
    assert "--api-key" not in done.stdout
    assert "OPENAI_API_KEY" in done.stdout
    assert "130  interrupted" in done.stdout


def test_a_text_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device is not read until memory ends; a pipe is read."""
    monkeypatch.setattr(inputs, "_MOST", 10)
    (tmp_path / "long").write_text("x" * 11)
    with Script([]):
        file = ingot("ask", "int", "Say.", "--context", "a=@long")
        stdin = ingot("ask", "int", "-", stdin="x" * 11)

    assert (2, 2) == (file.exit_code, stdin.exit_code)
    assert "the file 'long' has more than" in file.stderr
    assert "stdin has more than" in stdin.stderr


SCRIPTED = """
import sys
from ingot.cli import main
from ingot.testing import Script

sys.argv[0] = "ingot"
Script([list(range(50_000))]).__enter__()
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this is how POSIX shells close and redirect")
@pytest.mark.parametrize(
    ("rest", "code", "err"),
    [
        ("| true", 1, ""),
        ("> /dev/full", 1, "error: the output cannot be written: No space left on device\n"),
        (">&-", 1, "error: the output cannot be written: stdout is closed\n"),
        ("- <&-", 2, "error: PROMPT is -, and stdin is closed\n"),
    ],
)
def test_streams_that_are_closed_or_full(rest: str, code: int, err: str) -> None:
    """One line at most, and a code; no traceback, and nothing at exit."""
    prompt = "" if rest.startswith("-") else "Say."
    line = f'"$0" -c "$1" ask "list[int]" {prompt} {rest}; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable, SCRIPTED],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (code, err) == (done.returncode, done.stderr)


# ingot schema


def test_a_schema_as_it_is_sent(tmp_path: Path) -> None:
    """JSON on stdout; on stderr who checks what."""
    (tmp_path / "shop_d.py").write_text(
        "from pydantic import BaseModel, Field\n"
        "class Item(BaseModel):\n"
        "    n: int = Field(ge=1)\n    name: str = Field(min_length=2)\n"
    )
    done = ingot("schema", "list[shop_d:Item]", "--for", "openai")
    sent = json.loads(done.stdout)

    assert ["value"] == sent["required"]
    assert 1 == done.stdout.count("\n")
    assert [
        "Constraints",
        "  where    what                   checked by",
        "  [].n     at least 1             the server, and ingot",
        "  [].name  at least 2 characters  ingot alone",
    ] == done.stderr.splitlines()[-4:]


def test_the_whole_of_a_schema_for_machines() -> None:
    """`--json` puts everything on stdout."""
    done = ingot("schema", "dict[str, int]", "--for", "local", "--json")
    told = json.loads(done.stdout)

    assert "" == done.stderr
    assert ("dict[str, int]", "local", "schema") == (told["type"], told["server"], told["kind"])
    assert (True, [], []) == (told["constrained"], told["obstacles"], told["constraints"])
    assert "object" == told["schema"]["type"]


def test_a_type_that_a_vendor_cannot_hold_a_model_to(tmp_path: Path) -> None:
    """The obstacle is named, and the schema is the one that is shown."""
    (tmp_path / "shop_e.py").write_text(
        "from __future__ import annotations\nfrom pydantic import BaseModel\n"
        "class Node(BaseModel):\n    children: list[Node]\n"
    )
    done = ingot("schema", "shop_e:Node", "--for", "anthropic")
    told = json.loads(ingot("schema", "shop_e:Node", "--for", "anthropic", "--json").stdout)

    assert 0 == done.exit_code
    assert "Shown in the prompt; anthropic servers cannot hold a model to it:" in done.stderr
    assert "`Node` refers to itself" in done.stderr
    assert (False, 1) == (told["constrained"], len(told["obstacles"]))


@pytest.mark.parametrize("type_", ["Text", "Json"])
def test_what_has_no_schema(type_: str) -> None:
    """Prose and free JSON are sent without one."""
    done = ingot("schema", type_)

    assert (0, "null\n") == (done.exit_code, done.stdout)
    assert "no schema is sent" in done.stderr


def test_a_type_without_json_has_code_4() -> None:
    """It is a type, and cannot be asked for."""
    done = ingot("schema", "list[bytes]")

    assert (4, "") == (done.exit_code, done.stdout)
    assert done.stderr.startswith("error: cannot ask for `list[bytes]`")


# ingot doctor, ingot model


def test_a_doctor_who_finds_nothing() -> None:
    """Nothing can be asked: code 3, and the ways out."""
    done = ingot("doctor")
    told = json.loads(ingot("doctor", "--json").stdout)

    assert (3, "") == (done.exit_code, done.stderr)
    assert "cannot be asked:" in done.stdout
    assert told["ready"] is False
    assert told["weights"]["path"] is None


@announced
def test_a_doctor_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are `set`, addresses without their password; the reason for the choice is there."""
    secret = "hunter2-very-secret"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    monkeypatch.setenv("INGOT_API_KEY", secret)
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://me:{secret}@proxy.test/v1?key={secret}")
    plain = ingot("doctor")
    told = json.loads((machine := ingot("doctor", "--json")).stdout)
    openai = next(one for one in told["providers"] if one["name"] == "openai")

    assert 0 == plain.exit_code
    assert secret not in plain.output + machine.output
    assert ({"OPENAI_API_KEY": True}, "https://proxy.test/v1") == (
        openai["keys"],
        openai["base_url"],
    )
    assert [{"name": "api_key", "value": "set", "source": "INGOT_API_KEY"}] == told["settings"]
    assert told["chosen"]["model"].startswith("openai/")
    assert "its key is in the environment" in told["chosen"]["why"]


@announced
def test_a_doctor_says_where_settings_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable, or the file and its table."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.ingot]\nmodel = "openai-chat/m"\nretry = 5\nparams = {secret = "x"}\n'
    )
    monkeypatch.setenv("INGOT_RETRY", "1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    told = json.loads(ingot("doctor", "--json").stdout)
    file = f"[tool.ingot] of {tmp_path / 'pyproject.toml'}"

    assert {
        "model": ("openai-chat/m", file),
        "params": ("secret", file),
        "retry": ("1", "INGOT_RETRY"),
    } == {one["name"]: (one["value"], one["source"]) for one in told["settings"]}
    # A server of one's own needs no key.
    assert (None, True) == (told["chosen"]["obstacle"], told["ready"])


def test_a_doctor_reports_a_wrong_setting(tmp_path: Path) -> None:
    """The file and its key are named, and the rest is told all the same."""
    (tmp_path / "pyproject.toml").write_text('[tool.ingot]\nretry = "often"\n')
    done = ingot("doctor")

    assert 3 == done.exit_code
    assert "[tool.ingot] retry must be" in done.stdout
    assert "Versions" in done.stdout


def test_a_pull_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the weights cannot be had is one line, and code 3."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("INGOT_MODEL_DIR", str(tmp_path / "file" / "models"))
    done = ingot("model", "pull", "--force")

    assert (3, "") == (done.exit_code, done.stdout)
    assert done.stderr.startswith("error: the weights cannot be written to ")


# The process


def test_the_version() -> None:
    """`--version` says which, and `python -m ingot` is the same program."""
    here = ingot("--version")
    there = subprocess.run(
        [sys.executable, "-m", "ingot", "--version"], capture_output=True, text=True, check=True
    )

    assert here.stdout.startswith("ingot ")
    assert here.stdout == there.stdout


ASK = """
import sys
from ingot.testing import Script
from ingot.cli import main
with Script([["grün", "\\x9b2J"]], dialect="open"):
    main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_gets_indented_json_and_nothing_that_steers_it() -> None:
    """On a terminal a value is spread out, and what a model wrote cannot move the cursor."""
    import pty

    parent, end = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", ASK, "ask", "list[str]", "Say."],
        stdout=end,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(end)
    printed = os.read(parent, 10_000).decode()
    os.close(parent)

    assert (0, b"") == (done.returncode, done.stderr)
    assert '[\r\n  "grün",\r\n  "\\u009b2J"\r\n]\r\n' == printed


def test_an_output_of_few_letters() -> None:
    """Where stdout cannot write a letter, JSON has its escape."""
    done = child(ASK, "ask", "list[str]", "Say.", env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert (0, '["gr\\u00fcn", "\\u009b2J"]\n') == (done.returncode, done.stdout)


BARE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("typer", "rich"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from ingot.cli import main
main()
"""


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        (("ask", "int", "Say."), 2, "", "error: `ingot ask` needs typer and rich; pip install"),
        (("schema", "int"), 2, "", "error: `ingot schema` needs typer and rich; pip install"),
        (("doctor",), 3, "Versions\n  ingot ", ""),
        (("model", "pull", "--help"), 0, "usage: ingot model pull", ""),
        (("--version",), 0, "ingot ", ""),
        ((), 2, "", "usage: ingot"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_without_typer_and_rich(arguments: tuple[str, ...], code: int, out: str, err: str) -> None:
    """Without the extra the script sets ingot up, and names the command for the rest."""
    done = child(BARE, *arguments)

    assert code == done.returncode
    assert done.stdout.startswith(out)
    assert done.stderr.startswith(err)
    assert ("" == done.stdout, "" == done.stderr) == ("" == out, "" == err)
