"""The pytest plugin, on small projects of its own, with a fake provider that counts its calls."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import ingot.cassette.ambient
import ingot.cassette.children
import ingot.cassette.drift
import ingot.cassette.secrets
import ingot.cassette.take  # noqa: F401
from ingot import _registry
from ingot._pytest.options import _KEYWORDS, add_options
from ingot._pytest.places import file_name
from ingot._shape.shape import shape_of
from ingot.testing import Script

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.ingot(mode="live")  # each inner run has cassettes of its own

shape_of(int, "open")  # whatever is imported by now, no inner run imports anew

PROVIDER = """
import json, os
from ingot.errors import ProviderUnavailableError
from ingot.provider import Provider, Response, Usage

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
            file.write(request.prompt + "\\n")
        if os.path.exists(os.path.join(HERE, "down")):
            raise ProviderUnavailableError("down", retry_after=0)
        value = len(request.prompt)
        if os.path.exists(os.path.join(HERE, "other")):
            value += 1
        if request.format is None:
            return Response(text="x" * value, stop_reason="stop", model="m")
        text = json.dumps({"value": value} if request.format.wrapped else value)
        usage = Usage(input_tokens=value, output_tokens=1)
        return Response(text=text, stop_reason="stop", model="m-1", usage=usage)

    async def asend(self, request):
        return self.send(request)
"""

INI = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
addopts = -p no:hypothesispytest -p no:cacheprovider --strict-markers
filterwarnings = error
"""

HEAD = """
import pytest
from ingot import ask

fake = ask.using(model="fake/m")
"""


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
        done = self.pytester.runpytest_inprocess(*args, no_reraise_ctrlc=True)
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

    project.run(errors=1).stdout.fnmatch_lines([f"the marker ingot {said}"])


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


def test_a_report_is_written_for_machines(project):
    """Mode, totals, drifts and orphans."""
    project.write(ONE + "\ndef test_two(): fake(int, 'x')\ndef test_old(): fake(int, 'y')")
    project.record(passed=3)
    project.write(ONE + "\ndef test_two(): fake(int, 'changed')")

    project.run("--ingot-report=out/report.json", failed=1, passed=1)

    report = json.loads((project.path / "out" / "report.json").read_text())
    assert report["totals"] | {"x": 0} == {
        "replayed": 1, "recorded": 0, "drifted": 1, "unused": 0, "live": 0, "refused": 0, "x": 0
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


def test_a_secret_fails_the_test_and_is_written_nowhere(project):
    """Its answer is returned, the file is not written, and the value is in no output."""
    secret = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    project.write(f"def test_one(): assert fake(int, {secret!r} + '')")

    done = project.record(failed=1)

    done.stdout.fnmatch_lines(["*nothing was written, because*", "ingot: *1 refused"])
    assert secret not in done.stdout.str()
    assert project.files() == {}


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

    project.run("--ingot-block-network", passed=1, failed=1)
    project.run("--ingot-block-network=localhost", passed=2)
    project.run("--ingot-block-network=127.0.0.1,example.org", passed=2)


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

    done = project.child("-n", "2", "--ingot=record", passed=12)

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
