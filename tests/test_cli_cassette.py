"""`ingot cassette`: what each command says, and how it ends when a file is bad."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ingot import Cassette, Response, Text, Usage, ask
from ingot.cassette.interop import export_tape, import_tape
from ingot.cassette.rows import key_of_deed
from ingot.cassette.store import Journal, load
from ingot.cassette.upstream import dumps, loads
from ingot.cli.commands import app
from ingot.errors import ProviderRateLimitError
from ingot.testing import Script

ROOT = Path(__file__).resolve().parents[1]
UPSTREAM = {
    "cassetteVersion": "0.3",
    "agent": "shop.Triage",
    "inputs": {"id": 7},
    "interactions": [
        {
            "index": n,
            "node": "label",
            "requestDigest": digest * 64,
            "responseType": "string[]",
            "value": [digest, str(n)],
            "usage": {"inputTokens": 3, "outputTokens": 1, "cacheReadTokens": 2},
            "model": "m-1",
        }
        for n, digest in enumerate("bab")
    ],
    "toolCalls": [
        {
            "index": n,
            "node": "find",
            "tool": "web.search",
            "invocationDigest": "c" * 64,
            "resultType": "json",
            **told,
        }
        for n, told in enumerate([{"value": {"hits": []}}, {"error": "down\nagain"}])
    ],
    "consultations": [
        {
            "index": 0,
            "node": "ok",
            "questionDigest": "d" * 64,
            "question": "Refund?",
            "choices": ["yes", "no"],
            "answer": "yes",
        }
    ],
}


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("INGOT_", "OPENAI_", "ANTHROPIC_")) or name == "CI":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def cassette(*words: str) -> Result:
    return CliRunner().invoke(app, ["cassette", *words], prog_name="ingot")


def label(model: Any, extra: str = "") -> list[str]:
    return ask(list[str], f"Label it.\nThe invoice{extra}.", model=model, system="Be brief.")


def reply(model: Any) -> Text:
    return ask(Text, "Reply.", model=model, context={"letter": "Dear Sirs,\nno."})


_made: dict[str, bytes] = {}


def sample(name: str = "a.json", extra: str = "") -> Path:
    """A cassette of three rows; recorded once, since each answer waits for the disk."""
    path = Path(name)
    if extra not in _made:
        record(path, extra)
        _made[extra] = path.read_bytes()
    path.write_bytes(_made[extra])
    return path


def record(path: Path, extra: str) -> None:
    told = Response(
        text="Dear customer,\nyes.",
        usage=Usage(input_tokens=7, output_tokens=2, cache_read_tokens=1),
        stop_reason="stop",
        model="m-1",
    )
    model = Script([["billing"], told, ProviderRateLimitError("slow down", status=429)])
    with Cassette(path, "record"):
        label(model, extra)
        reply(model)
        with pytest.raises(ProviderRateLimitError):
            ask(int, "How many?", model=model, retry=0)


def row_of(path: Path, site: str) -> str:
    return next(row.key for row in load(path) if row.site.endswith(site))


# Reading


def test_ls() -> None:
    """A line for each cassette of a folder, with what is wrong."""
    Path("tests/cassettes/sub").mkdir(parents=True)
    sample("tests/cassettes/a.json")
    Path("tests/cassettes/sub/b.json").write_text('{"ingot_cassette": 1, "rows": [')
    Path("tests/cassettes/other.json").write_text('{"name": "no cassette"}')
    told = json.loads(cassette("ls", "--json").stdout)
    shown = cassette("ls").stdout

    assert ["tests/cassettes/a.json", "tests/cassettes/sub/b.json"] == [t["file"] for t in told]
    assert (3, 3, "m-1", []) == tuple(told[0][k] for k in ("rows", "answers", "served", "problems"))
    assert told[0]["bytes"] == Path("tests/cassettes/a.json").stat().st_size
    assert "breaks off" in told[1]["problems"][0]
    assert "tests/cassettes/sub/b.json" in shown
    assert "other.json" not in shown


def test_show() -> None:
    """The conversations, for reading: what was asked, of whom, and what came back."""
    done = cassette("show", str(sample()))
    text = " ".join(done.stdout.split())

    assert 0 == done.exit_code
    for said in (
        *("label · list[str]", "script/script", "system Be brief.", "Label it. The invoice."),
        *("context letter Dear Sirs, no.", '["billing"]', "Dear customer, yes."),
        *("m-1 · 7 tokens in (and 1 cached), 2 out", "error ProviderRateLimitError", "slow down"),
    ):
        assert said in text


def test_show_one_row() -> None:
    """`--row` takes the beginning of a key, and shows its conversation alone."""
    path = sample()
    key = row_of(path, "reply")

    for part in (key, key[:9], key[3:9]):
        done = cassette("show", str(path), "--row", part)
        assert (0, True, False) == (done.exit_code, "Dear" in done.stdout, "invoice" in done.stdout)
    told = json.loads(cassette("show", str(path), "--row", key, "--json").stdout)
    assert [key] == [row["key"] for row in told["rows"]]
    none = cassette("show", str(path), "--row", "zzz")
    assert (2, True) == (none.exit_code, key[:11] in none.stderr)


def test_show_as_a_page() -> None:
    """`--html` writes one file, and says so on stderr."""
    done = cassette("show", str(sample()), "--html", "out.html")

    assert (0, "", "written: out.html\n") == (done.exit_code, done.stdout, done.stderr)
    assert "The invoice." in Path("out.html").read_text("utf-8")


def test_show_as_json_is_the_file() -> None:
    """What `--json` prints is the cassette."""
    path = sample()

    assert json.loads(path.read_text()) == json.loads(cassette("show", str(path), "--json").stdout)


def test_answer() -> None:
    """Values are JSON, prose is as it is, an error is what is known of it."""
    path = sample()
    value = cassette("answer", str(path), row_of(path, "label"))
    prose = cassette("answer", str(path), row_of(path, "reply"))
    whole = cassette("answer", str(path), row_of(path, "reply"), "--json")

    assert ('["billing"]\n', "Dear customer,\nyes.\n") == (value.stdout, prose.stdout)
    assert [["Dear customer,", "yes."]] == [a["text"] for a in json.loads(whole.stdout)]
    assert 2 == cassette("answer", str(path), "k1:").exit_code


def write(path: Path, row: str, text: str, *more: str) -> Result:
    """Write *text* to a file, and that as the answer of *row*."""
    Path("value.json").write_text(text, "utf-8")
    return cassette("answer", str(path), row_of(path, row), "value.json", *more)


def test_an_answer_is_written_by_hand() -> None:
    """A value as JSON, prose as it is; then it replays, and all else keeps its bytes."""
    path = sample()
    key = row_of(path, "label")
    before = path.read_text().split("\n")
    done = write(path, "label", '["bug", "größer"]\n')
    told = json.loads(write(path, "reply", "Dear Sirs,\n\nno.\n", "--json").stdout)
    with Cassette(path):
        assert ["bug", "größer"] == label("script/script")
        assert "Dear Sirs,\n\nno." == reply("script/script")

    assert (0, "") == (done.exit_code, done.stdout)
    assert f"a.json: answer 1 of {key[:11]}" in done.stderr
    assert {"file": "a.json", "numbers": [1]} == {k: told[k] for k in ("file", "numbers")}
    assert before[:4] == path.read_text().split("\n")[:4]
    assert '["bug", "größer"]\n' == cassette("answer", str(path), key).stdout
    assert 0 == cassette("check", str(path)).exit_code
    assert ["a.json", "value.json"] == sorted(p.name for p in Path().iterdir())


def answered(path: Path, row: str) -> list[dict[str, Any]]:
    return list(next(r for r in load(path) if r.key == row_of(path, row)).answers.values())


PERSON = {"kind": "human", "site": "a.py:approve", "key": "k1:7a", "question": ["Refund?"]}


def people(*answers: Any, **more: Any) -> Path:
    """A cassette with one row that a person answered."""
    row = {**PERSON, **more, "answers": [{"value": answer} for answer in answers]}
    path = Path("p.json")
    path.write_text(json.dumps({"ingot_cassette": 1, "types": {}, "rows": [row]}))
    return path


def test_what_people_said_is_written_by_hand() -> None:
    """One of the choices; of several answers that which is named, or one more."""
    path = people("yes", "no", choices=["yes", "no"])

    assert 0 == write(path, "approve", '"no"', "--number", "1").exit_code
    assert 0 == write(path, "approve", '"yes"', "--number", "3").exit_code
    assert ["no", "no", "yes"] == [a["value"] for a in answered(path, "approve")]
    assert 0 == write(people("a", "a"), "approve", '"b"').exit_code
    assert ["b", "b"] == [a["value"] for a in answered(path, "approve")]
    assert 0 == write(people(), "approve", '"c"').exit_code
    assert [{"value": "c"}] == answered(path, "approve")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"price": 1}', {"value": {"price": 1}}),
        ('"one\\ntwo"', {"text": ["one", "two"]}),
    ],
)
def test_the_result_of_a_tool_is_written_by_hand(text: str, answer: dict[str, Any]) -> None:
    """A text is told to the model as it is."""
    deed = {"kind": "tool", "site": "a.py:f", "ask": "k1:0", "tool": "find", "args": {}}
    row = {**deed, "key": key_of_deed(deed), "answers": [{"value": 7}]}
    path = Path("t.json")
    path.write_text(json.dumps({"ingot_cassette": 1, "types": {}, "rows": [row]}))

    assert 0 == write(path, "a.py:f", text).exit_code
    assert [answer] == answered(path, "a.py:f")


@pytest.mark.parametrize(
    ("row", "text", "more", "says"),
    [
        ("label", '["a", 1]', [], "value.json does not fit the type of the row: at index 1: "),
        ("label", "bug", [], "value.json is not JSON"),
        ("label", "[NaN]", [], "NaN, which JSON has no number for"),
        ("label", '["a"]', ["--number", "3"], "--number 3: the row has 1 answer\n"),
        ("label", '["sk-ant-api03-Qx7Rk2Lm9Zp4Wt8Yb3Nc6Vd1Fg5Hj0Ks"]', [], "nothing was written"),
        ("label", json.dumps(["long"] * 400_000), [], "would be larger than the"),
        ("approve", '"perhaps"', ["--number", "1"], "none of the choices: yes, no"),
        ("approve", '"no"', [], "2 different answers; say which"),
        ("approve", '"no"', ["--number", "0"], ""),
        ("approve", "3", ["--number", "1"], "none of the choices"),
        ("person", "3", [], "what a person answers is a text, in quotes"),
    ],
)
def test_an_answer_that_does_not_fit_is_not_written(
    row: str, text: str, more: list[str], says: str
) -> None:
    """It is said what would fit; no byte is changed, and no secret shown."""
    if row == "person":
        path = people("x", site="a.py:person")
    else:
        path = people("yes", "no", choices=["yes", "no"]) if row == "approve" else sample()
    before = path.read_bytes()
    done = write(path, row, text, *more)

    assert done.exit_code in (2, 14)
    assert says in done.stderr
    assert "Qx7Rk2Lm9Zp4Wt8" not in done.output
    assert before == path.read_bytes()
    assert [path.name, "value.json"] == sorted(p.name for p in Path().iterdir())


def test_no_answer_is_written_to_a_row_that_was_edited() -> None:
    """Nor is `--number` taken without an answer, nor a file that is not there."""
    path = sample()
    key = row_of(path, "label")
    spoiled(path, "edited")
    before = path.read_bytes()

    assert (14, before) == (write(path, "label", '["x"]').exit_code, path.read_bytes())
    assert 2 == cassette("answer", "a.json", key, "--number", "1").exit_code
    assert "there is no file 'no.json'" in cassette("answer", "a.json", key, "no.json").stderr
    assert 14 == cassette("answer", "b.json", key, "value.json").exit_code
    assert not Path("b.json").exists()


def test_stats() -> None:
    """Sums in all, by model and by site; a price only where one is known."""
    told = json.loads(cassette("stats", str(sample().parent), "--json").stdout)

    assert (1, 3, 3) == (told["files"], told["rows"], told["answers"])
    assert {"script/script", "script/m-1"} == set(told["models"])
    assert 8 == told["models"]["script/m-1"]["input_tokens"]
    assert None is told["cost"]
    assert "in all" in cassette("stats", ".").stdout


# Comparing


def test_diff() -> None:
    """What changed in a request is said line by line; equal files end with 0."""
    a, b = sample("a.json"), sample("b.json", ", again")
    done = cassette("diff", "a.json", "b.json")
    told = json.loads(cassette("diff", "a.json", "b.json", "--json").stdout)

    assert 1 == done.exit_code
    assert "@@ line 2\n      - The invoice.\n" in done.stdout
    assert "+ The invoice, again.\n" in done.stdout
    assert "2 rows the same" in done.stdout
    assert (row_of(a, "label"), row_of(b, "label")) == (
        told["changed"][0]["old"],
        told["changed"][0]["new"],
    )
    assert 0 == cassette("diff", "a.json", "a.json").exit_code


def test_diff_of_answers_and_rows() -> None:
    """Answers that differ, and rows that one side alone has."""
    path = sample()
    value = json.loads(path.read_text())
    value["rows"] = [row for row in value["rows"] if not row["site"].endswith("reply")]
    next(r for r in value["rows"] if r["site"].endswith("label"))["answers"] = [{"value": ["bug"]}]
    Path("b.json").write_text(json.dumps(value))
    done = cassette("diff", "a.json", "b.json", "--html", "d.html")
    told = cassette("diff", "a.json", "b.json").stdout

    assert (1, True) == (done.exit_code, "Answered differently" in Path("d.html").read_text())
    assert '- ["billing"]' in told
    assert '+ ["bug"]' in told
    assert "only in a.json" in told
    assert 1 == len(json.loads(cassette("diff", "b.json", "a.json", "--json").stdout)["added"])


# Checking


def spoiled(path: Path, what: str) -> str:
    """Spoil a cassette; return what the check must say."""
    text = path.read_text()
    value = json.loads(text)
    row = next(r for r in value["rows"] if r["site"].endswith("label"))
    match what:
        case "edited":
            row["prompt"][1] = "Edited."
            said = "another request than was recorded"
        case "type gone":
            del value["types"][row["type"]]
            said = "which is not in `types`"
        case "type edited":
            value["types"][row["type"]] = "int"
            said = "was edited"
        case "secret":
            row["answers"][0] = {"text": ["sk-ant-api03-Qx7Rk2Lm9Zp4Wt8Yb3Nc6Vd1Fg5Hj0Ks"]}
            said = "holds what looks like"
        case "error":
            row["answers"][0] = {"error": {"class": "FooError", "message": ["x"]}}
            said = "no error of this ingot"
        case "answer":
            row["answers"][0] = {"usage": 3}
            said = "`usage` of answer 1"
        case "call":
            value["rows"].append({"kind": "tool", "key": "k1:1", "tool": "t", "answers": []})
            said = "it lacks its args"
        case "person":
            value["rows"].append({**PERSON, "answers": [{"value": 3}]})
            said = "which is what a person said"
        case "handles":
            answers = [{"value": 1, "files": ["a.txt"]}]
            value["rows"].append(
                {"kind": "tool", "key": "k1:1", "tool": "t", "args": {}, "answers": answers}
            )
            said = "no list of handles"
        case "times":
            row["answers"][0]["times"] = 10**12
            said = "no small number"
        case "truncated":
            path.write_text(text[: text.rindex('"m-1"') + 2])
            return "it breaks off"
        case "markers":
            path.write_text(f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> x\n")
            return "ingot cassette resolve"
        case "version":
            value["ingot_cassette"] = 99
            said = "pip install --upgrade ingot-ask"
        case "upstream":
            path.write_text(json.dumps({**UPSTREAM, "cassetteVersion": "0.9"}))
            return "is not supported"
        case "twice":
            path.write_text(text.replace('"rows": [', '"rows": [], "rows": [', 1))
            return "ingot cassette resolve"
        case "deep":
            path.write_text('{"ingot_cassette": 1, "rows": ' + "[" * 100_000)
            return "nested too deeply"
        case "empty":
            path.write_text("")
            return "it is empty"
        case "list":
            path.write_text("[1]")
            return "no cassette"
        case _:
            path.write_bytes(b"\xff\xfe{}")
            return "not UTF-8"
    path.write_text(json.dumps(value))
    return said


FAULTS = ["edited", "type gone", "type edited", "secret", "error"]
BAD = [
    *(
        "answer",
        "call",
        "person",
        "handles",
        "times",
        "truncated",
        "markers",
        "version",
        "upstream",
        "twice",
        "deep",
    ),
    *("empty", "list", "bytes"),
]


@pytest.mark.parametrize("what", [*FAULTS, *BAD])
def test_check_says_what_is_wrong(what: str) -> None:
    """A line for each problem, with the file and the fix, and 1 as exit code."""
    path = sample()
    assert 0 == cassette("check", str(path)).exit_code
    said = spoiled(path, what)
    done = cassette("check", str(path))
    told = json.loads(cassette("check", str(path), "--json").stdout)

    assert 1 == done.exit_code
    assert [
        line for line in done.stdout.splitlines() if said in line and line.startswith("a.json:")
    ]
    assert "1 with problems" in done.stdout
    assert not told["ok"]
    assert "Qx7Rk2Lm9Zp4Wt8" not in done.output


@pytest.mark.parametrize(
    ("command", "what"),
    [
        *(("show", what) for what in BAD),
        *((c, "truncated") for c in ("stats", "prune", "migrate", "answer", "export")),
    ],
)
def test_a_bad_file_is_one_line(command: str, what: str) -> None:
    """Whatever is done with it: the file, what is wrong, the fix, code 14, and the same bytes."""
    path = sample()
    spoiled(path, what)
    before = path.read_bytes()
    more = {"answer": ["k"], "export": ["out.json", "--agent", "a"]}.get(command, [])
    done = cassette(command, str(path), *more)

    assert (14, 1, before) == (done.exit_code, done.stderr.count("\n"), path.read_bytes()), done
    assert done.stderr.startswith("error: a.json: ")
    assert "; " in done.stderr


def test_a_file_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, a folder, or unreadable: one line, too."""
    Path("folder").mkdir()
    for command in ("show", "diff", "export", "resolve", "import", "check", "stats", "recover"):
        more = {"diff": ["none.json"], "export": ["o.json"], "import": ["o.json"]}.get(command, [])
        done = cassette(command, "none.json", *more)
        assert (14, 1) == (done.exit_code, done.stderr.count("\n")), command
        assert "none.json: there is no such file" in done.stderr
    done = cassette("show", "folder")
    assert (14, True) == (done.exit_code, "it is a folder" in done.stderr)


