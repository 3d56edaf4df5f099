"""Programs that judge an output, and programs that write test cases, asked from here."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypedDict

from ingot._json import Unreadable, describe, is_array, is_object
from ingot._program import argv_of
from ingot._record import record
from ingot._serde import loads
from ingot.exec.jsonable import plain
from ingot.exec.program import Program
from ingot.exec.wire import (
    AssertReply,
    AssertRequest,
    Envelope,
    GenerateRequest,
    parse,
    trimmed,
    write,
)
from ingot.exec.wire_parts import Call, TestRef

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Unpack

    from ingot._program import Command, Environment

__all__ = [
    "AssertOptions",
    "RunOptions",
    "Verdict",
    "agenerate_tests",
    "arun_assert",
    "generate_tests",
    "read_tests",
    "read_verdict",
    "run_assert",
]


class RunOptions(TypedDict, total=False):
    """
    How a program is run.

    Attributes:
        env: See `Exec`, as for *cwd* and *max_output*.
        cwd: Its folder.
        timeout: Seconds from the start to the end, None for no limit; unless told otherwise 120
            for a judgement and 60 for test cases.
        max_output: Bytes that it may write to stdout.
    """

    env: Environment
    cwd: str | os.PathLike[str] | None
    timeout: float | None
    max_output: int


class AssertOptions(RunOptions, total=False):
    """
    What a program is told of an output beside it.

    Attributes:
        config: Settings of the judgement, as JSON.
        vars: What the output was made from, by name, as JSON.
        test: Name of the case.
        tags: Words that it is filed under.
        provider: Name of what made the output.
        tool_calls: Calls that were made on the way, in order.
    """

    config: Any
    vars: Mapping[str, Any]
    test: str
    tags: Iterable[str]
    provider: str
    tool_calls: Iterable[Call]


@record
class Verdict:
    """
    What a program makes of an output.

    Attributes:
        passed: Whether it is right.
        score: How right, of any range; 1.0 or 0.0 by *passed* where the program gave none.
        reason: Why, in words; empty where it gave none.
        details: Any JSON; None where it gave none.
    """

    passed: bool
    score: float
    reason: str = ""
    details: Any = None


def run_assert(command: Command, output: Any, **options: Unpack[AssertOptions]) -> Verdict:
    """
    Have a program judge *output*; it is run once, and never tried again.

    Args:
        command: The program and its arguments; see `Exec`.
        output: What is to be judged: text, or any value that can be written as JSON, such as a
            model of pydantic's.
        options: See `AssertOptions`.

    Raises:
        ExecError: There is no verdict: it could not be run to a good end, or wrote none.
        TypeError: JSON has no form for what it is to be told.
        ValueError: A number that it is to be told is not finite.
    """
    program, document = _judgement(command, output, **options)
    return program.run(document, read_verdict)


async def arun_assert(command: Command, output: Any, **options: Unpack[AssertOptions]) -> Verdict:
    """Like `run_assert`, without blocking the event loop; when cancelled, the program is killed."""
    program, document = _judgement(command, output, **options)
    return await program.arun(document, read_verdict)


def generate_tests(
    command: Command, config: Any = None, **options: Unpack[RunOptions]
) -> list[dict[str, Any]]:
    """
    Have a program write test cases; it is run once, and never tried again.

    Args:
        command: The program and its arguments; see `Exec`.
        config: Settings of the generator, as JSON.
        options: See `RunOptions`.

    Returns:
        The cases as they were written; one without an `id` is named after the program and its
        place, such as `make-cases/0`.

    Raises:
        ExecError: There are none: it could not be run to a good end, or wrote something else.
        TypeError: JSON has no form for *config*.
    """
    program, document = _generation(command, config, **options)
    return program.run(document, partial(_tests, program))


async def agenerate_tests(
    command: Command, config: Any = None, **options: Unpack[RunOptions]
) -> list[dict[str, Any]]:
    """Like `generate_tests`, without blocking the event loop; when cancelled, it is killed."""
    program, document = _generation(command, config, **options)
    return await program.arun(document, partial(_tests, program))


def _judgement(
    command: Command,
    output: Any,
    *,
    config: Any = None,
    vars: Mapping[str, Any] | None = None,
    test: str = "assert",
    tags: Iterable[str] = (),
    provider: str = "ingot",
    tool_calls: Iterable[Call] = (),
    **run: Unpack[RunOptions],
) -> tuple[Program, str]:
    """The program that judges, and what it is sent."""
    asked = AssertRequest(
        envelope=Envelope(kind="assert"),
        output=plain(output),
        test=TestRef(id=test, tags=tuple(tags)),
        provider=provider,
        config=plain(config),
        vars=plain(dict(sorted((vars or {}).items()))),
        tool_calls=tuple(tool_calls),
    )
    return _program(command, 120.0, run), write(asked)


def _generation(command: Command, config: Any, **run: Unpack[RunOptions]) -> tuple[Program, str]:
    """The program that writes cases, and what it is sent."""
    asked = GenerateRequest(envelope=Envelope(kind="generate_tests"), config=plain(config))
    return _program(command, 60.0, run), write(asked)


def _program(command: Command, patience: float, run: RunOptions) -> Program:
    """The program; it may take *patience* seconds where *run* does not say."""
    options: RunOptions = {"timeout": patience, **run}
    return Program(argv=argv_of(command), **options)


def read_verdict(document: str) -> Verdict:
    """
    Return the verdict that *document* tells.

    Raises:
        Unreadable: It tells none.
    """
    reply = AssertReply.read(parse(document))
    score = float(reply.passed) if reply.score is None else reply.score
    return Verdict(
        passed=reply.passed, score=score, reason=reply.reason or "", details=reply.details
    )


def read_tests(document: str) -> list[Any]:
    """
    Return the test cases in *document*, any JSON each.

    It is one object with the cases under `tests`; or lines, of which each is a case and blank ones
    do not count. A document that is one object is the first, even on one line.

    Raises:
        Unreadable: It is neither.
    """
    text = trimmed(document)
    whole: Any = None
    if text.startswith("{"):
        try:
            whole = loads(text)
        except Unreadable:
            whole = None  # perhaps lines of objects
    if whole is not None:
        tests = whole.get("tests")
        if not is_array(tests):
            raise Unreadable("an object that is the whole document must have an array `tests`")
        return tests
    lines = [(number, trimmed(line)) for number, line in enumerate(text.split("\n"), 1)]
    return [_case(number, line) for number, line in lines if line]


def _case(number: int, line: str) -> Any:
    try:
        return loads(line)
    except Unreadable as error:
        raise Unreadable(f"line {number} is no test case: {error.reason}") from None


def _tests(program: Program, document: str) -> list[dict[str, Any]]:
    """The cases in *document*, which *program* wrote, each with an id."""
    stem = PurePath(program.argv[0]).stem
    named: list[dict[str, Any]] = []
    for index, case in enumerate(read_tests(document)):
        if not is_object(case):
            raise Unreadable(f"test case {index} must be an object, not {describe(case)}")
        named.append(case if case.get("id") is not None else {**case, "id": f"{stem}/{index}"})
    return named
