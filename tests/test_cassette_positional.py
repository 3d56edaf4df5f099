"""Cassettes of Ingot itself, played through `ask`: in their own form, and after an import."""

from __future__ import annotations

import asyncio
import json
import os
import re
import textwrap
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from cassette_kit import Bomb, Echo
from typer.testing import CliRunner
from typing_extensions import TypedDict

from ingot import Cassette, IngotError, InvalidAnswerError, Json, Markdown, Text, ask
from ingot import _serde as serde
from ingot.cassette.errors import (
    AmbiguousRepeatError,
    CassetteError,
    CassetteFormatError,
    CassetteMissError,
    CassetteModeError,
)
from ingot.cassette.interop import import_tape
from ingot.cassette.store import dump, load, save
from ingot.cassette.upstream import (
    Consultation,
    Interaction,
    ToolExchange,
    UpstreamCassette,
    completion_digest,
    dumps,
    loads,
    question_digest,
)
from ingot.cli.commands import app
from ingot.provider import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

pytest_plugins = ["pytester"]

SHARED = Path(__file__).resolve().parents[2] / "shared"


class Draft(TypedDict):
    body: str


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)


def recorded(prompt: str, named: str, value: Any, *, node: str = "n0", **more: Any) -> Interaction:
    """An interaction that was recorded for *prompt*."""
    facts = {name: more.pop(name) for name in ("system", "context") if name in more}
    digest = completion_digest(node, prompt, named, **facts)
    usage = Usage(input_tokens=3, output_tokens=2)
    return Interaction(node, digest, response_type=named, value=value, usage=usage, **more)


THREE = (
    recorded("Name it.", "string", "ingot", model="stub-1"),
    recorded("Count.", "int", 3, node="n1"),
    recorded("Name it.", "string", "bullion"),
)


def file(tmp_path: Path, *rows: Interaction, ours: bool = False, **more: Any) -> Path:
    """A cassette of *rows*, in Ingot's own form or imported."""
    made = UpstreamCassette("a.B", interactions=rows, **more)
    path = tmp_path / "old.json"
    path.write_bytes(dump(import_tape(made)) if ours else dumps(made).encode())
    return path


def caught(*asks: tuple[Any, str], path: Path, **more: Any) -> CassetteMissError:
    """The miss that one of *asks* ends with."""
    with pytest.raises(CassetteMissError) as error, Cassette(path, **more):
        for t, prompt in asks:
            ask(t, prompt)
    return error.value


@pytest.mark.parametrize("ours", [False, True])
def test_asks_meet_answers_in_order(tmp_path, ours):
    """The n-th ask gets the n-th answer, with its usage and its model, and nobody is asked."""
    path = file(tmp_path, *THREE, ours=ours)

    with Cassette(path, unused="fail") as cassette:
        first = ask.answer(str, "Name it.", model=Bomb())
        rest = [ask(int, "Count."), ask(str, "Name it.")]

    assert ("ingot", "echo/stub-1", 3) == (first.value, first.model, first.usage.input_tokens)
    assert [3, "bullion"] == rest
    assert "<Cassette old.json: replay; 3 replayed, 0 recorded, 0 missed, 0 drifted>" == repr(
        cassette
    )
    assert cassette.cost is None


def test_a_task_plays_in_the_order_of_its_calls(tmp_path):
    """The place is taken when `ask` is called, not when it is awaited."""

    async def main() -> list[Any]:
        async with Cassette(file(tmp_path, *THREE), unused="fail"):
            calls = [ask.aio(str, "Name it."), ask.aio(int, "Count."), ask.aio(str, "Name it.")]
            return await asyncio.gather(*reversed(calls))

    assert ["bullion", 3, "ingot"] == asyncio.run(main())


