"""The pytest plugin, on small projects of its own, with a fake provider that counts its calls."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ingot.cassette.ambient
import ingot.cassette.children
import ingot.cassette.drift
import ingot.cassette.secrets
import ingot.cassette.take  # noqa: F401
from ingot import _registry
from ingot._pytest.options import _KEYWORDS, add_options
from ingot._pytest.places import file_name
from ingot._pytest.totals import Totals
from ingot._shape.shape import shape_of
from ingot.cli.commands import app
from ingot.testing import Script

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.ingot(mode="live")  # each inner run has cassettes of its own

shape_of(int, "open")  # whatever is imported by now, no inner run imports anew

PROVIDER = """
import json, os
from ingot.errors import ProviderUnavailableError
from ingot.provider import Provider, Response, ToolCall, Usage

HERE = os.path.dirname(__file__)

class Fake(Provider):
    name = "fake"
    default_model = "m"
    default_max_tokens = 100
    dialect = "open"

    def __init__(self, *, base_url=None, api_key=None):
        pass

    def send(self, request):
        with open(os.path.join(HERE, "calls.txt"), "a") as file:
            file.write(" ".join(request.prompt.split()) + "\\n")
        if os.path.exists(os.path.join(HERE, "down")):
            raise ProviderUnavailableError("down", retry_after=0)
        if request.tools and not request.messages:
            said = json.dumps({"question": "Sure?"})
            calls = [ToolCall(id=t.name, name=t.name, arguments=said) for t in request.tools]
            return Response(tool_calls=tuple(calls), stop_reason="tool_calls", model="m-1")
        value = len(request.prompt)
        if os.path.exists(os.path.join(HERE, "other")):
            value += 1
        if request.format is None:
            return Response(text="x" * value, stop_reason="stop", model="m")
        if os.path.exists(os.path.join(HERE, "object")):
            value = {"size": value}
        text = json.dumps({"value": value} if request.format.wrapped else value)
        usage = Usage(input_tokens=value, output_tokens=1)
        return Response(text=text, stop_reason="stop", model="m-1", usage=usage)

    async def asend(self, request):
        return self.send(request)
"""

# There are a hundred and fifty inner runs: each starts with no more plugins than it needs.
INI = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
addopts = --strict-markers --tb=native -p no:cacheprovider
    -p no:debugging -p no:faulthandler -p no:junitxml -p no:legacypath -p no:pastebin
    -p no:setuponly -p no:setupplan -p no:subtests
filterwarnings = error
"""

HEAD = """
import pytest
from ingot import ask

fake = ask.using(model="fake/m")
"""


PLUGINS = ("-p", "ingot.pytest_plugin", "-p", "pytest_asyncio.plugin")


class Project:
    """A project with tests, and the fake provider that it would pay for."""

    def __init__(self, pytester):
        self.pytester = pytester
        self.path = pytester.path
        self.cassettes = self.path / "tests" / "cassettes"
        info = self.path / "fake-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[ingot.providers]\nfake = fakeprovider:Fake\n")
        (self.path / "fakeprovider.py").write_text(PROVIDER)
        (self.path / "pytest.ini").write_text(INI)

    def write(self, code, name="tests/test_a.py"):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + code)

    def run(self, *args, **counts):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # looking for all takes long
            done = self.pytester.runpytest_inprocess(*PLUGINS, *args, no_reraise_ctrlc=True)
        if counts:
            done.assert_outcomes(**counts)
        return done

    def record(self, *args, **counts):
        return self.run("-q", "--ingot=record", *args, **counts)

    def child(self, *args, **counts):
        done = self.pytester.runpytest_subprocess(*args)
        done.assert_outcomes(**counts)
        return done

    def files(self):
        found = (p for p in self.cassettes.rglob("*") if p.is_file())
        return {p.relative_to(self.cassettes).as_posix(): p.read_bytes() for p in found}

    def rows(self, name):
        return json.loads((self.cassettes / name).read_bytes())["rows"]

    def calls(self):
        path = self.path / "calls.txt"
        if not path.exists():
            return []
        found = path.read_text().splitlines()
        path.unlink()
        return found


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    pytester.syspathinsert()
    _registry.installed.cache_clear()
    _registry._made.clear()
    yield Project(pytester)
    _registry.installed.cache_clear()
    _registry._made.clear()


ONE = """
def test_one():
    assert fake(int, "hello") == 5
"""


# Recording and replaying


def test_a_test_is_recorded_and_replayed(project):
    """Recording pays once; the file names its test; a replay asks nobody."""
    project.write(ONE)

    done = project.run("--ingot=record", passed=1)

    done.stdout.fnmatch_lines(
        ["ingot: record", "ingot: 0 replayed, 1 recorded, 0 drifted, 0 unused"]
    )
    assert project.calls() == ["hello"]
    written = json.loads(project.files()["test_a/test_one.json"])
    assert written["test"] == "tests/test_a.py::test_one"
    done = project.run(passed=1)
    done.stdout.fnmatch_lines(["ingot: 1 replayed, 0 recorded, 0 drifted, 0 unused"])
    done.stdout.no_fnmatch_line("ingot: replay*")
    assert project.calls() == []
    assert list(project.files()) == ["test_a/test_one.json"]


def test_nothing_is_said_where_nothing_was_asked(project):
    """No summary line, no folder."""
    project.write("def test_one(): pass")

    done = project.run("--ingot=record", passed=1)

    done.stdout.no_fnmatch_line("ingot: 0*")
    assert project.files() == {}


def test_without_recordings_every_asking_test_fails(project):
    """A deleted folder is no reason to ask a model."""
    project.write(ONE + "\ndef test_two(): assert fake(int, 'ab') == 2\ndef test_three(): pass")
    project.record(passed=3)
    project.calls()
    for name in project.files():
        (project.cassettes / name).unlink()

    done = project.run(failed=2, passed=1)

    done.stdout.fnmatch_lines(["*nothing is recorded (no such file)*", "*2 drifted*"])
    assert project.calls() == []


