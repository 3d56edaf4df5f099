"""Programs as providers: what they are sent, and what becomes of what they answer."""

from __future__ import annotations

import json
import os
import stat
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from ingot import Budget, Cassette, Json, Retry, Text, ask
from ingot.errors import (
    ContentFilteredError,
    EmptyAnswerError,
    MismatchedAnswerError,
    NotConfiguredError,
    ProviderAuthError,
    ProviderProtocolError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RefusedError,
    TruncatedError,
    UnreadableAnswerError,
)
from ingot.exec import (
    Call,
    Exec,
    ExecError,
    ExecOutputError,
    ExecStartError,
    ExecTimeoutError,
    Verdict,
    agenerate_tests,
    arun_assert,
    generate_tests,
    run_assert,
)


class Invoice(BaseModel):
    number: str
    total: Decimal


class Says:
    """A program that answers with what it is given, and keeps what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.heard_in = folder / "heard.json"

    def __call__(self, *documents: Any, **options: Any) -> Exec:
        return Exec(self.command(*documents), **options)

    def command(self, *documents: Any) -> list[str]:
        """The n-th call gets the n-th document; the last one serves all that follow."""
        folder = self.heard_in.parent
        for number, document in enumerate(documents):
            text = document if isinstance(document, str) else json.dumps(document)
            (folder / f"said-{number}.json").write_text(text)
        (folder / "call").write_text("0")
        script = (
            'n=$(cat call); cat > heard.json; [ -f "said-$((n+1)).json" ] && echo $((n+1)) > call;'
            ' cat "said-$n.json"'
        )
        return ["sh", "-c", f"cd {folder}; {script}"]

    @property
    def heard(self) -> Any:
        return json.loads(self.heard_in.read_text())


@pytest.fixture
def says(tmp_path: Path) -> Says:
    return Says(tmp_path)


# What it answers


@pytest.mark.parametrize(
    ("t", "output", "value"),
    [
        (int, {"value": 5}, 5),
        (int, '{"value": 5}', 5),
        (list[str], {"value": ["a", "b"]}, ["a", "b"]),
        (list[str], {"value": []}, []),
        (Literal["spam", "ham"], {"value": "spam"}, "spam"),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[str, int], {}, {}),
        (Text, "plain words", "plain words"),
        (Json, [], []),
        (Json, "[1, 2]", [1, 2]),
    ],
)
def test_the_output_is_read_as_any_answer(says: Says, t: Any, output: Any, value: Any) -> None:
    """Text or JSON; what the type wraps is unwrapped."""
    assert ask(t, "hi", model=says({"output": output})) == value


def test_digits_are_kept(says: Says) -> None:
    """The output is read from the program's own text, not from floats."""
    document = '{"metadata": 1, "output": {"number": "1", "total": 0.12345678901234567890123}}'

    assert ask(Invoice, "hi", model=says(document)).total == Decimal("0.12345678901234567890123")


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("5", MismatchedAnswerError),
        ({"value": "5"}, MismatchedAnswerError),
        ("five", UnreadableAnswerError),
    ],
)
def test_an_output_that_does_not_fit_is_an_error(says: Says, output: Any, error: Any) -> None:
    """The type decides, never the reply."""
    with pytest.raises(error):
        ask(int, "hi", model=says({"output": output}))


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ({"output": ""}, EmptyAnswerError),
        ({"output": None}, EmptyAnswerError),
        ({"output": "\u00a0"}, EmptyAnswerError),
        ({"output": "", "stop_reason": "length"}, TruncatedError),
        ({"output": "half an ans", "stop_reason": "max_tokens"}, TruncatedError),
        ({"output": "", "stop_reason": " REFUSAL "}, RefusedError),
        ({"output": "I will not", "stop_reason": "refusal"}, RefusedError),
        ({"output": "", "stop_reason": "safety"}, ContentFilteredError),
        ({"output": "words", "empty_reason": "refusal"}, RefusedError),
        ({"output": "", "empty_reason": "from_the_future"}, EmptyAnswerError),
    ],
)
def test_an_empty_or_partial_output_is_no_answer(says: Says, reply: Any, error: Any) -> None:
    """By what the program claims, else by why the model stopped."""
    with pytest.raises(error):
        ask(Text, "hi", model=says(reply))