def test_every_type_that_ingot_has_a_name_for(tmp_path):
    """A word, a record by its name, and lists of these; text is played as it is."""
    path = file(
        tmp_path,
        recorded("p", "text", 'say "x"\n'),
        recorded("p", "markdown", "# a"),
        recorded("p", "json", {"a": [1e16, None]}),
        recorded("p", "Draft[]", [{"body": "b"}]),
        recorded("p", "bool", True),
        recorded("p", "float", 0.5),
        recorded("p", "int[][]", [[1], []]),
    )
    with Cassette(path, unused="fail"):
        assert 'say "x"\n' == ask(Text, "p")
        assert "# a" == ask(Markdown, "p")
        assert {"a": [1e16, None]} == ask(Json, "p")
        assert [{"body": "b"}] == ask(list[Draft], "p")
        assert (True, 0.5) == (ask(bool, "p"), ask(float, "p"))
        assert [[1], []] == ask(list[list[int]], "p")


def test_who_answered_is_said_as_far_as_it_is_known(tmp_path):
    """Ingot stores no provider, and a model only where one was known."""
    with Cassette(file(tmp_path, THREE[0], THREE[2])):
        models = [ask.answer(str, "Name it.").model for _ in range(2)]

    assert ["ingot/stub-1", "ingot/replay"] == models


def test_system_and_context_are_verified(tmp_path):
    """They are in the digest, in the order in which they were given."""
    context = {"b": {"y": 1e-5}, "a": "é"}
    row = recorded("p", "int", 1, system="s", context=context.items())
    path = file(tmp_path, row, row, row)

    with pytest.raises(CassetteMissError), Cassette(path, unused="fail"):
        assert 1 == ask(int, "p", system="s", context=context)
        ask(int, "p", system="S", context=context)
    with pytest.raises(CassetteMissError), Cassette(path):
        ask(int, "p", system="s", context=dict(reversed(context.items())))


def test_a_wrong_answer_is_played_as_one(tmp_path):
    """What was recorded is validated like any other reply."""
    path = file(tmp_path, recorded("p", "int", "many"), recorded("p", "text", 5))

    with Cassette(path):
        with pytest.raises(InvalidAnswerError):
            ask(int, "p")
    with pytest.raises(CassetteFormatError, match="interaction 1 recorded a number for a `text`"):
        with Cassette(path):
            with pytest.raises(InvalidAnswerError):
                ask(int, "p")
            ask(Text, "p")


def test_a_miss_says_what_stands_there_and_what_was_asked(tmp_path):
    """The position, the type and the answer that was recorded; the type and the prompt now."""
    path = file(tmp_path, *THREE)
    other = caught((str, "Name it!"), path=path)
    typed = caught((str, "Name it."), (Literal["a"], "Count."), path=path)
    over = caught(
        (str, "Name it."), (int, "Count."), (str, "Name it."), (str, "Name it."), path=path
    )

    assert str(path) == other.path
    assert "interaction 0 was recorded for a different request than " in other.reason
    assert "recorded there:  `string` at node `n0`, answered 'ingot'" in other.report
    assert "asked:  `string`, 'Name it!'" in other.report
    assert f"ingot cassette import {path} {path.with_suffix('.ingot.json')}" in other.report
    assert "test_cassette_positional.py:caught now asks" in other.reason
    assert re.search(r"interaction 1 recorded a `int` response but .* asks for `.*a", typed.reason)
    assert "the cassette has 3 interaction(s) but " in over.reason


def test_a_refused_place_is_used_up(tmp_path):
    """As Ingot does it, the next ask meets the next answer."""
    path = file(tmp_path, *THREE)

    with pytest.raises(CassetteMissError), Cassette(path, unused="fail"):
        with pytest.raises(CassetteMissError):
            ask(str, "Name it!")
        assert 3 == ask(int, "Count.")


@pytest.mark.parametrize("ours", [False, True])
def test_what_is_left_is_unused(tmp_path, ours):
    """Answers of models, tools and people alike."""
    more = {
        "tool_calls": (ToolExchange("n1", "t", invocation_digest="0", result_type="int", value=1),),
        "consultations": (Consultation("n2", "0", question="Now?", answer="yes"),),
    }
    path = file(tmp_path, *THREE, ours=ours, **more)

    with Cassette(path):
        assert "ingot" == ask(str, "Name it.")
    with pytest.raises(CassetteError) as error, Cassette(path, unused="fail"):
        ask(str, "Name it.")
    said = str(error.value)
    assert "4 recorded answers were not asked for: " in said
    assert all(row in said for row in ("n0 'string'", "n1 'int'", "n1 't'", "n2 'Now?'"))


