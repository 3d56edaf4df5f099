"""Which tests of the project replay, which are about asking itself, and what keeps all quick."""

from __future__ import annotations

import functools
import gc
import signal
from typing import TYPE_CHECKING

import pytest
import typer.main
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

REPLAYED = {"test_live.py"}
"""Files whose tests ask the local model, and are answered from cassettes unless told otherwise."""

# `make test-all` looks longer.
settings.register_profile("quick", max_examples=40, deadline=None)
settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of asking itself alone: no cassette stands before what they ask."""
    for item in items:
        if item.path.name not in REPLAYED:
            item.add_marker(pytest.mark.ingot(mode="live"))


@pytest.fixture(scope="session", autouse=True)
def commands_are_made_once() -> Iterator[None]:
    """Typer's runner makes all commands anew for each that is run, which takes longer than most."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def an_interrupt_is_heard() -> Iterator[None]:
    """Also by what a shell started in the background, which has it ignored, and its children."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def what_routers_learn_here_is_nobodys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's folder for state is left alone, also by programs that tests start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the collector what lives until the end: thousands of tests, and all modules."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)  # what a test leaves behind is small, and soon gone
        gc.enable()