def test_a_changed_prompt_is_told(project):
    """The report says what changed, and its command mends the test."""
    project.write(ONE)
    project.record(passed=1)
    project.write(ONE.replace("hello", "holla"))

    done = project.run(failed=1)

    done.stdout.fnmatch_lines(
        ["*- hello", "*+ holla", "*pytest tests/test_a.py::test_one --ingot=refresh *"]
    )
    command = next(line for line in done.outlines if "re-record just this:" in line)
    args = command.split("pytest ")[1].split("'")[0].split()
    project.calls()
    project.run(*args, passed=1)
    assert project.calls() == ["holla"]
    project.run(passed=1)
    assert len(project.rows("test_a/test_one.json")) == 1


MUTATIONS = {
    "prompt": ("One.\\nTwo.", "One.\\nTwo!"),
    "line": ("One.\\nTwo.", "One.\\nTwo.\\nThree."),
    "system": ("Be brief.", "Be kind."),
    "no_system": ('system="Be brief."', "system=None"),
    "context_value": ('"gold"', '"tin"'),
    "context_text": ("First.", "Last."),
    "context_name": ('"note"', '"remark"'),
    "context_order": (
        '{"tier": "gold", "note": "First."}',
        '{"note": "First.", "tier": "gold"}',
    ),
    "model": ("fake/m", "fake/n"),
    "temperature": ("temperature=0.5", "temperature=0.6"),
    "seed": ("seed=1", "seed=2"),
    "max_tokens": ("max_tokens=50", "max_tokens=60"),
    "params": ('{"top_p": 1}', '{"top_p": 2}'),
    "sample": ("sample=1", "sample=2"),
    "field": ("size: int", "size: int\n        more: int = 0"),
    "bound": ("size: int", "size: Annotated[int, Field(ge=0)]"),
    "docstring": ("How large.", "How big."),
    "enum_value": ('"a", "b"', '"a", "c"'),
}
"""What is changed in a test that asks, each alone."""

ASKS = """
def test_{name}():
    class Size(BaseModel):
        '''How large.'''
        size: int
        letter: Literal["a", "b"] = "a"
    made = ask(
        Size, "One.\\nTwo.", model="fake/m", system="Be brief.", temperature=0.5, seed=1,
        max_tokens=50, params={{"top_p": 1}}, sample=1,
        context={{"tier": "gold", "note": "First."}},
    )
    assert made.size > 0
"""


@pytest.mark.parametrize("count", [2, pytest.param(len(MUTATIONS), marks=pytest.mark.slow)])
def test_the_command_of_a_report_mends_any_change(project, count):
    """Run as it is printed, it asks one question; then its test passes, and no other changes."""
    head = "from typing import Annotated, Literal\nfrom pydantic import BaseModel, Field\n"
    before = {name: ASKS.format(name=name) for name in MUTATIONS}
    after = {name: before[name].replace(*MUTATIONS[name]) for name in MUTATIONS}
    (project.path / "object").touch()
    project.write(head + "".join(before.values()))
    project.record(passed=len(MUTATIONS))
    project.calls()
    project.write(head + "".join(after.values()))

    done = project.run(failed=len(MUTATIONS))

    found = re.findall(r"re-record just this:  pytest (\S+::\S+ .+)", done.stdout.str())
    commands = list(dict.fromkeys(found))
    assert len(commands) == len(MUTATIONS)
    for command in commands[:count]:
        project.run(*shlex.split(command), passed=1)
        assert len(project.calls()) == 1, command
    project.run(passed=count, failed=len(MUTATIONS) - count)
    assert project.calls() == []


SWALLOWERS = {
    "exception": "try: return fake(int, p)\n    except Exception: return 0",
    "base": "try: return fake(int, p)\n    except BaseException: return 0",
    "retry": """
    @tenacity.retry(stop=tenacity.stop_after_attempt(3), retry_error_callback=lambda _: 0)
    def again():
        return fake(int, p)
    return again()""",
    "task": """
    async def main():
        task = asyncio.create_task(background())
        await asyncio.sleep(0.02)
        return 0
    async def background():
        try: await fake.aio(int, p)
        except Exception: pass
    return asyncio.run(main())""",
    "daemon": """
    def quiet():
        try: fake(int, p)
        except Exception: pass
    thread = threading.Thread(target=quiet, daemon=True)
    thread.start()
    time.sleep(0.1)
    return 0""",
    "process": """
    code = '''
from ingot import ask
try: ask(int, "p2", model="fake/m")
except Exception: pass
'''
    subprocess.run([sys.executable, "-c", code], check=True)
    return 0""",
}


def test_no_swallowed_miss_passes(project):
    """Whatever the program does with the error, the test fails with the report, once."""
    code = "import asyncio, subprocess, sys, tenacity, threading, time\n"
    for name, body in SWALLOWERS.items():
        code += f"def ask_{name}(p):\n    {body}\n"
        code += f"def test_{name}():\n    assert ask_{name}('p1') == 0\n"
    code += """
def test_skipped():
    try: fake(int, "p3")
    except Exception: pytest.skip("no model")

@pytest.mark.xfail
def test_xfailed():
    fake(int, "p3")

@pytest.fixture
def quiet():
    try: fake(int, "p4")
    except Exception: pass
    yield
    try: fake(int, "p4")
    except Exception: pass

def test_fixture(quiet): pass

def test_failed_anyway():
    try: value = fake(int, "p5")
    except Exception: value = 0
    assert value == 2
"""
    project.write(code)

    done = project.run("-rfE")

    counts = done.parseoutcomes()
    assert counts == {"failed": len(SWALLOWERS) + 3, "errors": 2}
    failed = {line.split()[1] for line in done.outlines if line.startswith("FAILED ")}
    assert failed >= {f"tests/test_a.py::test_{name}" for name in SWALLOWERS}
    done.stdout.fnmatch_lines(
        ["in a process of this test: *", "*- ingot -*", "*: test_a.py:test_failed_anyway: *"]
    )
    assert project.calls() == []


def test_processes_of_a_test_share_its_recording(project):
    """What a child asks is recorded with its parent, counted as played, and missed if it is not."""
    project.write(
        """
import subprocess, sys
CODE = "from ingot import ask; print(ask(int, 'from a child', model='fake/m'))"
def test_one():
    assert fake(int, "hello") == 5
    out = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert out.stdout == "12\\n"
"""
    )

    done = project.record(passed=1)

    done.stdout.fnmatch_lines(["ingot: 0 replayed, 2 recorded, *"])
    assert sorted(project.calls()) == ["from a child", "hello"]
    assert len(project.rows("test_a/test_one.json")) == 2
    project.run(passed=1).stdout.fnmatch_lines(["ingot: 2 replayed, 0 recorded, *"])
    before = project.files()
    project.run("--ingot=refresh", passed=1)
    assert project.files() == before
    assert project.calls() != []
    assert "INGOT_CASSETTE" not in os.environ  # this test has none, and the inner ones put back