@pytest.mark.parametrize("mode", ["record", "refresh", "verify"])
def test_a_file_of_ingots_own_form_is_only_played(tmp_path, mode):
    """Any other mode is refused before a provider is asked, with the way out."""
    path = file(tmp_path, *THREE)
    before = path.read_bytes()

    with pytest.raises(CassetteModeError) as error, Cassette(path, mode, in_ci=True):
        ask(str, "Name it.", model=Bomb())
    with pytest.raises(CassetteError, match=r"which is never changed; ingot cassette import"):
        save(path, lambda tape: tape)
    assert f"which can only be replayed; ingot cassette import {path} " in str(error.value)
    assert [before] == [one.read_bytes() for one in tmp_path.iterdir() if ".lock" not in one.name]


def test_live_does_not_read_it(tmp_path):
    """As if there were no cassette."""
    with Cassette(file(tmp_path, *THREE), "live"):
        assert "A!" == ask(str, "A!", model=Echo())


def test_named_by_a_setting_and_by_the_environment(tmp_path, monkeypatch):
    """`ask.using(cassette=…)` and INGOT_CASSETTE play such a file."""
    path = file(tmp_path, *THREE)
    with Cassette(path) as cassette:
        assert "ingot" == ask.using(cassette=cassette)(str, "Name it.")
    monkeypatch.setenv("INGOT_CASSETTE", str(path))
    assert ["ingot", 3] == [ask(str, "Name it."), ask(int, "Count.")]


def test_threads_get_their_own_answers_or_none(tmp_path):
    """By position the order counts: who comes out of turn is refused, and told why."""
    path = file(tmp_path, *THREE)
    errors: list[CassetteMissError] = []

    def other() -> None:
        try:
            ask(str, "Name it.")
        except CassetteMissError as error:
            errors.append(error)

    with pytest.raises(CassetteMissError), Cassette(path):
        ask(str, "Name it.")
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    assert "asked from several threads or tasks" in errors[0].report


@pytest.mark.parametrize("ours", [False, True])
def test_equal_asks_of_several_threads_are_refused(tmp_path, ours):
    """Which of two answers is whose would depend on the scheduler."""
    path = file(tmp_path, THREE[0], THREE[2], ours=ours)
    errors: list[IngotError] = []

    def other() -> None:
        try:
            ask(str, "Name it.", sample=2)
        except IngotError as error:
            errors.append(error)

    with pytest.raises(AmbiguousRepeatError), Cassette(path):
        ask(str, "Name it.", sample=1)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    assert [AmbiguousRepeatError] == [type(error) for error in errors]


# After an import


def test_an_imported_answer_is_found_out_of_turn(tmp_path):
    """Rows with keys may have come in between, so the digest alone decides."""
    with Cassette(file(tmp_path, *THREE, ours=True), unused="fail"):
        assert [3, "ingot", "bullion"] == [
            ask(int, "Count."),
            ask(str, "Name it."),
            ask(str, "Name it."),
        ]


def test_a_miss_after_an_import_says_what_is_next(tmp_path):
    """The rows hold no requests, but positions, types and answers."""
    error = caught((str, "Name it."), (int, "Count!"), path=file(tmp_path, *THREE, ours=True))

    assert "caught: no recording for this request" in error.reason
    assert "next of 2 imported, without requests: 1, `int` at node `n1`" in error.report