def test_what_it_took_is_on_the_answer(says: Says) -> None:
    """Tokens and the model as they are told; a cost that is told goes before the price table."""
    usage = {"input_tokens": 12, "output_tokens": 4, "cache_read_tokens": 3}
    reply = {"output": "hi", "usage": usage, "cost_usd": 0.0125, "model": "m-1"}
    answer = ask.answer(Text, "hi", model=says(reply))

    assert answer.model == "exec/m-1"
    assert answer.cost == Decimal("0.0125")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.cache_read_tokens) == (12, 3)
    assert answer.usage.total_tokens == 19


def test_a_repair_is_told_to_the_program(says: Says) -> None:
    """As one more turn."""
    provider = says({"output": {"value": "x"}}, {"output": {"value": 5}})
    answer = ask.answer(int, "hi", model=provider, repair=1)
    roles = [message["role"] for message in says.heard["prompt"]["messages"]]

    assert (answer.value, answer.repairs) == (5, 1)
    assert roles == ["system", "user", "assistant", "user"]


def test_its_tool_calls_are_run(says: Says) -> None:
    """It is offered the tools, and told the results; calls without an id get one."""

    def weather(city: str) -> str:
        """Look up the weather."""
        return f"sunny in {city}"

    provider = says(
        {"output": "", "tool_calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]},
        {"output": "done"},
    )
    said = ask(Text, "hi", model=provider, tools=[weather])
    call = {"id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}}

    assert said == "done"
    assert says.heard["tools"][0]["name"] == "weather"
    assert says.heard["tools"][0]["description"] == "Look up the weather."
    assert says.heard["prompt"]["messages"][1:] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "sunny in Oslo", "tool_call_id": "call_1"},
    ]


# What it is sent


def test_the_least_prompt_is_a_text(says: Says) -> None:
    """With nothing else to say."""
    ask(Text, "hi", model=says({"output": "ok"}))

    assert says.heard == {
        "domarinn": {"protocol": 1, "kind": "provider"},
        "prompt": {"text": "hi"},
        "vars": {},
        "params": {"type": "text"},
        "test": {"id": "ask", "tags": []},
    }


def test_schema_type_settings_and_context_reach_it(says: Says) -> None:
    """The schema also in words, for a program that only hands the prompt on."""
    provider = says({"output": {"value": 5}})
    settings = {"max_tokens": 9, "temperature": 0.5, "seed": 1, "params": {"top_k": 2}}
    ask.using(model=provider, system="Be brief.", **settings)(
        int, "How many?", context={"b": "text", "a": {"z": 1.0}}
    )
    heard = says.heard
    system, user = heard["prompt"]["messages"]

    assert heard["params"].pop("schema")["properties"] == {"value": {"type": "integer"}}
    assert heard["params"] == {
        "max_tokens": 9,
        "temperature": 0.5,
        "seed": 1,
        "type": "int",
        "top_k": 2,
    }
    assert heard["vars"] == {"a": {"z": 1.0}, "b": "text"}
    assert system["content"].startswith("Be brief.\n\nAnswer with one JSON value that fits")
    assert user["content"].startswith("<b>\ntext\n</b>\n\n<a>")
    assert user["content"].endswith("How many?")


def test_a_param_that_ingot_sets_is_refused(says: Says) -> None:
    """There is a setting for it, or the type decides it."""
    with pytest.raises(NotConfiguredError, match=r"params=\{'schema': …\} is set by ingot"):
        ask(Text, "hi", model=says({"output": "ok"}), params={"schema": {}})