def test_check_warns() -> None:
    """A journal, a lock and a large file are warnings: nothing is lost, nothing fails."""
    path = sample()
    Path("a.json.lock").touch()
    Path("a.json.rec-1-ab").touch()
    value = json.loads(path.read_text())
    key = next(iter(value["types"]))
    value["note"] = "x" * 300_000
    path.write_text(json.dumps(value))
    done = cassette("check", ".")

    assert key
    assert 0 == done.exit_code
    assert 3 == done.stdout.count("a.json: warning: ")
    assert "ingot cassette recover" in done.stdout


# Tidying


def test_prune() -> None:
    """Types that no row needs, and rows that a report lists; first only said, then done."""
    path = sample()
    value = json.loads(path.read_text())
    value["types"]["t1:000000000000"] = "float"
    path.write_text(json.dumps(value, indent=1) + "\n")
    key = row_of(path, "reply")
    played = {"cassette": "a.json", "key": row_of(path, "label"), "played": 1}
    elsewhere = {"cassette": "b.json", "key": row_of(path, "label")}
    report = {"unused": [{"path": str(path.resolve()), "key": key}, played, elsewhere]}
    Path("report.json").write_text(json.dumps(report))
    before = path.read_bytes()
    words = ("prune", "a.json", "--unused-from", "report.json")
    dry = cassette(*words, "--dry-run")

    assert before == path.read_bytes()
    assert f"would drop row {key[:11]}" in dry.stdout
    assert "would drop types t1:" in dry.stdout
    told = json.loads(cassette(*words, "--json").stdout)
    assert [[key]] == [[row["key"] for row in one["rows"]] for one in told["dropped"]]
    assert 2 == len(load(path).rows)
    assert "nothing to drop\n" == cassette(*words).stdout
    for bad in ("[]", "{", '{"unused": [{}]}'):
        Path("report.json").write_text(bad)
        assert 2 == cassette(*words).exit_code