NAMED = """
import os
own = fake.using(cassette="own.json")
def test_first(): assert own(int, "aa") == 2
def test_second(): assert own(int, "aa") + own(int, "bbb") == 5
"""


def test_a_recording_that_a_test_names_is_its_own_too(project):
    """It has the mode of the run, is there when a test ends, and each test begins at its start."""
    project.write(NAMED + "def test_there(): assert os.path.exists('own.json')")

    project.record(passed=3).stdout.fnmatch_lines(["ingot: 1 replayed, 2 recorded, *"])
    assert project.calls() == ["aa", "bbb"]
    before = (project.path / "own.json").read_bytes()
    project.run(passed=3).stdout.fnmatch_lines(["ingot: 3 replayed, 0 recorded, *"])
    project.run("-k", "first", "--ingot=refresh", passed=1)
    assert project.calls() == ["aa"]
    (project.path / "other").touch()
    project.run("-k", "first", "--ingot=refresh", failed=1)
    assert (project.path / "own.json").read_bytes() == before
    assert project.files() == {}


def test_a_swallowed_miss_of_a_recording_that_a_test_names_fails_it(project):
    """With the report of what changed; the next test is none the worse."""
    project.write(NAMED)
    project.record(passed=2)
    project.calls()
    project.write(
        NAMED.replace('own(int, "aa") == 2', 'quiet("ab") == 0')
        + """
def quiet(p):
    try: return own(int, p)
    except Exception: return 0
@pytest.fixture
def late():
    yield
    quiet("zz")
def test_at_its_end(late): pass
@pytest.mark.ingot(mode="live")
def test_live(): assert quiet("live") == 4
"""
    )

    done = project.run("-rfE", "--ingot-report=r.json", failed=1, errors=1, passed=3)

    done.stdout.fnmatch_lines(
        ["*- aa", "*+ ab", "FAILED *::test_first*", "ERROR *::test_at_its_end*"]
    )
    assert project.calls() == ["live"]
    drifts = json.loads((project.path / "r.json").read_text())["drifts"]
    assert {Path(drift["path"]).name for drift in drifts} == {"own.json"}


def test_the_last_answer_is_repeated_where_that_is_meant(project):
    """`repeats="last"`: a loop that asks once more gets the last answer; all else is as before."""
    code = """
{mark}
def test_poll():
    assert [fake(int, "done?") for _ in range({count})][-1] == 5
    assert fake(int, "and?") == 4
"""
    last = '@pytest.mark.ingot(repeats="last")'
    project.write(code.format(mark=last, count=2))
    project.record(passed=1)
    project.calls()
    project.write(code.format(mark=last, count=5))

    project.run(passed=1).stdout.fnmatch_lines(["ingot: 6 replayed, 0 recorded, 0 drifted, *"])
    project.record(passed=1)
    assert project.calls() == []
    project.write(code.format(mark="", count=5))
    project.run(failed=1).stdout.fnmatch_lines(["*recorded 2 times, and asked for once more*"])
    project.write(code.format(mark=last, count=1))
    project.run(passed=1, errors=1)
    project.write(code.format(mark=last, count=2).replace('"and?") == 4', '"new?") == 4'))
    project.run(failed=1)


def test_what_a_marker_says_reaches_the_recording(project):
    """The nearest marker counts; without one the defaults do."""
    project.write(
        """
pytestmark = pytest.mark.ingot(tools="live", stream="words")
@pytest.mark.ingot(stream="recorded", repeats="last")
def test_near(ingot_cassette):
    told = ingot_cassette.tools, ingot_cassette.stream, ingot_cassette.repeats
    assert told == ("live", "recorded", "last")
def test_far(ingot_cassette):
    told = ingot_cassette.tools, ingot_cassette.stream, ingot_cassette.repeats
    assert told == ("live", "words", "fail")
"""
    )

    done = project.run(passed=2)

    assert done.ret == 0


# Unused and orphans


def test_an_answer_that_is_not_asked_for_fails_a_passing_test(project):
    """It is named by its place and first line, whether the test still asks or not."""
    both = "def test_one():\n    assert fake(int, 'aa') == 2\n    assert fake(int, 'bbb') == 3\n"
    project.write(both)
    project.record(passed=1)
    project.write(both.replace("    assert fake(int, 'bbb') == 3\n", ""))

    done = project.run(passed=1, errors=1)

    done.stdout.fnmatch_lines(["*a recorded answer was not asked for", "*test_one  'bbb'"])
    done.stdout.fnmatch_lines(["ingot: 1 replayed, 0 recorded, 0 drifted, 1 unused"])
    project.run("--ingot-unused=warn", passed=1).stdout.fnmatch_lines(["*test_one  'bbb'"])
    project.run("--ingot-unused=ignore", passed=1).stdout.no_fnmatch_line("*'bbb'")
    project.write("def test_one(): pass")
    project.run(passed=1, errors=1)
    for body in ("pytest.skip('x')", "pytest.xfail('x')", "assert 0"):
        project.write(f"def test_one(): {body}")
        project.run().stdout.no_fnmatch_line("*not asked for*")
    project.write("@pytest.mark.ingot(unused='ignore')\ndef test_one(): pass")
    project.run(passed=1)
    project.write("def test_one(): pass")
    project.run("--ingot=refresh", passed=1)
    assert project.files() == {}


def with_a_person(project):
    """Add a row to the recording of `test_one` that a person answered; return the file."""
    file = project.cassettes / "test_a" / "test_one.json"
    tree = json.loads(file.read_text())
    tree["rows"].append(
        {
            "kind": "human",
            "site": "test_a.py:test_one",
            "key": "k1:7",
            "question": ["Sure?"],
            "answers": [{"value": "yes"}],
        }
    )
    file.write_text(json.dumps(tree))
    return file


