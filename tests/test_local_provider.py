"""What the local provider refuses before its server starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import ingot_local
from ingot import ask
from ingot.errors import NotConfiguredError
from ingot.provider import Attachment, Request, ToolDeclaration
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


def test_what_it_lacks_is_known_before_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A router leaves it out for its tools, its attachments, and where it has no weights."""
    monkeypatch.setenv("INGOT_MODEL_DIR", str(tmp_path))
    tool = ToolDeclaration(name="add", description=None, parameters={}, target="int")
    image = Attachment(media_type="image/png", size=1, sha256="0", name="p.png", content=b"p")
    plain = Request(provider="local", model="smollm2", target="int", prompt="2 + 2")
    model = Local()

    assert "ingot model pull" in str(model.lacks(plain, "smollm2"))
    monkeypatch.setattr(weights, "locate", lambda _: Path("/models", weights.SMOLLM2.file))
    assert model.lacks(plain, "smollm2") is None
    assert "has not learned to call tools" in str(
        model.lacks(replace(plain, tools=(tool,)), "smollm2")
    )
    assert model.lacks(replace(plain, attachments=(image,)), "smollm2") == "it takes no image/png"
