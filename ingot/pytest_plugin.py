"""The pytest plugin: every test has a cassette of its own, which costs nothing until it asks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from ingot._pytest.generated import MARK, parametrize
from ingot._pytest.options import add_options, mark_of, options_of
from ingot._pytest.orphans import Collected
from ingot._pytest.places import Places
from ingot._pytest.standin import StandIn
from ingot._pytest.totals import Totals, told_of
from ingot._pytest.verdicts import fail, first_line, left_over, report_of, shown

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ingot._pytest.options import Mark, Options
    from ingot.cassette.recorder import Cassette

__all__ = [
    "ingot_cassette",
    "pytest_addoption",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_setup",
]

_DRIFTED = "ingot/drifted"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Announce flags and ini settings."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Start."""
    config.addinivalue_line(
        "markers",
        "ingot(mode=, cassette=, unused=, tools=, repeats=, stream=): how this test is recorded",
    )
    config.addinivalue_line(
        "markers", f"{MARK}(command, config=, argument='case'): cases that a program writes"
    )
    config.pluginmanager.register(Plugin(config, options_of(config)), "ingot-run")


@pytest.fixture
def ingot_cassette(request: pytest.FixtureRequest) -> Cassette:
    """The recording of this test: its rows, what was asked, what it cost."""
    return request.node.stash[_RUN].stand_in.cassette  # type: ignore[no-any-return]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the programs that write test cases."""
    parametrize(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that says nothing that can be done."""
    run = item.stash.get(_RUN, None)
    if run is not None and run.mark.fault is not None:
        pytest.fail(f"the marker ingot {run.mark.fault}", pytrace=False)


class Run:
    """One test that runs."""

    def __init__(self, stand_in: StandIn, mark: Mark) -> None:
        self.stand_in = stand_in
        self.mark = mark
        self.failed = False
        self.spared = False


_RUN = pytest.StashKey[Run]()


class Plugin:
    """What the plugin knows of one run of pytest."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self._config = config
        self._options = options
        self._places = Places(options)
        self._collected = Collected()
        self._totals = Totals()
        self._pending: list[dict[str, Any]] = []
        self._closed: list[tuple[str, StandIn]] = []
        self._orphans: list[tuple[str, str]] = []
        self._late: list[str] = []
        self._reports: list[set[tuple[str, str]]] = []
        self._blocked: AbstractContextManager[None] | None = None
        self._last: dict[str, list[str]] = {}

    # The run

    def pytest_report_header(self) -> str | None:
        """Say the mode, if it is not the usual one."""
        options = self._options
        if options.mode == "replay":
            return None
        return f"ingot: {options.mode}" + (f" only {options.only}" if options.only else "")

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Close the network, if that was asked for."""
        cache: Any = getattr(self._config, "cache", None)
        if self._options.only == "drifted" and cache is not None:
            self._last = cache.get(_DRIFTED, {})
        if self._options.allowed is not None:
            from ingot.testing import no_network

            self._blocked = no_network(allow=self._options.allowed)
            self._blocked.__enter__()

    def pytest_unconfigure(self) -> None:
        """Open the network again."""
        if self._blocked is not None:
            self._blocked.__exit__(None, None, None)
            self._blocked = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Remember the tests, before any is deselected."""
        self._collected.items = list(items)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what could be collected."""
        self._collected.note(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Record what is asked while a module is imported."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        place = self._places.module(collector.nodeid)
        stand_in = self._stand_in(place, collector.nodeid)
        stand_in.enter()
        try:
            report = yield
        finally:
            stand_in.leave()
        if stand_in.is_used:
            fault = self._ended(stand_in, collector.nodeid, failed=report.failed)
            if fault and report.passed:
                report.outcome = "failed"
                report.longrepr = shown(fault)
        return report

    # One test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Let go of the cassette, however the test ends."""
        try:
            return (yield)
        finally:
            run = item.stash.get(_RUN, None)
            if run is not None:
                self._drop(item, run)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Put a cassette before the providers."""
        old = item.stash.get(_RUN, None)
        if old is not None:
            self._drop(item, old)  # a plugin runs the test once more
        mark = mark_of(item, paid=self._options.paid)
        named = mark.cassette
        place = self._places.test(item) if named is None else self._places.named(named)
        stand_in = self._stand_in(place, item.nodeid, mark=mark)
        item.stash[_RUN] = Run(stand_in, mark)
        stand_in.enter()
        return (yield)

    def _drop(self, item: pytest.Item, run: Run) -> None:
        """End a test whose end was not reported: it was broken off."""
        del item.stash[_RUN]
        run.stand_in.leave()
        run.stand_in.close(failed=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let nothing pass that was missed, whatever the test made of it."""
        report = yield
        run = item.stash.get(_RUN, None)
        if run is not None:
            self._judge(item, run, report)
        return report

    def _judge(self, item: pytest.Item, run: Run, report: pytest.TestReport) -> None:
        stand_in = run.stand_in
        text = report_of(stand_in.news())
        if text and not report.failed:
            fail(report, text)
        elif text and first_line(text) not in str(report.longrepr):
            report.sections.append(("ingot", text))
        run.failed |= report.failed
        run.spared |= report.skipped or hasattr(report, "wasxfail")
        if report.when != "teardown":
            return
        del item.stash[_RUN]
        stand_in.leave()
        verdict = run.mark.unused or ("ignore" if stand_in.shared else self._options.unused)
        if run.failed or run.spared:
            verdict = "ignore"
        fault = self._ended(stand_in, item.nodeid, failed=run.failed, unused=verdict)
        if fault:
            fail(report, fault)
        report.ingot = self._pending  # type: ignore[attr-defined]  # reaches the controller of xdist
        self._pending = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum up."""
        for told in getattr(report, "ingot", ()):
            self._totals.add(told)

    # Fixtures that outlive a test

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Give a fixture that outlives a test a cassette of its own."""
        if fixturedef.scope == "function":
            return (yield)
        where = request.node.nodeid if fixturedef.scope in ("module", "class") else ""
        where = where or fixturedef.baseid
        who = f"fixture {fixturedef.argname}"
        place = self._places.fixture(fixturedef, request)
        stand_in = self._stand_in(place, where, fixture=fixturedef.argname)
        passed = False

        def leave() -> None:
            stand_in.leave()
            verdict = self._options.unused if passed else "ignore"
            fault = self._ended(stand_in, f"{where} {who}", failed=not passed, unused=verdict)
            if fault:
                pytest.fail(f"{who}: {fault}", pytrace=False)

        fixturedef.addfinalizer(leave)  # runs after its own, which were not added yet
        stand_in.enter()
        try:
            value = yield
            text = report_of(stand_in.news())
            if text:
                pytest.fail(f"{who}: {text}", pytrace=False)
            passed = True
        finally:
            stand_in.leave()
            fixturedef.addfinalizer(stand_in.enter)  # runs before its own
        return value

    # Ends

    def _stand_in(
        self, path: Path, test: str, *, mark: Mark | None = None, fixture: str | None = None
    ) -> StandIn:
        options = self._options
        mode = (mark and mark.mode) or options.mode
        only = options.only
        if only == "drifted":
            only = "|".join(self._last.get(test, ()))
            mode = mode if only else "replay"
        about = {"test": test} if fixture is None else {"test": test, "fixture": fixture}
        return StandIn(path, mode, about, options, only=only, mark=mark)

    def _ended(self, stand_in: StandIn, who: str, *, failed: bool, unused: str = "ignore") -> str:
        """Close a cassette, and say what is wrong with it."""
        faults: list[str] = []
        notes: list[str] = []
        text = report_of(stand_in.news())
        if text:
            faults.append(text)
        left: list[dict[str, Any]] = []
        try:
            if unused != "ignore" and not failed and not text:
                left = stand_in.unused()
            if left:
                (faults if unused == "fail" else notes).append(left_over(stand_in, who, left))
            size = stand_in.close(failed=failed or bool(text))
            if size > self._options.large:
                notes.append(f"{stand_in.path} has {size // 1024} KiB; split it, or say less")
        except Exception as error:  # noqa: BLE001 (whatever it is, this test has it)
            faults.append(f"{type(error).__name__}: {error}")
        if failed and stand_in.mode == "refresh" and stand_in.is_used:
            notes.append(f"{who} failed, so its recording was left as it was: {stand_in.path}")
        if stand_in.is_used:
            self._pending.append(told_of(stand_in, who, left, notes))
            self._closed.append((who, stand_in))
        return "\n".join(faults)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look for cassettes without a test, and for questions that came too late."""
        late = [
            f"{who}, after it had ended: {entry.error}"
            for who, one in self._closed
            for entry in one.news()
            if entry.error is not None
        ]
        output: Any = getattr(self._config, "workeroutput", None)
        orphans: list[tuple[str, str]] = []
        if self._options.orphans != "off" and not self._config.pluginmanager.hasplugin("dsession"):
            named = {
                self._places.named(mark.cassette)
                for mark in (mark_of(item, paid=False) for item in self._collected.items)
                if mark.cassette is not None
            }
            found = self._collected.orphans(session, self._options, self._places, named)
            root = self._options.root
            orphans = [(os.path.relpath(path, root), test) for path, test in found]
        if output is not None:
            output["ingot"] = {"orphans": orphans, "told": self._pending, "late": late}
            return
        for told in self._pending:
            self._totals.add(told)
        self._late += late
        self._totals.notes += self._late
        for report in self._reports[:1]:
            orphans = [one for one in report if all(one in other for other in self._reports)]
        self._orphans = sorted(orphans)
        wrong = bool(self._late) or (self._orphans and self._options.orphans == "fail")
        if wrong and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._write(session)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take what a worker of xdist found; one that crashed found nothing, so nothing counts."""
        found = getattr(node, "workeroutput", {}).get("ingot")
        if not found or error:
            self._reports.append(set())
            return
        self._reports.append({(path, test) for path, test in found["orphans"]})
        self._late += found["late"]
        self._pending += found["told"]

    def _write(self, session: pytest.Session) -> None:
        cache: Any = getattr(self._config, "cache", None)
        if cache is not None and +self._totals.counts:
            drifted: dict[str, list[str]] = {}
            for drift in self._totals.drifts:
                sites = drifted.setdefault(drift["test"], [])
                if drift["site"] not in sites:
                    sites.append(drift["site"])
            cache.set(_DRIFTED, drifted)
        if self._options.report is not None:
            self._totals.write(self._options.report, self._options.mode, self._orphans)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was replayed, and what is left over."""
        write = terminalreporter.write_line
        if self._orphans:
            terminalreporter.section("ingot: recordings whose test is gone")
            for path, test in self._orphans:
                write(f"{path}  ({test})")
            write("delete them; or rename them, if the test was renamed")
        for note in self._totals.notes:
            write(f"ingot: {note}", yellow=True)
        line = self._totals.line()
        if line is not None:
            write(line)