def test_what_people_answered_outlives_a_refresh(project):
    """Unless it is said that they are to be asked anew."""
    project.write(ONE)
    project.record(passed=1)
    file = with_a_person(project)

    project.run("--ingot=refresh", passed=1)
    assert [row["kind"] for row in json.loads(file.read_text())["rows"]] == ["ask", "human"]
    project.run("--ingot=refresh", "--ingot-refresh=human", passed=1)
    assert [row["kind"] for row in json.loads(file.read_text())["rows"]] == ["ask"]
    with_a_person(project)
    project.write("def test_one(): pass")
    project.run("--ingot=refresh", passed=1)
    assert file.exists()
    project.run("--ingot=refresh", "--ingot-refresh=human", passed=1)
    assert not file.exists()
    assert project.run("--ingot-refresh=human").ret == 4


ACTING = """
import os
from ingot import consult
HERE = os.path.dirname(os.path.dirname(__file__))

def done(what):
    with open(os.path.join(HERE, "done.txt"), "a") as file:
        file.write(what + "\\n")

def look(question: str) -> str:
    done("look")
    return "seen"

def person(asked):
    done("person")
    return "yes"

def agent():
    return fake(int, "act", tools=[look, consult(person)])
"""


def done_in(project):
    """What tools and people did since the last call."""
    file = project.path / "done.txt"
    words = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return sorted(words)


def test_tools_and_people_are_recorded_with_their_test(project):
    """A replay does nothing; a refresh runs tools, and asks people where it is said."""
    project.write(ACTING + "def test_one(): agent()")
    told = project.record(passed=1)
    assert done_in(project) == ["look", "person"]
    told.stdout.fnmatch_lines(["ingot: 0 replayed, 4 recorded, 0 drifted, 0 unused"])
    told = project.run(passed=1)
    told.stdout.fnmatch_lines(["ingot: 4 replayed, 0 recorded, 0 drifted, 0 unused"])
    assert done_in(project) == []
    project.run("--ingot=refresh", passed=1)
    assert done_in(project) == ["look"]
    project.run("--ingot=refresh", "--ingot-refresh=human", passed=1)
    assert done_in(project) == ["look", "person"]
    project.write(ACTING + "@pytest.mark.ingot(tools='live')\ndef test_one(): agent()")
    project.run(passed=1)
    assert done_in(project) == ["look"]


def test_calls_and_questions_that_are_not_made_are_named(project):
    """As they would stand in a program."""
    project.write(ACTING + "def test_one(): agent()")
    project.record(passed=1)
    project.write(ACTING + "def test_one(): pass")

    told = project.run(passed=1, errors=1)

    told.stdout.fnmatch_lines_random(
        [
            "*4 recorded answers were not asked for",
            """*agent  'look(question="Sure?")'""",
            "*'Sure?'",
        ]
    )


def test_what_a_child_replays_of_tools_is_counted(project):
    """Nothing of it is left over in its parent, though that asks nothing itself."""
    code = """
import subprocess, sys
from pathlib import Path
def test_one():
    code = "import test_a; print(test_a.agent())"
    at = dict(cwd=Path(__file__).parent, text=True)
    assert subprocess.check_output([sys.executable, "-c", code], **at) == "3\\n"
"""
    project.write(ACTING + code)
    project.record(passed=1)
    assert done_in(project) == ["look", "person"]
    told = project.run(passed=1)
    told.stdout.fnmatch_lines(["ingot: 4 replayed, 0 recorded, 0 drifted, 0 unused"])
    assert done_in(project) == []


UNUSED = """
def test_one():
    for prompt in {prompts}: fake(int, prompt)
def test_two(): assert fake(int, "two") == 3
def test_three():
    for _ in range({count}): fake(int, "same")
"""


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)])
def test_what_is_not_asked_for_is_reported_and_pruned(project, workers):
    """Path, key and how often it was played, also from workers; `prune` drops what never was."""
    run = project.child if workers else project.run
    project.write(UNUSED.format(prompts=["aa", "bbb"], count=2))
    project.record(passed=3)
    project.write(UNUSED.format(prompts=["aa"], count=1))

    run(*workers, "--ingot-report=r.json", passed=3, errors=2)

    report = json.loads((project.path / "r.json").read_text())
    named = [
        (one["test"].rpartition(":")[2], one["prompt"], one["played"]) for one in report["unused"]
    ]
    assert named == [("test_one", "bbb", 0), ("test_three", "same", 1)]
    assert report["totals"]["unused"] == 2
    pruned = CliRunner().invoke(app, ["cassette", "prune", "tests", "--unused-from", "r.json"])
    assert (pruned.exit_code, pruned.stdout.count("dropped row")) == (0, 1)
    assert [row["prompt"] for row in project.rows("test_a/test_one.json")] == [["aa"]]
    run(*workers, passed=3, errors=1)


THREE = """
def test_a(): assert fake(int, "a") == 1
def test_b(): assert fake(int, "bb") == 2
@pytest.mark.parametrize("n", [1, 2])
def test_c(n): assert fake(int, "c" * n) == n
"""


def orphans(done):
    return [line.split("  ")[0].rpartition("/")[2] for line in done.outlines if "  (tests/" in line]


def test_a_recording_whose_test_is_gone_is_listed(project, monkeypatch):
    """Renamed, deleted, parametrized; a warning here, a failure in CI or on demand."""
    project.write(THREE)
    project.write(ONE, "tests/test_gone.py")
    project.record(passed=5)
    (project.path / "tests" / "test_gone.py").unlink()
    project.write(THREE.replace("test_a", "test_new").replace("[1, 2]", "[1]"))

    done = project.run(failed=1, passed=2)
    assert orphans(done) == ["test_a.json", "test_c-2.json", "test_one.json"]
    project.record(passed=3)
    assert project.run(passed=3).ret == 0
    assert project.run("--ingot-orphans=fail", passed=3).ret == 1
    assert orphans(project.run("--ingot-orphans=off", passed=3)) == []
    monkeypatch.setenv("CI", "true")
    assert project.run(passed=3).ret == 1


LESS = (
    "-k test_a",
    "-m=not_slow",
    "tests/test_a.py::test_a",
    "tests/test_a.py",
    "--deselect tests/test_a.py::test_b",
    "tests/sub",
    "-x",
    "--lf",
    "--ff",
    "--sw",
)


