"""The child's end of the exec protocol: handlers, and what they make of one request."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from ingot._json import Unreadable
from ingot.errors import IngotError
from ingot.exec.child_replies import answered, failed, generated, judged
from ingot.exec.wire import read_request, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot.exec.wire import (
        AssertReply,
        AssertRequest,
        GenerateReply,
        GenerateRequest,
        Kind,
        ProviderReply,
        ProviderRequest,
    )

__all__ = ["Child", "serve"]

H = TypeVar("H", bound="Callable[..., Any]")


class Child:
    """
    A program that a host starts for each request; `serve` is the one of this process.

    Its handlers are named by decorators, or when it is called. Called, it reads the request on
    stdin, calls the handler for its kind, and writes what comes of it on stdout. A handler gets the
    request, and may be `async`. What it prints, and what programs that it starts print, goes to
    stderr, as does all that is printed later.

    An error of ingot that a provider raises is told to the host; any other exception goes to
    stderr, and the process ends with exit code 1. It ends with 2 where the request cannot be
    answered: it is malformed, of another version of the protocol, or of a kind without a handler.
    """

    def __init__(self) -> None:
        self._handlers: dict[Kind, Callable[[Any], Any]] = {}

    def provider(self, handler: H) -> H:
        """
        Let *handler* answer prompts.

        It gets a `ProviderRequest` and returns the output: text, or any value that JSON has a form
        for; an `Answer`, a `Response` or a `ProviderReply` says more.
        """
        self._handlers["provider"] = handler
        return handler

    def assert_(self, handler: H) -> H:
        """
        Let *handler* judge outputs.

        It gets an `AssertRequest` and returns True, False, an object such as
        `{"pass": False, "score": 0.2, "reason": "…"}`, or an `AssertReply`. An `AssertionError` is
        a verdict too. None is not: what forgets to judge must not pass.
        """
        self._handlers["assert"] = handler
        return handler

    def generate(self, handler: H) -> H:
        """
        Let *handler* make test cases.

        It gets a `GenerateRequest` and returns or yields the cases, each an object.
        """
        self._handlers["generate_tests"] = handler
        return handler

    def __call__(
        self,
        *,
        provider: Callable[[ProviderRequest], Any] | None = None,
        assert_: Callable[[AssertRequest], Any] | None = None,
        generate: Callable[[GenerateRequest], Any] | None = None,
    ) -> None:
        """
        Answer the request on stdin.

        Args:
            provider: Answers prompts; None for the handler that a decorator named, if any.
            assert_: Judges outputs; None as above.
            generate: Makes test cases; None as above.

        Raises:
            SystemExit: There is no answer; the exit code is 1 or 2.
        """
        from ingot.exec.child_pipes import answer_on_stdout

        given: dict[Kind, Callable[[Any], Any] | None] = {
            "provider": provider,
            "assert": assert_,
            "generate_tests": generate,
        }
        self._handlers |= {kind: handler for kind, handler in given.items() if handler}
        answer_on_stdout(self.answer)

    def answer(self, request: str) -> str:
        """
        Return the document for *request*.

        Raises:
            Unreadable: The request cannot be answered.
            Exception: What the handler raised.
        """
        asked = read_request(request)
        kind = asked.envelope.kind
        handler = self._handlers.get(kind)
        if handler is None:
            known = ", ".join(sorted(self._handlers)) or "nothing"
            raise Unreadable(f"the program is asked as `{kind}`, and answers: {known}")
        return write(_REPLIES[kind](handler, asked))


serve = Child()
"""The program that this process is."""


def _provide(handler: Callable[[Any], Any], asked: ProviderRequest) -> ProviderReply:
    try:
        return answered(_called(handler, asked))
    except IngotError as error:
        return failed(error)


def _judge(handler: Callable[[Any], Any], asked: AssertRequest) -> AssertReply:
    try:
        return judged(_called(handler, asked))
    except AssertionError as error:
        return judged(error)


def _generate(handler: Callable[[Any], Any], asked: GenerateRequest) -> GenerateReply:
    return generated(_called(handler, asked))


_REPLIES: dict[Kind, Callable[[Callable[[Any], Any], Any], Any]] = {
    "provider": _provide,
    "assert": _judge,
    "generate_tests": _generate,
}


def _called(handler: Callable[[Any], Any], asked: Any) -> Any:
    result = handler(asked)
    if not inspect.isawaitable(result):
        return result
    from ingot._beside import await_beside  # most handlers are not async

    return await_beside(result)