def test_recording_writes_the_requests_down(tmp_path):
    """What is imported is played and gets its key; what changed is asked; nothing is lost."""
    path = file(tmp_path, *THREE, recorded("Tell.", "text", "a\nb"), ours=True)
    echo = Echo(lambda prompt: 4)

    with Cassette(path, "record", in_ci=True) as cassette:
        assert "ingot" == ask(str, "Name it.", model=echo)
        assert 4 == ask(int, "Count, now.", model=echo)
        assert "bullion" == ask(str, "Name it.", model=echo)
        assert "a\nb" == ask(Text, "Tell.", model=echo)

    rows = {(row.data["kind"], row.first_line): len(row.answers) for row in load(path)}
    assert ["Count, now."] == [request.prompt for request in echo.heard]
    assert 4 == cassette.ledger.count("recorded")
    assert {
        ("ask", "Name it."): 2,
        ("ask", "Count, now."): 1,
        ("ask", "Tell."): 1,
        ("imported", "int"): 1,
    } == rows
    with Cassette(path):
        assert ["bullion", "ingot"] == [ask(str, "Name it.", model=Echo()) for _ in range(2)][::-1]
        assert ("a\nb", 3) == (ask(Text, "Tell.", model=Echo()), ask(int, "Count."))


def test_recording_what_is_written_down_changes_nothing(tmp_path):
    """The second run has no use of positions."""
    path = file(tmp_path, *THREE, ours=True)
    seen: list[bytes] = []
    for _ in range(2):
        with Cassette(path, "record", in_ci=True, unused="fail"):
            ask(str, "Name it.")
            ask(int, "Count.")
            ask(str, "Name it.")
        seen.append(path.read_bytes())

    assert seen[0] == seen[1]
    assert {"ask"} == {row.data["kind"] for row in load(path)}
    assert all(load(path).is_genuine(row) for row in load(path))


def test_what_must_not_be_written_stays_imported(tmp_path):
    """A prompt with a secret in it is played and not written; the answer is not dropped."""
    prompt = "Use sk-Qx7Rk2Lm9Zp4Wt8Vb3Nc6Jd1 please."
    path = file(tmp_path, recorded(prompt, "int", 1), ours=True)
    before = path.read_bytes()

    with pytest.raises(CassetteError, match="nothing was written"):
        with Cassette(path, "record", in_ci=True):
            assert 1 == ask(int, prompt)
    assert before == path.read_bytes()


def test_refresh_asks_all_anew_and_keeps_what_people_said(tmp_path):
    """Their answers are not got again for nothing."""
    digest = question_digest("Now?")
    people = (Consultation("n2", digest, question="Now?", answer="yes"),)
    path = file(tmp_path, *THREE, ours=True, consultations=people)

    with Cassette(path, "refresh", in_ci=True):
        assert "Name it." == ask(str, "Name it.", model=Echo())

    kinds = [(row.data["kind"], row.of) for row in load(path)]
    assert [("imported", "human"), ("ask", "ask")] == sorted(kinds, reverse=True)


# On the command line, and in tests


def cassette(*words: object) -> Result:
    return CliRunner().invoke(app, ["cassette", *map(str, words)], prog_name="ingot")


def test_commands_that_read_take_such_a_file(tmp_path):
    """It is listed, shown, checked, compared, and brought to version 0.3."""
    made = tmp_path / "new.json"
    path = file(tmp_path, *THREE, version="0.1")
    listed = json.loads(cassette("ls", tmp_path, "--json").stdout)
    shown = cassette("show", path).stdout

    assert [(2, 3, "stub-1", [])] == [
        (one["rows"], one["answers"], one["served"], one["problems"]) for one in listed
    ]
    assert "what was asked is not in such a recording" in shown
    assert '"bullion"' in shown
    assert 0 == cassette("check", path).exit_code
    assert 0 == cassette("diff", path, path).exit_code
    assert 0 == cassette("export", path, made).exit_code
    assert UpstreamCassette("a.B", interactions=loads(path.read_text()).interactions) == replace(
        loads(made.read_text()), interactions=loads(path.read_text()).interactions
    )