def test_no_orphan_is_invented_where_less_is_collected(project):
    """What was not collected is not gone; what was collected and not run is known."""
    project.write(THREE)
    project.write(ONE, "tests/sub/test_b.py")
    project.record(passed=5)
    project.write(THREE.replace("def test_b", "def test_renamed"))
    (project.path / "pytest.ini").write_text(INI.replace("-p no:cacheprovider", ""))

    for args in LESS:
        assert orphans(project.run(*args.split(), "--ingot-orphans=fail")) == [], args
    assert orphans(project.run("--collect-only")) == ["test_b.json"]


def test_no_orphan_is_invented_where_collection_fails_or_skips(project):
    """A module that is broken, skipped or ignored has its recordings."""
    project.write(THREE)
    project.write(ONE, "tests/test_b.py")
    project.write(ONE, "tests/helpers/test_c.py")
    project.record(passed=6)

    for broken in ("pytest.skip('x', allow_module_level=True)", "pytest.importorskip('nothere')"):
        project.write(broken, "tests/test_b.py")
        assert orphans(project.run("--ingot-orphans=fail")) == []
    project.write(ONE, "tests/test_b.py")
    assert orphans(project.run("--ignore=tests/helpers", "--ingot-orphans=fail")) == []
    project.write("@pytest.mark.skip\ndef test_one(): fake(int, 'x')", "tests/test_b.py")
    assert orphans(project.run("--ingot-orphans=fail")) == []
    project.write("1 / 0", "tests/test_b.py")
    project.write("", "tests/helpers/test_c.py")
    for more in ((), ("--continue-on-collection-errors",)):
        assert orphans(project.run("--ingot-orphans=fail", *more)) == []


# Names


def test_every_test_has_a_file_of_its_own(project):
    """Ids that look alike as file names, differ in capitals, or are very long."""
    project.write(
        """
@pytest.mark.parametrize("s", ["a/b", "a:b", "a b", "A", "a", "x" * 300, "x" * 299 + "y", ""])
def test_p(s): fake(int, "p" + s)
def test_name(): fake(int, "1")
def test_Name(): fake(int, "2")
class TestA:
    def test_name(self): fake(int, "3")
class TestB:
    class TestC:
        def test_name(self): fake(int, "4")
async def test_async(): assert await fake.aio(int, "55") == 2
import unittest
class Case(unittest.TestCase):
    def test_name(self): self.assertEqual(fake(int, "666"), 3)
class Async(unittest.IsolatedAsyncioTestCase):
    async def test_name(self): self.assertEqual(await fake.aio(int, "7777"), 4)
"""
    )
    project.write(
        '''
def double():
    """
    >>> fake(int, "doc")
    3
    """
''',
        "tests/samples.py",
    )
    args = ("--doctest-glob=*.md", "--doctest-modules", "tests")
    (project.path / "tests" / "page.md").write_text(
        ">>> from ingot import ask\n>>> ask(int, 'page', model='fake/m')\n4\n"
    )

    project.record(*args, passed=17)

    names = list(project.files())
    assert len(names) == len({name.lower() for name in names}) == 17
    assert all(len(Path(name).name) <= 110 for name in names)
    assert {
        "test_a/test_p-a.json",
        "test_a/TestA.test_name.json",
        "test_a/TestB.TestC.test_name.json",
        "test_a/Case.test_name.json",
        "samples/samples.double.json",
        "page.md/page.md.json",
    } <= set(names)
    project.run(*args, passed=17)
    project.run("tests/test_a.py::test_Name", passed=1)


def test_names_hold_no_more_than_they_must():
    """A plain name stays as it is; another gets a mark of its own."""
    assert file_name("test_refund") == "test_refund"
    assert file_name("TestA::test_b[usd-1.5]") == "TestA.test_b-usd-1.5"
    assert file_name("test_x[a/b]")[:-6] == file_name("test_x[a:b]")[:-6] == "test_x-a_b-"
    assert file_name("test_x[a/b]") != file_name("test_x[a:b]")
    assert file_name("test_x[-abcdef]") != "test_x--abcdef"


def test_modules_of_one_name_do_not_meet(project):
    """Inside the folder of the cassettes, beside it, and at the root."""
    for place in ("tests/a/test_m.py", "a/test_m.py", "tests/b/test_m.py", "lib/test_m.py"):
        project.write(f"def test_one(): fake(int, {place!r})", place)

    project.record("--import-mode=importlib", "tests", "a", "lib", passed=4)

    names = sorted(project.files())
    assert names[0].startswith("a/test_m-")
    assert names[1:] == [
        "a/test_m/test_one.json",
        "b/test_m/test_one.json",
        "lib/test_m/test_one.json",
    ]


def test_fixtures_that_outlive_a_test_have_their_own_recording(project):
    """Session, module, class, parametrized and async; setup and teardown; imports too."""
    project.write(
        """
@pytest.fixture(scope="session")
def whole():
    yield fake(int, "session")
    fake(int, "session ends")
@pytest.fixture(scope="module", params=[1, 2])
def part(request): return fake(int, "m" * request.param)
import pytest_asyncio
@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def later(): return await fake.aio(int, "later")
""",
        "tests/conftest.py",
    )
    code = """
AT_IMPORT = fake(int, "import")
@pytest.fixture(scope="class")
def mine(): return fake(int, "class")
class TestX:
    def test_x(self, whole, mine): assert whole == 7
def test_one(whole, part): assert fake(int, "one" * part)
@pytest.mark.asyncio(loop_scope="module")
async def test_two(later): assert later == 5
"""
    project.write(code)
    project.write(code, "tests/test_b.py")

    project.record("-k", "not two", passed=6)
    project.record(passed=8)

    names = sorted(project.files())
    assert "fixture-whole.json" in names
    assert any(name.startswith("test_a/fixture-TestX.mine-") for name in names)
    assert "test_a/module-import.json" in names
    assert sum("/fixture-part-" in name for name in names) == 4
    project.calls()
    project.run("--ingot-orphans=fail", passed=8)
    project.run("tests/test_b.py", passed=4)
    assert project.calls() == []
    project.write(code.replace('"class"', '"changed"').replace('"import"', '"changed"'))
    assert project.run("--continue-on-collection-errors").parseoutcomes()["errors"] == 1