def test_orphans() -> None:
    """A cassette whose test is gone is named; whoever may still have one is not."""
    Path("pyproject.toml").touch()
    base = Path("tests/cassettes")
    (base / "test_a").mkdir(parents=True)
    (base / "test_gone").mkdir()
    Path("tests/test_a.py").write_text(
        "class TestX(Base):\n    def test_m(self): ...\n"
        "if True:\n    async def test_b(): ...\nraise SystemExit\n"
    )
    empty = {"ingot_cassette": 1, "rows": []}
    there = ("test_b", "test_b-x", "test_b-x_y-0a1b2c", "TestX.test_m", "TestX.test_inherited")
    for name in (*there, "test_c", "fixture-client", "module-import"):
        (base / "test_a" / f"{name}.json").write_text(json.dumps(empty))
    (base / "test_gone" / "test_b.json").write_text(json.dumps(empty))
    (base / "shared.json").write_text(json.dumps(empty))
    for name, test in (("p", "tests/test_a.py::test_b[1]"), ("q", "tests/test_a.py::test_z")):
        (base / f"{name}.json").write_text(json.dumps({**empty, "test": test}))
    of_fixture = {**empty, "test": "tests/test_a.py::TestX", "fixture": "client"}
    (base / "f.json").write_text(json.dumps(of_fixture))
    done = cassette("orphans")
    told = json.loads(cassette("orphans", "tests/cassettes", "--json").stdout)

    assert 1 == done.exit_code
    assert {"q.json", "test_a/test_c.json", "test_gone/test_b.json"} == {
        Path(one["file"]).relative_to(base).as_posix() for one in told
    }
    assert "has no test test_c" in done.stdout


