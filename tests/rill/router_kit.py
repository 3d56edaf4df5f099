"""What the tests of routers share: a runtime that keeps what it is told, and routers upon it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingot.rill.client import Client
from ingot.rill.deciders import decider_of
from ingot.rill.router import Router
from ingot.rill.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingot.provider import Provider
    from ingot.rill.wire import Response
    from ingot.rill.wire_parts import Surface

__all__ = ["Told", "router"]


class Told(Runtime):
    """A runtime in memory that keeps the requests that it got."""

    def __init__(self, decides: str = "fallback", *, surface: Surface = "preview") -> None:
        super().__init__(None, decider_of(decides), surface=surface)
        self.requests: list[dict[str, Any]] = []

    def respond(self, line: bytes) -> Response:
        self.requests.append(json.loads(line)["request"])
        return super().respond(line)

    @property
    def client(self) -> Client:
        """Asks it, as anyone may."""
        return Client(self)

    def of(self, method: str) -> list[dict[str, Any]]:
        """The requests of one method, in order."""
        return [body for body in self.requests if body["method"] == method]

    @property
    def contexts(self) -> list[dict[str, Any]]:
        """What was to be decided, in order."""
        return [body["context"] for body in self.of("decide")]

    @property
    def lessons(self) -> list[tuple[int, float]]:
        """What was learned, in order: the arm and its reward."""
        return [(body["selectedArm"], body["reward"]) for body in self.of("feedback")]


def router(models: Iterable[str | Provider], **given: Any) -> tuple[Router, Told]:
    """A router that asks the first of *models* first, and what it told its runtime."""
    told = Told()
    return Router(models, runtime=told, **given), told