def test_commands_that_write_leave_such_a_file_alone(tmp_path):
    """`prune` has nothing to do, `migrate` says what to do, `import` does it in place."""
    path = file(tmp_path, *THREE)
    before = path.read_bytes()

    assert "nothing to drop" in cassette("prune", path).stdout
    assert f"ingot cassette import {path} " in cassette("migrate", path).stderr
    assert before == path.read_bytes()
    assert 0 == cassette("import", path, path, "--force").exit_code
    assert [("imported", "ask")] * 2 == [(row.data["kind"], row.of) for row in load(path)]


def test_a_test_has_such_a_file_for_its_cassette(pytester):
    """It passes, fails for what changed and for what is left, and the file is never changed."""
    folder = pytester.path / "tests" / "cassettes" / "test_a"
    folder.mkdir(parents=True)
    for name in ("played", "left", "silent"):
        file(folder, *THREE[:2]).rename(folder / f"test_{name}.json")
    code = """
    from ingot import ask
    def test_played():
        assert ("ingot", 3) == (ask(str, "Name it."), ask(int, "Count."))
    def test_left():
        assert "ingot" == ask(str, "Name it.")
    def test_silent():
        pass
    """
    (folder.parents[1] / "test_a.py").write_text(textwrap.dedent(code))
    before = [one.read_bytes() for one in sorted(folder.iterdir())]
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    words = ("-p", "no:cacheprovider")

    replayed = pytester.runpytest_inprocess(*words)
    refreshed = pytester.runpytest_inprocess(*words, "--ingot=refresh")

    replayed.assert_outcomes(passed=3, errors=2)
    replayed.stdout.fnmatch_lines(["*n1*int*"])
    refreshed.assert_outcomes(passed=1, failed=2, errors=1)
    refreshed.stdout.fnmatch_lines(["*which can only be replayed; ingot cassette import*"])
    assert before == [one.read_bytes() for one in sorted(folder.iterdir())]


# What Ingot's own runtime does


def vectors(name: str, op: str, fits: Callable[[Any], bool] = bool) -> list[Any]:
    """The lines of a table of upstream vectors; one skipped case where it is not at hand."""
    path = SHARED / "vectors" / name
    if not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no upstream vectors at {path}"))]
    lines = path.read_text("utf-8").splitlines()
    cases = [(n, case) for n, case in enumerate(map(json.loads, lines), 1) if fits(case)]
    return [pytest.param(case, id=f"{n}") for n, case in cases if case["input"]["op"] == op]


def asked(step: dict[str, Any]) -> Any:
    """Ask what a vector asks, whose context values are raw JSON."""
    context = {name: serde.loads(text) for name, text in step["context"]}
    types = {step["response_type"]: {"fields": [{"name": "a", "type": "json"}]}}
    more = {} if not step["system"] else {"system": step["system"]}
    return ask(step["response_type"], step["prompt"], context=context, types=types, **more)


@pytest.mark.parametrize("case", vectors("ingot_cassette.jsonl", "cassette"))
def test_files_are_read_as_ingot_reads_them(tmp_path, case):
    """Every file is played or refused as by the runtime."""
    text, expected = case["input"]["text"], case["expect"]
    path = tmp_path / "old.json"
    path.write_text(text, "utf-8")
    kind = CassetteFormatError if "err" in expected else CassetteMissError

    with pytest.raises(kind) as error, Cassette(path):
        ask("markdown", "none that is recorded")
    if "err" in expected and expected["err"].startswith("cassette version"):
        assert expected["err"] in str(error.value)


def is_played(case: dict[str, Any]) -> bool:
    """Whether asks can play it: they are verified, and begin at the beginning."""
    return not (case["input"].get("lenient") or case["input"].get("skip"))