def test_recover() -> None:
    """Answers of a recorder that died come into the file; a living one's stay where they are."""
    path = sample()
    tape = load(path)
    row = next(iter(tape))
    entry = {"row": row.data, "types": tape.types, "n": 1, "answer": {"value": 9}}
    dead = Journal(path)
    dead.append(entry)
    dead.close(keep=True)
    alive = Journal(path)
    try:
        done = cassette("recover", ".")
        told = json.loads(cassette("recover", ".", "--json").stdout)
    finally:
        alive.close()

    assert (0, True) == (done.exit_code, "a.json: 1 answer recovered" in done.stdout)
    assert [alive.path.name] == told[0]["being_written"]
    assert 4 == len(load(path))
    assert "no journals there\n" == cassette("recover", ".").stdout


def test_resolve_and_migrate_say_that_nothing_is_to_do() -> None:
    """A file that is well stays as it is."""
    path = sample()
    before = path.read_bytes()

    assert "nothing to resolve" in cassette("resolve", "a.json").stdout
    assert "nothing to do" in cassette("migrate", "a.json").stdout
    assert ["a.json"] == json.loads(cassette("migrate", "--json", "a.json").stdout)["current"]
    assert 2 == cassette("resolve", "--driver", "a.json").exit_code
    assert before == path.read_bytes()