# How it fails


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("provider_auth", ProviderAuthError),
        ("provider_rate_limit", ProviderRateLimitError),
        ("provider_timeout", ProviderTimeoutError),
        ("provider_unavailable", ProviderUnavailableError),
        ("provider_protocol", ProviderProtocolError),
        ("provider_request", ProviderProtocolError),
        ("invented", ExecError),
        ("render_failed", ExecError),
        (None, ExecError),
    ],
)
def test_a_failure_that_is_told_is_the_error_of_its_class(
    says: Says, word: Any, error: Any
) -> None:
    """With its details; a word that only a host may use does not count."""
    told = {"message": "no luck", "details": {"a": 1}, **({"class": word} if word else {})}
    with pytest.raises(error, match="exec: sh: no luck") as caught:
        ask(Text, "hi", model=says({"output": None, "error": told}))

    assert caught.value.details == {"a": 1}
    assert caught.value.type == ("exec_failed" if word in (None, "render_failed") else word)
    assert not caught.value.retryable
    assert caught.value.attempts == 1


def test_a_failure_that_may_pass_is_tried_again(says: Says) -> None:
    """After the wait that it asks for."""
    told = {
        "message": "slow down",
        "class": "provider_auth",
        "retriable": True,
        "retry_after_ms": 1,
    }
    provider = says({"output": None, "error": told}, {"output": "ok"})

    assert ask.answer(Text, "hi", model=provider).attempts == 2


def test_it_waits_no_longer_than_the_ceiling(says: Says) -> None:
    """As for any provider."""
    told = {"message": "slow down", "retriable": True, "retry_after_ms": 120_000}
    with pytest.raises(ExecError, match="asked to wait 120 s, more than the ceiling"):
        ask(Text, "hi", model=says({"output": None, "error": told}), retry=Retry(ceiling=1))


def test_the_nearer_deadline_holds() -> None:
    """Its own, or the one of the ask; a budget of seconds is one too."""
    slow = ["sh", "-c", "sleep 30"]
    once = ask.using(retry=Retry(attempts=1))
    for said in (
        once.using(model=Exec(slow, timeout=0.1)),
        once.using(model=Exec(slow), timeout=0.1),
        once.using(model=Exec(slow, timeout=30), timeout=0.1),
        once.using(model=Exec(slow), budget=Budget(seconds=0.1)),
    ):
        with pytest.raises(ExecTimeoutError, match=r"not done after 0\.\d+ s"):
            said(Text, "hi")


def test_a_file_that_is_no_text_is_refused(says: Says, tmp_path: Path) -> None:
    """The protocol has no place for it."""
    from ingot import attachment

    image = tmp_path / "a.png"
    image.write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(NotConfiguredError, match="exec cannot be sent"):
        ask(Text, "hi", model=says({"output": "ok"}), attach=[attachment(image)])


# How it is named, and where it runs


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the working folder."""
    path = tmp_path / "provider.sh"
    path.write_text("""#!/bin/sh\nprintf '{"output":"%s in %s"}' "$*" "$(pwd -P)"\n""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.chdir(tmp_path)
    return path


def test_a_model_string_names_a_program(program: Path) -> None:
    """With its arguments, as a shell would split them."""
    here = os.path.realpath(program.parent)

    assert ask(Text, "hi", model="exec/./provider.sh --fast 'a b'") == f"--fast a b in {here}"


async def test_a_model_string_names_a_program_async(program: Path) -> None:
    """Too."""
    assert (await ask.aio(Text, "hi", model=f"exec/./{program.name} x")).startswith("x in ")


def test_a_command_is_a_text_or_words(program: Path) -> None:
    """In a folder of its own, which a relative program is looked for in."""
    root = os.path.realpath("/")

    assert (
        ask(Text, "hi", model=Exec('sh -c \'printf "{\\"output\\":\\"$PWD\\"}"\'', cwd="/")) == root
    )
    assert ask(Text, "hi", model=Exec([f"./{program.name}"], cwd=program.parent)).startswith(" in ")


