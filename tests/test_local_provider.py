"""What the local provider refuses before its server starts."""

from __future__ import annotations

from pathlib import Path

import pytest

import ingot_local
from ingot import ask
from ingot.errors import NotConfiguredError
from ingot_local import Local, weights

pytestmark = pytest.mark.ingot(mode="live")


def add(a: int, b: int) -> int:
    return a + b


def test_tools_are_refused_by_a_model_that_has_not_learned_to_call_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would answer as if none were on offer."""
    started: list[Path] = []
    monkeypatch.setattr(weights, "locate", lambda _: Path("/models", weights.SMOLLM2.file))
    monkeypatch.setattr(ingot_local.server, "base_url", started.append)

    with pytest.raises(NotConfiguredError, match="has not learned to call tools; ask a model"):
        ask(int, "2 + 2", model=Local(), tools=[add])

    assert started == []
