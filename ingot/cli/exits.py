"""Exit codes: one for each thing that a script may want to tell apart."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ingot import errors
from ingot.cassette.errors import CassetteError
from ingot.cli import show
from ingot.rill.errors import RillError

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = [
    "CODES",
    "INTERRUPTED",
    "NOT_CONFIGURED",
    "USAGE",
    "MisuseError",
    "code_of",
    "guarded",
    "meanings",
    "told",
]

USAGE = 2
NOT_CONFIGURED = 3
INTERRUPTED = 130


class MisuseError(Exception):
    """What stands on the command line cannot be used."""


CODES: tuple[tuple[int, tuple[type[Exception], ...], str], ...] = (
    (
        USAGE,
        (MisuseError, errors.PromptError, errors.TypeExpressionError),
        "the command line cannot be used: an option, TYPE, PROMPT or a value",
    ),
    (
        NOT_CONFIGURED,
        (errors.NotConfiguredError,),
        "nothing to ask with: no key, extra, model or valid setting",
    ),
    (
        4,
        (errors.UnsupportedTypeError, errors.ToolDefinitionError),
        "the type cannot be asked for",
    ),
    (5, (errors.ProviderAuthError,), "the key, the account or its credit was turned down"),
    (6, (errors.ProviderRateLimitError,), "too many requests or tokens for now"),
    (7, (errors.ProviderTimeoutError,), "no reply in time"),
    (8, (errors.ProviderUnavailableError,), "unreachable, overloaded or broken for now"),
    (9, (errors.ProviderError,), "the request was refused as malformed, or the reply is"),
    (10, (errors.RefusedError,), "the model declined"),
    (11, (errors.TruncatedError,), "the answer was cut off"),
    (13, (errors.InvalidAnswerError,), "the answer does not fit the type"),
    (12, (errors.AnswerError,), "no answer: empty, filtered, or a call of an unknown tool"),
    (
        14,
        (CassetteError,),
        "a recording cannot be used: missing, damaged, in conflict, of another version",
    ),
    (15, (errors.BudgetExceededError,), "a budget is spent, or does not cover the next request"),
    (16, (errors.PolicyError,), "a policy denies what a tool does"),
    (17, (errors.ToolError, errors.ToolResultError), "a tool failed"),
    (18, (errors.FileAccessError,), "a file is missing, is no plain file, or lies elsewhere"),
    (19, (RillError,), "a runtime that learns, or its state, cannot be used"),
    (
        20,
        (errors.MapError, errors.StoreError),
        "a run with many prompts stopped, or its store cannot be used",
    ),
)
"""Code, errors and meaning; the first row that an error is an instance of counts."""


def code_of(error: Exception) -> int:
    """Return the exit code for *error*."""
    return next((code for code, classes, _ in CODES if isinstance(error, classes)), 1)


def meanings() -> list[tuple[int, str]]:
    """All codes with their meaning, in order."""
    told = [(code, words) for code, _, words in CODES]
    return sorted([(0, "answered"), *told, (INTERRUPTED, "interrupted")])


_WORDS = (
    (r"is in `\.text`", "is shown by --show-reply"),
    (r"\brepair=(\d+)", r"--repair \1"),
    (r"\bretry=…", "--retry"),
    (r"\bmax_tokens\b", "--max-tokens"),
    (r'\bconstrain="(\w+)"', r"--constrain \1"),
    (r"\bmodel='([^']*)'", r"--model \1"),
    (r", or a Retry\b", ""),
    (r"\bpass (?:api_key|base_url)=…, ", ""),
    (r"\bbase_url\b", "--base-url"),
)
"""How settings are written in Python, and how on the command line."""


def told(error: Exception) -> str:
    """Return the sentence of *error* in the words of the command line, on one line."""
    text = " ".join(str(error).split())
    for python, words in _WORDS:
        text = re.sub(python, words, text)
    return text


@contextmanager
def guarded(*, reply: bool = False) -> Generator[None]:
    """
    Turn an error of ingot into one line on stderr and its exit code.

    Args:
        reply: Whether what the model wrote is shown, where there is a reply and no answer.
    """
    try:
        yield
    except KeyboardInterrupt:
        with suppress(show.UnwritableError):
            show.error("interrupted")
        raise SystemExit(INTERRUPTED) from None
    except (errors.IngotError, MisuseError) as error:
        with suppress(show.UnwritableError):
            if reply and isinstance(error, errors.AnswerError) and error.text is not None:
                show.note(error.text)
            show.error(told(error))
        raise SystemExit(code_of(error)) from None
    except show.UnwritableError as error:
        with suppress(show.UnwritableError):
            if error.reason is not None:
                show.error(f"the output cannot be written: {error.reason}")
        raise SystemExit(1) from None