def test_a_swallowed_miss_of_a_fixture_fails(project):
    """At its end too."""
    project.write(
        """
def quiet(p):
    try: fake(int, p)
    except Exception: pass
@pytest.fixture(scope="module")
def begins(): quiet("a")
@pytest.fixture(scope="module")
def ends():
    yield
    quiet("b")
def test_one(begins): pass
def test_two(ends): pass
"""
    )

    done = project.run(passed=1, errors=2)

    done.stdout.fnmatch_lines(["*fixture begins: *", "*fixture ends: *"])
    assert project.calls() == []


def test_tests_may_share_a_recording(project):
    """By name; what one does not ask is not unused, and a refresh of one drops nothing."""
    project.write(
        """
pytestmark = pytest.mark.ingot(cassette="group/shared")
def test_one(): assert fake(int, "same") == 4
def test_two(): assert fake(int, "same") + fake(int, "own") == 7
"""
    )

    project.record(passed=2)

    assert list(project.files()) == ["group/shared.json"]
    assert project.calls() == ["same", "own"]
    before = project.files()
    project.run("--ingot-orphans=fail", passed=2)
    project.run("-k", "one", "--ingot=refresh", passed=1)
    assert project.files() == before


# Modes


def test_a_refresh_replaces_a_recording_only_if_its_test_passes(project):
    """A failing test, a provider that is down, and Ctrl-C leave the bytes as they were."""
    project.write("def test_one(): assert fake(int, 'hello') == 5")
    project.record(passed=1)
    before = project.files()
    (project.path / "other").touch()

    done = project.run("--ingot=refresh", failed=1)
    done.stdout.fnmatch_lines(["*left as it was*"])
    assert project.files() == before
    (project.path / "other").unlink()
    (project.path / "down").touch()
    project.run("--ingot=refresh", failed=1)
    assert project.files() == before
    (project.path / "down").unlink()
    project.write("def test_one():\n    fake(int, 'hi')\n    raise KeyboardInterrupt")
    project.run("--ingot=refresh")
    assert project.files() == before
    project.write("def test_one(): assert fake(int, 'hi') == 2")
    project.run("--ingot=refresh", passed=1)
    assert [row["prompt"] for row in project.rows("test_a/test_one.json")] == [["hi"]]


def test_a_recording_that_is_broken_off_keeps_what_was_paid(project):
    """Ctrl-C and failures lose no answer."""
    project.write("def test_one():\n    fake(int, 'hi')\n    raise KeyboardInterrupt")
    project.run("--ingot=record")
    project.write("def test_one(): assert fake(int, 'hi') == 2")

    project.run(passed=1)

    assert list(project.files()) == ["test_a/test_one.json"]


def test_a_part_is_refreshed(project):
    """Other rows keep their bytes and are not asked; `drifted` is what the last run missed."""
    code = """
def first(): return fake(int, "first")
def second(): return fake(int, "second")
def test_one(): assert (first(), second()) != (0, 0)
def test_two(): assert second()
"""
    project.write(code)
    (project.path / "pytest.ini").write_text(INI.replace("-p no:cacheprovider", ""))
    project.record(passed=2)
    project.calls()
    before = project.files()
    (project.path / "other").touch()

    done = project.run("--ingot=refresh", "--ingot-only=first", passed=2)

    done.stdout.fnmatch_lines(["ingot: refresh only first"])
    assert project.calls() == ["first"]
    old, new = json.loads(before["test_a/test_one.json"]), project.rows("test_a/test_one.json")
    assert [row["answers"][0]["value"] for row in new] == [6, 6]
    assert new[1] == old["rows"][1]
    assert project.files()["test_a/test_two.json"] == before["test_a/test_two.json"]
    project.write(code.replace('"first")', '"fir")'))
    project.run(failed=1, passed=1)
    project.run("--ingot=refresh", "--ingot-only=drifted", passed=2)
    assert project.calls() == ["fir"]
    project.run(passed=2)
    assert project.run("--ingot-only=x").ret == 4


def test_verify_asks_and_compares(project):
    """What differs fails; nothing is written."""
    project.write(ONE + "\ndef test_two(): fake(int, 'ab')")
    project.record(passed=2)
    before = project.files()
    project.run("--ingot=verify", passed=2).stdout.fnmatch_lines(["*2 asked live and alike"])
    (project.path / "other").touch()
    project.write(ONE.replace("== 5", "> 0") + "\ndef test_two(): fake(int, 'ab')")

    done = project.run("--ingot=verify", failed=2)

    done.stdout.fnmatch_lines(["*differs from the recording*", "*0 recorded, 2 drifted*"])
    assert project.files() == before


def test_the_mode_of_a_marker_counts_most(project, monkeypatch):
    """Marker, then flag, then ini; where CI is set, only the flag is refused."""
    project.write(
        """
@pytest.mark.ingot(mode="live")
def test_live(): fake(int, "live")
@pytest.mark.ingot(mode="record")
def test_record(): fake(int, "record")
def test_plain(): fake(int, "plain")
"""
    )
    (project.path / "pytest.ini").write_text(INI + "ingot = record\n")

    project.run(passed=3)
    assert list(project.files()) == ["test_a/test_plain.json", "test_a/test_record.json"]
    project.calls()
    monkeypatch.setenv("CI", "1")
    project.run(passed=3)
    assert project.calls() == ["live"]
    done = project.run("--ingot=record")
    assert done.ret == 4
    done.stderr.fnmatch_lines(["*--ingot=record is refused where the variable CI is set*"])
    project.run("--ingot=refresh", "--ingot-allow-record-in-ci", passed=3)
    assert sorted(project.calls()) == ["live", "plain"] or len(project.calls()) == 0


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("mode='recrod'", "mode='recrod': expected one of replay, record*"),
        ("cassete='x'", "has no setting 'cassete'*cassette*"),
        ("cassette='../x'", "cassette='../x': expected a name*"),
        ("unused=True", "unused=True: expected one of fail, warn, ignore"),
        ("tools='some'", "tools='some': expected*"),
        ("repeats=2", "repeats=2: expected 'last'"),
        ("stream='slow'", "stream='slow': expected*"),
        ("'live'", "takes its settings by name, such as mode='live'"),
    ],
)
def test_a_wrong_marker_is_an_error(project, marker, said):
    """It is told what would be right."""
    project.write(f"@pytest.mark.ingot({marker})\ndef test_one(): pass")

    done = project.run(errors=1)

    assert done.ret == 1
    done.stdout.fnmatch_lines([f"the marker ingot {said}"])


