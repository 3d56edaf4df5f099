"""One ask in front of a router: the model that was chosen, and the next one if that fails."""

from __future__ import annotations

import time
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ingot._route import Attempt, Route
from ingot._translation import Translation
from ingot.errors import AnswerError, NotConfiguredError, ProviderError
from ingot.provider import Provider
from ingot.rill.trial import Trial

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping, Sequence

    from ingot._provider import Asking
    from ingot._request import Request
    from ingot._response import Outcome, Response
    from ingot.errors import IngotError
    from ingot.rill.arms import Arm
    from ingot.rill.lessons import Lessons

__all__ = ["Routed"]


@dataclass(slots=True)
class _Try:
    """One request to one model: what is sent, how it is translated, and whether a piece is out."""

    trial: Trial
    request: Request
    translation: Translation
    is_out: bool = False

    @property
    def provider(self) -> Provider:
        return self.translation.provider


class Routed(Provider):
    """
    What one ask sees of a router.

    It has the name, the dialect and the bounds of the model that was chosen first. If that one
    fails, another one is chosen, is asked in its own dialect, and its reply is translated back. The
    model that replied is asked again in the turns that follow.

    Args:
        asking: The ask.
        arms: All models.
        skipped: Why some of them cannot be asked, by name.
        context: What the choice depends on.
        lessons: Who chooses and learns.
        bounded: Whether the caller set `max_tokens`, which then holds for all models.
    """

    def __init__(
        self,
        asking: Asking,
        arms: Sequence[Arm],
        skipped: Mapping[str, str],
        context: dict[str, Any],
        lessons: Lessons,
        *,
        bounded: bool,
    ) -> None:
        self._asking = asking
        self._arms = arms
        self._skipped = skipped
        self._context = context
        self._lessons = lessons
        self._bounded = bounded
        self._attempts: list[Attempt] = []
        self._failure: ProviderError | None = None
        self._authors: set[str] = set()
        self._trial = self._chosen()
        self._last, self.default_model = self._trial.arm.found()
        self.name = self._last.name
        self.dialect = self._last.dialect
        self.show_schema = self._last.show_schema
        self.default_max_tokens = self._last.default_max_tokens
        self.media_types = self._last.media_types

    def __repr__(self) -> str:
        return f"<routed, first to {self.name}/{self.default_model}>"

    def send(self, request: Request) -> Response:
        """
        Ask the model that was chosen; if it fails, the next one.

        Raises:
            ProviderError: All of them failed; it is the last error.
            NotConfiguredError: None of them can be asked.
        """
        while True:
            with self._trying(request) as one:
                return self._replied(one, one.provider.send(one.request))

    async def asend(self, request: Request) -> Response:
        """Like `send`, without blocking the event loop."""
        while True:
            with self._trying(request) as one:
                return self._replied(one, await one.provider.asend(one.request))

    def stream(self, request: Request) -> Generator[str | Response]:
        """Like `send`, in pieces; once a piece is out, no other model is asked."""
        while True:
            with self._trying(request) as one, closing(one.provider.stream(one.request)) as pieces:
                for piece in pieces:
                    yield from self._own(one, piece)
                return

    async def astream(self, request: Request) -> AsyncGenerator[str | Response]:
        """Like `stream`, without blocking the event loop."""
        while True:
            with self._trying(request) as one:
                async with aclosing(one.provider.astream(one.request)) as pieces:
                    async for piece in pieces:
                        for own in self._own(one, piece):
                            yield own
                return

    def settle(self, request: Request, outcome: Outcome) -> None:
        """Take note of a repair, and tell the model's own provider."""
        if outcome.repaired and self._trial.served:
            self._trial.repairs += 1
        self._last.settle(request, outcome)

    def finish(self, error: IngotError | None) -> None:
        """Learn what the model earned that replied last."""
        self._last.finish(error)
        if self._trial.over or not self._trial.served:
            return  # all models failed, which was learned at once; or none was asked
        if error is None or isinstance(error, AnswerError | ProviderError):
            self._trial.end(valid=error is None)
        # Whatever else ended the ask, such as a tool or a budget, is not the model's doing.

    # Choosing

    def _chosen(self) -> Trial:
        failed = {attempt.arm for attempt in self._attempts}
        out = self._skipped.keys() | failed
        allowed = [n for n, arm in enumerate(self._arms) if arm.name not in out]
        context = {**self._context, "allowed": allowed}
        choice = self._lessons.choice(context)
        return Trial(self._lessons, choice, self._arms[choice.arm], context)

    @contextmanager
    def _trying(self, request: Request) -> Generator[_Try]:
        """
        Send *request* once; if that fails and another model is left, it is chosen.

        Raises:
            ProviderError: It failed, and no other model is left.
        """
        if self._trial.over:
            self._trial = self._chosen()  # all have failed before, and it is to be tried again
        trial, one = self._trial, None
        began = time.perf_counter()
        try:
            one = self._one(trial, request)
            yield one
        except (ProviderError, NotConfiguredError) as error:
            trial.seconds += time.perf_counter() - began
            self._fail(error, is_last=one is not None and one.is_out)
        else:
            trial.seconds += time.perf_counter() - began

    def _fail(self, error: ProviderError | NotConfiguredError, *, is_last: bool) -> None:
        """Learn of a failure, and choose another model; raise it where none is left."""
        self._attempts.append(Attempt(self._trial.arm.name, type(error).__name__))
        self._trial.end(valid=False)
        if isinstance(error, ProviderError):
            self._failure = error
        if not is_last and len(self._attempts) + len(self._skipped) < len(self._arms):
            self._trial = self._chosen()
            return
        failed, self._attempts = self._attempts, []
        worst, self._failure = self._failure or error, None
        if len(failed) > 1:
            names = ", ".join(f"{attempt.arm}: {attempt.error}" for attempt in failed)
            worst.add_note(f"the router asked every model that it could: {names}")
        raise worst

    # One request to one model

    def _one(self, trial: Trial, request: Request) -> _Try:
        provider, model = trial.arm.found()
        self._last = provider
        translation = Translation(
            dialect=self.dialect,
            shape=self._asking.shaped(self.dialect),
            provider=provider,
            spoken=self._asking.shaped(provider.dialect),
            tools=self._asking.toolbox,
        )
        unbounded = not self._bounded and request.max_tokens == self.default_max_tokens
        bound = provider.default_max_tokens if unbounded else request.max_tokens
        if self._authors - {trial.arm.name}:
            # A vendor's own blocks mean nothing to another one.
            said = tuple(replace(message, blocks=()) for message in request.messages)
            request = replace(request, messages=said)
        asked = translation.request(request, model=model, max_tokens=bound)
        return _Try(trial, asked, translation)

    def _replied(self, one: _Try, response: Response) -> Response:
        """Take note of *response*, and return it as a reply in the dialect of this provider."""
        trial, choice = one.trial, one.trial.choice
        trial.replied(response)
        self._authors.add(trial.arm.name)
        names = [arm.name for arm in self._arms]
        route = Route(
            arm=trial.arm.name,
            features=self._context["features"],
            scores=dict(zip(names, choice.scores, strict=True)),
            exploring=choice.exploring,
            learner=choice.learner,
            attempts=(*self._attempts, Attempt(trial.arm.name, None)),
            skipped=self._skipped,
            teacher=trial,
        )
        self._attempts, self._failure = [], None
        translation = one.translation
        return replace(translation.text(translation.calls(response)), route=route)

    def _own(self, one: _Try, piece: str | Response) -> Generator[str | Response]:
        """What there is to yield of a piece of a stream; who takes it does so in their own time."""
        paused = time.perf_counter()
        if not isinstance(piece, str):
            whole = self._replied(one, piece)
            if not one.is_out and whole.text:
                yield whole.text
            yield whole
        elif not one.translation.rewrites:  # else only the whole can be translated
            one.is_out = True
            yield piece
        one.trial.seconds -= time.perf_counter() - paused