@pytest.mark.parametrize("case", vectors("ingot_cassette.jsonl", "replay", is_played))
def test_replays_of_models_are_those_of_ingot(tmp_path, case):
    """Step by step, whatever becomes of tools and people in between."""
    made, steps = loads(case["input"]["cassette"]), case["input"]["steps"]
    pairs = [
        (step, expected)
        for step, expected in zip(steps, case["expect"]["steps"], strict=True)
        if step["kind"] == "model"
    ]
    known = {row.node for row in made.interactions}
    assert {step["node"] for step, _ in pairs} <= known
    path = tmp_path / "old.json"
    path.write_text(dumps(made), "utf-8")
    cassette = Cassette(path)
    using = ask.using(cassette=cassette)

    for step, expected in pairs:
        if "err" not in expected:
            answer = using.answer(step["response_type"], step["prompt"])
            assert (expected["value"], f"ingot/{expected['model']}") == (answer.value, answer.model)
            continue
        with pytest.raises(CassetteMissError) as error:
            using(step["response_type"], step["prompt"])
        facts = r"interaction \d+ (was )?recorded (for|a `\w+`)|has \d+ interaction"
        fact = re.search(facts, expected["err"])
        assert fact is not None
        assert fact[0] in error.value.reason

    left = sum(len(row.answers) for row in cassette.rows if row.of == "ask")
    assert case["expect"]["remaining"][0] == max(0, left - len(pairs))


VALUES = {"text": "x", "markdown": "x", "string": "x", "int": 1, "float": 1.5, "bool": True}


def is_askable(case: dict[str, Any]) -> bool:
    """Whether an `ask` can say this: a prompt, names for values, a type that Ingot knows."""
    asked = case["input"]
    if asked["op"] != "completion_digest" or "digest" not in case["expect"]:
        return False
    names = [name for name, _ in asked["context"]]
    return bool(
        asked["prompt"].strip()
        and re.fullmatch(r"\w+(\[\])*", asked["response_type"])
        and asked["response_type"].partition("[")[0] not in ("file", "bytes")
        and all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", name) for name in names)
        and len(names) == len(set(names))
    )


@pytest.mark.parametrize("case", vectors("ingot_digest.jsonl", "completion_digest", is_askable))
def test_asks_have_the_digests_of_ingot(tmp_path, case):
    """An ask finds what the runtime recorded for it."""
    step, expected = case["input"], case["expect"]
    named = step["response_type"]
    value = [] if named.endswith("[]") else VALUES.get(named, {"a": None})
    usage = Usage(input_tokens=1)
    row = Interaction(
        step["node"], expected["digest"], response_type=named, value=value, usage=usage
    )

    with Cassette(file(tmp_path, row), unused="fail"):
        assert value == asked(step)


def conformance() -> list[Any]:
    paths = sorted((SHARED / "conformance").glob("*/cassette.json"))
    skip = pytest.mark.skip(reason=f"no cases at {SHARED / 'conformance'}")
    cases = [pytest.param(path.parent, id=path.parent.name) for path in paths]
    return cases or [pytest.param(None, marks=skip)]


def prompt_of(node: dict[str, Any], inputs: dict[str, Any]) -> str:
    """The prompt of an `llm.call`, whose only values are inputs that are text."""
    prompt = node["prompt"]
    if prompt["kind"] != "template":
        return str(prompt["value"])
    return "".join(
        part["value"] if part["kind"] == "text" else inputs[part["value"]["path"][0]]
        for part in prompt["parts"]
    )


@pytest.mark.parametrize("case", conformance())
def test_conformance_cassettes_are_played(case):
    """The public cases: each model call is an ask, and gets the recorded value."""
    made = json.loads((case / "agent.ir.json").read_text("utf-8"))
    inputs = json.loads((case / "inputs.json").read_text("utf-8"))
    rows = loads((case / "cassette.json").read_text("utf-8")).interactions
    nodes: dict[str, Any] = {node["id"]: node for node in made["nodes"]}
    played: list[Any] = []

    def run() -> None:
        with Cassette(case / "cassette.json", unused="fail"):
            for row in rows:
                prompt = prompt_of(nodes[row.node], inputs)
                played.append(ask(row.response_type, prompt, types=made.get("types")))

    if case.name == "replay-mismatch":
        with pytest.raises(CassetteMissError, match="was recorded for a different request"):
            run()
        return
    run()

    assert [row.value for row in rows] == played