def test_a_wrong_setting_is_an_error(project):
    """So are flags and ini settings."""
    project.write("def test_one(): pass")
    for ini, said in (
        ("ingot = recrod", "*ingot = 'recrod'*"),
        ("ingot_max_cassette = big", "*big*"),
    ):
        (project.path / "pytest.ini").write_text(INI + ini + "\n")
        done = project.run()
        assert done.ret == 4
        done.stderr.fnmatch_lines([said])
    (project.path / "pytest.ini").write_text(INI)
    assert project.run("--ingot=recrod").ret == 4
    done = project.run("--ingot-block-network", "tests")
    done.stderr.fnmatch_lines(["*took 'tests' for a host*"])


def test_scripts_and_providers_are_not_intercepted(project):
    """Who is passed, or stands in, is asked; wherever the script was opened."""
    project.write(
        """
from ingot.testing import Script
from fakeprovider import Fake
def test_inside():
    with Script([1]): assert fake(int, "p") == 1
def test_passed(): assert ask(int, "p", model=Script([2])) == 2
def test_provider(): assert ask(int, "ppp", model=Fake()) == 3
@pytest.fixture(scope="class")
def script():
    with Script([1, 2]): yield
@pytest.mark.usefixtures("script")
class TestWide:
    def test_one(self): assert fake(int, "p") == 1
    def test_two(self): assert fake(int, "p") == 2
"""
    )

    project.run(passed=5)

    assert project.files() == {}


def test_the_fixture_shows_the_recording(project):
    """Its rows, what was asked, and where it is."""
    project.write(
        """
def test_one(ingot_cassette):
    fake(int, "hello")
    assert [e.prompt for e in ingot_cassette.asked] == ["hello"]
    assert ingot_cassette.path.name == "test_one.json"
    assert ingot_cassette.ledger.count("missed") == 0
    assert ingot_cassette.mode == "record" or len(ingot_cassette.rows) == 1
    assert ingot_cassette.cost is None
"""
    )
    project.record(passed=1)

    project.run(passed=1)

    assert project.calls() == ["hello"]


def test_an_answer_that_was_left_is_counted():
    """It was not recorded, so the test will miss it when it is played."""
    totals = Totals()
    totals.add({"counts": {"recorded": 2, "left": 1}, "drifts": [], "unused": [], "notes": []})

    assert totals.line() == (
        "ingot: 0 replayed, 2 recorded, 0 drifted, 0 unused, 1 left before the end and not recorded"
    )


def test_a_report_is_written_for_machines(project):
    """Mode, totals, drifts and orphans."""
    project.write(ONE + "\ndef test_two(): fake(int, 'x')\ndef test_old(): fake(int, 'y')")
    project.record(passed=3)
    project.write(ONE + "\ndef test_two(): fake(int, 'changed')")

    project.run("--ingot-report=out/report.json", failed=1, passed=1)

    report = json.loads((project.path / "out" / "report.json").read_text())
    assert report["totals"] | {"x": 0} == {
        "replayed": 1, "recorded": 0, "drifted": 1, "unused": 0, "live": 0, "refused": 0, "left": 0,
        "x": 0
    }  # fmt: skip
    (drift,) = report["drifts"]
    assert drift["test"] == "tests/test_a.py::test_two"
    assert "+ changed" in drift["report"]
    assert [one["test"] for one in report["orphans"]] == ["tests/test_a.py::test_old"]


def test_a_large_recording_is_named(project):
    """From the size in the ini file on."""
    project.write("def test_one(): fake(int, 'long ' * 400)")
    (project.path / "pytest.ini").write_text(INI + "ingot_max_cassette = 1KiB\n")

    done = project.record(passed=1)

    done.stdout.fnmatch_lines(["ingot: *test_one.json has 2 KiB*"])
    assert 2048 <= len(project.files()["test_a/test_one.json"]) < 3072


def test_a_secret_fails_the_test_and_is_written_nowhere(project):
    """Its answer is returned, the file is not written, and the value is in no output."""
    secret = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    project.write(f"def test_one(): assert fake(int, {secret!r} + '')")

    done = project.record("--tb=long", failed=1)

    done.stdout.fnmatch_lines(["*nothing was written, because*", "ingot: *1 refused"])
    assert secret not in done.stdout.str()
    assert project.files() == {}


