"""What is put in the place of what must not be recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from ingot._json import encoder
from ingot.errors import NotConfiguredError, PromptError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Redaction", "compiled"]

_encode = encoder(separators=(",", ":"))


def compiled(pattern: str | re.Pattern[str], what: str) -> re.Pattern[str]:
    """Return *pattern*, which *what* names in an error, as a regular expression."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise NotConfiguredError(f"{what} is no regular expression: {error}") from error


def _overlap(mark: str, other: str) -> bool:
    """Whether *other* can begin within *mark*."""
    inside = mark != other and other in mark
    return inside or any(other.startswith(mark[n:]) for n in range(1, len(mark)))


class Redaction:
    """
    What is put in the place of what must not be recorded, before a key is computed.

    It is applied alike when recording and when replaying, so that requests still meet. Whatever a
    rule finds becomes the same placeholder: two requests that differ only there are the same
    request. Placeholders that are there already are never redacted for themselves, and rules are
    applied until none finds more, which ends because placeholders cannot overlap; hence applying
    twice is applying once.

    Args:
        rules: Placeholders, such as `<EMAIL>`, and the regular expression of what each replaces.
        restore: Placeholders, and the environment variable that holds what one stands for.

    Raises:
        NotConfiguredError: Placeholders that are empty or overlap, or no regular expression.
    """

    __slots__ = ("_marks", "_restore", "_rules")

    def __init__(
        self,
        rules: Mapping[str, str | re.Pattern[str]],
        restore: Mapping[str, str] | None = None,
    ) -> None:
        for mark, other in product(rules, rules):
            if not mark or _overlap(mark, other):
                raise NotConfiguredError(
                    f"placeholders {mark!r} and {other!r} of `redact` can overlap in a text",
                    advice="write them with different signs at both ends, such as <EMAIL>",
                )
        self._restore = dict(restore or {})
        unknown = sorted(self._restore.keys() - rules.keys())
        if unknown:
            raise NotConfiguredError(
                f"`restore` names {unknown[0]!r}, for which `redact` has no rule"
            )
        self._rules = [(mark, compiled(rule, f"rule {mark!r}")) for mark, rule in rules.items()]
        longest_first = sorted(rules, key=len, reverse=True)
        self._marks = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def apply(self, text: str) -> str:
        """Return *text* with placeholders for whatever the rules find."""
        before = None
        while text != before:
            before = text
            for mark, rule in self._rules:
                text = self._replaced(text, mark, rule)
        return text

    def apply_json(self, value: Any) -> Any:
        """
        Return *value* with placeholders in its texts, keys and numbers.

        A number in which a rule finds something becomes a text.

        Raises:
            PromptError: Two keys of one object become the same.
        """
        return _mapped(value, self.apply, self._number)

    def apply_written(self, text: str) -> str:
        """
        Return *text*, which may be JSON, with placeholders; JSON stays JSON.

        A rule that finds much, such as all that is no space, would else take its brackets along,
        and one letter may be escaped in it.
        """
        return _in_written(text, self.apply, self._number)

    def restore(self, value: Any, environ: Mapping[str, str]) -> Any:
        """Return *value* with what placeholders stand for, as far as *environ* has it."""
        return _mapped(value, self._real(environ))

    def restore_written(self, text: str, environ: Mapping[str, str]) -> str:
        """Return *text*, which may be JSON, with what placeholders stand for; it stays JSON."""
        return _in_written(text, self._real(environ))

    def _number(self, value: float) -> float | str:
        text = _encode(value)
        hidden = self.apply(text)
        return value if hidden == text else hidden

    def _real(self, environ: Mapping[str, str]) -> Callable[[str], str]:
        def real(match: re.Match[str]) -> str:
            return environ.get(self._restore.get(match.group(), ""), match.group())

        return lambda text: self._marks.sub(real, text)

    def _replaced(self, text: str, mark: str, rule: re.Pattern[str]) -> str:
        walls = [match.span() for match in self._marks.finditer(text)]
        done: list[str] = []
        at = wall = 0
        for match in rule.finditer(text):
            start, end = match.span()
            while wall < len(walls) and walls[wall][1] <= start:
                wall += 1
            covered, first, last = 0, start, end
            for low, high in walls[wall:]:
                if low >= end:
                    break
                covered += min(high, end) - max(low, start)
                first, last = min(first, low), max(last, high)
            if covered < end - start and first >= at:
                done += text[at:first], mark
                at = last
        return "".join(done) + text[at:]


def _as_it_is(value: float) -> float:
    return value


def _in_written(
    text: str, change: Callable[[str], str], number: Callable[[float], Any] = _as_it_is
) -> str:
    """Return *text* with *change* made to the texts in it if it is JSON, else to all of it."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return change(text)
    if _is_number(tree):
        return change(text)  # or a text of digits: nobody can tell
    changed = _mapped(tree, change, number)
    return text if changed == tree else _encode(changed)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mapped(
    value: Any, change: Callable[[str], str], number: Callable[[float], Any] = _as_it_is
) -> Any:
    """Return *value*, which is JSON, with *change* made to its texts and keys."""
    if isinstance(value, str):
        return change(value)
    if _is_number(value):
        return number(value)
    if isinstance(value, list | tuple):
        return [_mapped(item, change, number) for item in cast("Sequence[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    entries = cast("Mapping[str, Any]", value)
    changed = {change(key): _mapped(item, change, number) for key, item in entries.items()}
    if len(changed) < len(entries):
        raise PromptError(
            "two keys of one object become the same when they are redacted",
            advice="put what differs into values, or narrow the rule",
        )
    return changed
