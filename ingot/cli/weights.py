"""The door to the weights of the local model, whose plugin need not be there."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ingot.errors import NotConfiguredError

__all__ = ["Weights", "pull_weights", "weights_of"]


def pull_weights(*, force: bool) -> str:
    """
    Fetch the weights, and return where they are.

    Args:
        force: Fetch them again if they are there.

    Raises:
        NotConfiguredError: They cannot be had; what to do is said.
    """
    return str(_plugin().pull(force=force))


@dataclass(frozen=True, slots=True)
class Weights:
    """
    Weights of a local model.

    Attributes:
        path: Where they are; None when they are not there, or not whole.
        obstacle: Why they cannot be used, and what to do; None when they can.
    """

    path: str | None
    obstacle: str | None


def weights_of(model: str) -> Weights:
    """Look for the weights of *model*, a word or a path as it stands after `local/`."""
    try:
        return Weights(str(_plugin().locate(model)), None)
    except NotConfiguredError as error:
        return Weights(None, str(error))


def _plugin() -> Any:
    try:
        return import_module("ingot_local.weights")
    except ImportError as error:
        raise NotConfiguredError(
            f"the plugin of the local model does not import ({error})",
            advice="pip install 'ingot-ask[local]'",
        ) from error