SPOILED = {
    "half": (lambda text: text[: len(text) // 2], "it breaks off*version control"),
    "markers": (
        lambda text: f"<<<<<<< a\n{text}=======\n{text}>>>>>>> b\n",
        "conflict markers*ingot cassette resolve",
    ),
    "twice": (
        lambda text: text.replace('"rows": [', '"rows": [], "rows": [', 1),
        "names 'rows' twice*ingot cassette resolve",
    ),
    "edited": (
        lambda text: text.replace('"hello"', '"holla"'),
        "holds another request*undo the edit",
    ),
    "version": (
        lambda text: text.replace('"ingot_cassette": 1', '"ingot_cassette": 9'),
        "has version 9*pip install --upgrade",
    ),
}


def test_a_recording_that_cannot_be_used_fails_its_test_and_stays_as_it_is(project):
    """The file, what is wrong and the way out are told; nobody is asked, in any mode."""
    project.write("".join(ONE.replace("one", name) for name in SPOILED))
    project.record(passed=len(SPOILED))
    project.calls()
    for name, (spoil, _) in SPOILED.items():
        file = project.cassettes / "test_a" / f"test_{name}.json"
        file.write_text(spoil(file.read_text()))
    spoiled = project.files()
    for mode in ("replay", "record", "refresh"):
        # An edited one is recorded again by a refresh.
        names = [name for name in SPOILED if (name, mode) != ("edited", "refresh")]
        tests = [f"tests/test_a.py::test_{name}" for name in names]
        done = project.run(f"--ingot={mode}", *tests, failed=len(names))
        for name in names:
            done.stdout.fnmatch_lines([f"*test_{name}.json: *{SPOILED[name][1]}*"])
        assert project.files() == spoiled
    assert project.calls() == []


# The network


def test_the_network_can_be_closed(project):
    """Apart from hosts that are named."""
    project.write(
        """
import socket
def test_outside():
    with pytest.raises(RuntimeError, match="no_network"):
        socket.create_connection(("192.0.2.1", 9), timeout=1)
def test_inside():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=1).close()
"""
    )

    closed = project.run("-rf", "--ingot-block-network", passed=1, failed=1)
    ajar = project.run("--ingot-block-network=localhost", passed=2)
    named = project.run("--ingot-block-network=127.0.0.1,example.org", passed=2)

    closed.stdout.fnmatch_lines(["FAILED *::test_inside *"])
    assert [closed.ret, ajar.ret, named.ret] == [1, 0, 0]


def test_a_replay_is_sealed(project, monkeypatch):
    """No environment, no sockets, no look-ups, and neither SDK nor HTTP library is imported."""
    project.write(
        """
import os, sys
@pytest.mark.parametrize("model", ["openai/a", "anthropic/b", "fake/m", None])
def test_one(model):
    assert ask(int, "hello", model=model) == 5
    named = sys.modules.keys() & {"openai", "anthropic", "httpx", "httpx2", "fakeprovider"}
    assert not named or "INGOT_SCRIPTED" in os.environ
"""
    )
    script = Script([5] * 4)
    with monkeypatch.context() as patch:
        patch.setenv("INGOT_SCRIPTED", "1")
        patch.setattr(_registry, "find_provider", lambda *args, **named: (script, "m"))
        project.record(passed=4)
    assert len(project.files()) == 4
    seal = """
import importlib.abc, socket, sys
class Seal(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("openai", "anthropic", "httpx", "httpx2", "fakeprovider"):
            raise AssertionError(f"{name} is imported")
sys.meta_path.insert(0, Seal())
def bomb(*args, **named): raise AssertionError("the network")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = bomb
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider"]))
"""

    done = subprocess.run(
        [sys.executable, "-I", "-c", seal],
        cwd=project.path,
        env={},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "ingot: 4 replayed, 0 recorded, 0 drifted, 0 unused" in done.stdout


# xdist


@pytest.mark.slow
def test_workers_record_what_one_process_would(project):
    """Byte for byte; totals, orphans and reports come together."""
    code = "import pytest\n@pytest.mark.parametrize('n', range(12))\n"
    code += "def test_n(n, wide): assert fake(int, 'x' * n) + fake(int, 'y') == n + 1\n"
    code = code.replace("range(12)", "range(1, 13)")
    fixture = "@pytest.fixture(scope='session')\ndef wide(): return fake(int, 'wide')\n"
    project.write(fixture, "tests/conftest.py")
    project.write(code)
    project.record(passed=12)
    alone = project.files()
    for name in alone:
        (project.cassettes / name).unlink()

    done = project.child("-n", "4", "--ingot=record", passed=12)

    assert project.files() == alone
    done.stdout.fnmatch_lines(["ingot: * recorded, 0 drifted, 0 unused"])
    done = project.child("-n", "2", "--ingot-orphans=fail", passed=12)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["ingot: 26 replayed, 0 recorded, 0 drifted, 0 unused"])
    project.write(code.replace("range(1, 13)", "range(1, 12)"))
    done = project.child("-n", "2", "--ingot-orphans=fail", "--ingot-report=r.json", passed=11)
    assert (done.ret, orphans(done)) == (1, ["test_n-12.json"])
    assert len(json.loads((project.path / "r.json").read_text())["orphans"]) == 1
    project.write(code.replace("'y'", "'z'"))
    done = project.child("-n", "2", failed=12)
    done.stdout.fnmatch_lines(["ingot: *12 drifted*"])


@pytest.mark.slow
def test_a_crashed_worker_invents_no_orphan(project):
    """What it would have found is not known."""
    project.write(THREE)
    project.record(passed=4)
    project.write(THREE.replace("def test_b()", "def test_d()"))
    project.write("import os\ndef test_crash(): os._exit(1)", "tests/test_z.py")

    done = project.pytester.runpytest_subprocess("-n", "2", "--ingot-orphans=fail")

    assert orphans(done) == []


# What it costs


def test_a_start_of_pytest_imports_nothing_heavy():
    """A project that asks nothing pays for no pydantic, no cassette and no SDK."""
    code = (
        "import sys, ingot.pytest_plugin; print(sorted(sys.modules.keys() & {'pydantic',"
        "'tenacity', 'ingot.cassette', 'ingot.provider', 'openai', 'anthropic'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_flags_and_settings_are_told():
    """The tables of docs/reference/pytest.md are those of the code."""
    said: set[str] = set()

    class Parser:
        def getgroup(self, *words):
            return self

        def addoption(self, name, **words):
            said.add(name)

        def addini(self, name, *words, **more):
            said.add(f"{name}={more['default']}")

    add_options(Parser())
    page = (Path(__file__).parents[1] / "docs" / "reference" / "pytest.md").read_text("utf-8")
    flags = set(re.findall(r"^\| `(--ingot[\w-]*)` ", page, re.MULTILINE))
    settings = re.findall(r"^\| `(ingot\w*)` \| `(\S+)` ", page, re.MULTILINE)
    keywords = page.partition("| Keyword |")[2].partition("## ")[0]

    assert said == flags | {"=".join(pair) for pair in settings}
    assert re.findall(r"^\| `(\w+)` ", keywords, re.MULTILINE) == list(_KEYWORDS)


@pytest.mark.slow
def test_a_test_that_asks_nothing_pays_little(project, monkeypatch):
    """At most a millisecond for each test, and sixty for the start."""
    (project.path / "tests").mkdir()
    test = project.path / "tests" / "test_a.py"
    test.write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(500))\ndef test_n(n): pass\n"
    )
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(project.path / "cache"))

    def seconds(*args):
        """Time of the processor, which other programs do not change."""
        found = []
        for _ in range(4):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            project.child("-q", *args, passed=500)
            found.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        return min(found)

    assert seconds() - seconds("-p", "no:ingot") < 0.06 + 500 * 0.001