@pytest.mark.parametrize("command", ["", "'", [], [""], ["a\0b"], ["a", "\ud800"]])
def test_an_empty_command_is_refused_early(command: Any) -> None:
    """Before anything is asked."""
    with pytest.raises(NotConfiguredError, match="command"):
        Exec(command)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": "5"}, {"max_output": 0}])
def test_a_bound_of_nothing_is_refused_early(options: Any) -> None:
    """It could not hold."""
    with pytest.raises(NotConfiguredError, match="above 0"):
        Exec("true", **options)


def test_a_program_is_given_no_key() -> None:
    """A key that is passed has nowhere to go."""
    with pytest.raises(NotConfiguredError, match="neither base_url nor api_key"):
        ask(Text, "hi", model="exec/true", api_key="k")


def test_a_project_file_names_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder opened by chance must not run one."""
    (tmp_path / "pyproject.toml").write_text('[tool.ingot]\nmodel = "exec/./steal.sh"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotConfiguredError, match="may not name a program to run"):
        ask(Text, "hi")


def environment_of(**options: Any) -> dict[str, str]:
    """What a program finds."""
    script = "import json, os; print(json.dumps({'output': dict(os.environ)}))"
    return ask(dict[str, str], "hi", model=Exec([sys.executable, "-S", "-c", script], **options))


def test_its_environment_is_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the documented minimum; a key of this process is not there by chance."""
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    minimum = {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "DOMARINN_PROTOCOL"}
    found = environment_of(env={"STYLE": "plain", "HOME": "/elsewhere"})

    assert found["DOMARINN_PROTOCOL"] == "1"
    assert (found["STYLE"], found["HOME"], found["LC_ALL"]) == ("plain", "/elsewhere", "C.UTF-8")
    assert found.keys() - {"STYLE"} <= minimum
    assert environment_of(env="inherit")["SOME_API_KEY"] == "secret"
    assert environment_of(env={"DOMARINN_PROTOCOL": "9"})["DOMARINN_PROTOCOL"] == "9"


@pytest.mark.parametrize(
    "env", [{"A=B": "1"}, {"": "1"}, {"A": "\0"}, {"A": 1}, {"A": "\ud800"}, "Inherit"]
)
def test_what_no_environment_can_hold_is_refused_early(env: Any) -> None:
    """With the name and without the value."""
    with pytest.raises(NotConfiguredError, match="env"):
        Exec("true", env=env)


# Recordings


def test_a_recording_plays_without_the_program(says: Says, tmp_path: Path) -> None:
    """Cost and all; an absolute path of the program is not part of the key."""
    file = tmp_path / "tape.json"
    command = says.command({"output": {"value": 5}, "cost_usd": 0.25, "model": "m-1"})
    with Cassette(file, mode="record", in_ci=True):
        ask.answer(int, "hi", model=Exec(["/bin/sh", *command[1:]]))
    says.heard_in.unlink()
    with Cassette(file, mode="replay"):
        answer = ask.answer(int, "hi", model=Exec(["/usr/local/bin/sh", *command[1:]]))

    assert (answer.value, answer.cost, answer.model) == (5, Decimal("0.25"), "exec/m-1")
    assert not says.heard_in.exists()


def test_a_salt_tells_recordings_apart() -> None:
    """It is part of the name of the model."""
    assert Exec(["./p.py", "--fast"]).default_model == "./p.py --fast"
    assert Exec("./p.py", salt="v2").default_model == "./p.py # v2"
    assert repr(Exec("/opt/p.py a")) == "<provider exec: p.py a>"


# Judges and generators

JUDGE = """\
import json, sys
print(json.dumps({"pass": False, "details": json.load(sys.stdin)}))
"""


