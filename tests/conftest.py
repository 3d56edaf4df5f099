"""Which tests of the project replay, and which are about asking itself."""

from __future__ import annotations

import pytest

REPLAYED = {"test_live.py"}
"""Files whose tests ask the local model, and are answered from cassettes unless told otherwise."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of asking itself alone: no cassette stands before what they ask."""
    for item in items:
        if item.path.name not in REPLAYED:
            item.add_marker(pytest.mark.ingot(mode="live"))