# Ingot itself


def test_import_and_export_give_the_same_bytes() -> None:
    """A recording of Ingot 0.3 comes back as it was: order, usage, failures, people."""
    text = dumps(loads(json.dumps(UPSTREAM)))
    Path("up.json").write_text(text)

    assert 0 == cassette("import", "up.json", "ours.json").exit_code
    assert 0 == cassette("check", "ours.json").exit_code
    assert "Refund?" in cassette("show", "ours.json").stdout
    assert 14 == cassette("import", "up.json", "ours.json").exit_code
    assert 0 == cassette("export", "ours.json", "back.json").exit_code
    assert text == Path("back.json").read_text()


CASES = sorted((ROOT.parent / "shared" / "conformance").glob("*/cassette.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_conformance_cassettes_come_back(path: Path) -> None:
    """Each of Ingot's own: in, out, the same bytes, of the version that is written."""
    text = path.read_text("utf-8")
    found = export_tape(import_tape(loads(text)), "")

    assert text.replace('"0.1"', '"0.3"', 1).replace('"0.2"', '"0.3"', 1) == dumps(found)


def export(**row: Any) -> Result:
    answers = row.pop("answers", [{"value": 1}])
    data = {"kind": "ask", "site": "a.py:f", "key": "k1:1", "type": "t1:x", "model": "default"}
    whole = {**data, "prompt": ["x"], **row, "answers": answers}
    value = {"ingot_cassette": 1, "types": {"t1:x": "int"}, "rows": [whole]}
    Path("e.json").write_text(json.dumps(value))
    return cassette("export", "e.json", "out.json", "--agent", "a.B", "--force")


def test_export_writes_what_the_format_holds() -> None:
    """A value, with the digest that Ingot makes of the request."""
    assert 0 == export(system=["s"], context=[{"name": "d", "text": ["y"]}]).exit_code
    made = json.loads(Path("out.json").read_text())
    one = made["interactions"][0]

    assert ("0.3", "a.B", "f", "int", 1) == (
        *(made["cassetteVersion"], made["agent"]),
        *(one["node"], one["responseType"], one["value"]),
    )
    assert 14 == cassette("export", "e.json", "other.json").exit_code


@pytest.mark.parametrize(
    "row",
    [
        {"answers": [{"error": {"class": "ProviderTimeoutError", "message": ["x"]}}]},
        {"files": [{"type": "image/png", "bytes": 1, "sha256": "0" * 64}]},
        {"sample": 1},
        {"messages": [{"role": "assistant", "text": ["x"]}]},
        {"kind": "tool", "tool": "a.b", "args": {}, "answers": [{"value": None}]},
        {"answers": [{"text": ["no number"]}]},
        {"answers": [{"empty": "refusal"}]},
    ],
)
def test_export_refuses_what_is_lost(row: dict[str, Any]) -> None:
    """Nothing is written that would play differently."""
    done = export(**row)

    assert (14, False) == (done.exit_code, Path("out.json").exists()), done.stderr
    assert "cannot be exported" in done.stderr