async def test_a_program_judges() -> None:
    """It is told the output and all that is known of it."""
    command = [sys.executable, "-S", "-c", JUDGE]
    told: dict[str, Any] = {
        "config": {"max": 3},
        "vars": {"b": 1, "a": 2},
        "test": "greeting",
        "tags": ["smoke"],
        "provider": "exec/x",
        "tool_calls": [Call(name="n", arguments={})],
    }
    verdict = run_assert(command, ["hi"], **told)

    assert (verdict.passed, verdict.score, verdict.reason) == (False, 0.0, "")
    assert verdict.details == {
        "domarinn": {"protocol": 1, "kind": "assert"},
        "output": ["hi"],
        "test": {"id": "greeting", "tags": ["smoke"]},
        "provider": {"id": "exec/x"},
        "config": {"max": 3},
        "vars": {"a": 2, "b": 1},
        "tool_calls": [{"name": "n", "arguments": {}}],
    }
    assert await arun_assert(command, ["hi"], **told) == verdict


def test_a_judge_that_fails_gives_no_verdict() -> None:
    """Neither pass nor fail."""
    assert run_assert(["sh", "-c", """echo '{"pass":true,"score":7}'"""], 1) == Verdict(
        passed=True, score=7.0
    )
    for script in ("exit 1", "echo '{\"score\":1}'", "echo"):
        with pytest.raises(ExecError):
            run_assert(["sh", "-c", script], "x")
    with pytest.raises(TypeError, match="typo"):
        run_assert("true", "x", typo=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_a_value_of_python_is_judged_as_json() -> None:
    """By the names that its fields have there; what has no form is refused."""
    command = [sys.executable, "-S", "-c", JUDGE]
    details = run_assert(command, date(2030, 1, 2), vars={"at": date(2030, 1, 3)}).details

    assert (details["output"], details["vars"]) == ("2030-01-02", {"at": "2030-01-03"})
    with pytest.raises(TypeError, match="JSON has no form"):
        run_assert(command, object())


async def test_a_program_writes_test_cases() -> None:
    """As one object or as lines; what has no id is named after the program."""
    whole = ["sh", "-c", """printf '{"tests":[{"vars":{}},{"id":"named"}]}'"""]
    lines = ["sh", "-c", r"""printf '{"id":"a"}\n\n{"b":1}\n'"""]

    assert generate_tests(whole) == [{"vars": {}, "id": "sh/0"}, {"id": "named"}]
    assert await agenerate_tests(lines) == [{"id": "a"}, {"b": 1, "id": "sh/1"}]
    assert generate_tests("true", {"n": 3}) == []


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        (
            """echo '{"id":"a"}'""",
            "an object that is the whole document must have an array `tests`",
        ),
        (r"""printf '{"id":"a"}\nnope'""", "line 2 is no test case: expecting value"),
        ("echo 1; echo 2", "test case 0 must be an object, not a number"),
    ],
)
def test_what_is_no_test_case_is_said(script: str, fault: str) -> None:
    """With its place."""
    with pytest.raises(ExecOutputError, match=fault):
        generate_tests(["sh", "-c", script])


def test_importing_the_room_is_light() -> None:
    """Whoever names it pays for what it uses."""
    import subprocess

    code = "import sys, ingot.exec; print(sorted(m for m in sys.modules if m.startswith('ingot')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['ingot', 'ingot.exec']"


def test_a_program_that_does_not_start_is_no_recorded_answer(tmp_path: Path) -> None:
    """Once it is made executable, the same recording run asks it."""
    program, cassette = tmp_path / "say.sh", tmp_path / "a.json"
    program.write_text('#!/bin/sh\ncat >/dev/null; echo \'{"output": {"value": 5}}\'\n')

    with pytest.raises(ExecStartError), Cassette(cassette, "record", in_ci=True):
        ask(int, "hello", model=Exec([str(program)]), retry=0)
    program.chmod(0o755)
    with Cassette(cassette, "record", in_ci=True):
        found = ask(int, "hello", model=Exec([str(program)]))

    assert found == 5
