"""Content that is sent along must not come back in words: not in errors, not in log records."""

from __future__ import annotations

import json
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ingot._json import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from logging import LogRecord

    from ingot._request import Attachment

__all__ = ["concealed"]

_RUN = 20
"""So many characters of the content in a row are noticed in an error."""

_ERROR = 1_500
"""Characters of an error's text that are kept; a vendor may repeat the whole request."""

_LOGGED = 39
"""Characters of a text in a log record that are kept while content is under way."""

_under_way: ContextVar[bool] = ContextVar("ingot_content_under_way", default=False)


@contextmanager
def concealed(attachments: Iterable[Attachment], sdk: str) -> Generator[None]:
    """
    Keep the content of *attachments* out of what is raised and logged inside the block.

    Vendors repeat a request in the message of an error, and SDKs log whole bodies at level DEBUG.

    Args:
        attachments: What is sent inside the block; with none, nothing is changed.
        sdk: Name of the package whose loggers are veiled.
    """
    attachments = tuple(attachments)
    if not attachments:
        yield
        return
    _veil_loggers(sdk)
    token = _under_way.set(True)
    try:
        yield
    except Exception as error:
        _clean(error, [text for file in attachments for text in _writings(file)])
        raise
    finally:
        _under_way.reset(token)


def _writings(file: Attachment) -> list[str]:
    """The ways in which the content of *file* can stand in a text."""
    if not file.is_text:
        return [file.base64()]
    text = file.text()
    quoted = [json.dumps(text), json.dumps(text, ensure_ascii=False), repr(text)]
    return [text, *(form[1:-1] for form in quoted), file.base64()]


def _clean(error: BaseException, contents: list[str]) -> None:
    """Clean *error* and all that led to it; a traceback shows them together."""

    def cleaned(text: str) -> str:
        return _blanked(text[:_ERROR], contents)

    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.args = tuple(_texts_changed(part, cleaned) for part in one.args)
        for name, value in list(vars(one).items()):
            if isinstance(value, str | dict | list):
                setattr(one, name, _texts_changed(value, cleaned))
        left += [one.__cause__, one.__context__]


def _texts_changed(value: Any, change: Callable[[str], str]) -> Any:
    """Return *value* with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        return {name: _texts_changed(part, change) for name, part in value.items()}
    if is_array(value):
        return [_texts_changed(part, change) for part in value]
    return value


def _blanked(text: str, contents: list[str]) -> str:
    """Return *text* with each run of a content replaced, however long the content is."""

    def known(begin: int, end: int) -> bool:
        return begin >= 0 and end <= len(text) and any(text[begin:end] in c for c in contents)

    out, done, at = "", 0, 0
    # Only every twentieth place is looked up: no run of twice that length slips between.
    while at + _RUN <= len(text):
        if not known(at, at + _RUN):
            at += _RUN
            continue
        begin, end = at, at + _RUN
        while begin > done and known(begin - 1, begin - 1 + _RUN):
            begin -= 1
        while known(end + 1 - _RUN, end + 1):
            end += 1
        if begin > done or not out:
            out += text[done:begin] + "[content]"
        done = at = end
    return out + text[done:]


def _veil_loggers(sdk: str) -> None:
    import logging

    # A filter holds for one logger and not for those below it.
    for name in list(logging.Logger.manager.loggerDict):
        if name.partition(".")[0] == sdk:
            logging.getLogger(name).addFilter(_veil)


def _veil(record: LogRecord) -> bool:
    if _under_way.get():
        args = record.args
        if isinstance(args, tuple):
            record.args = tuple(_texts_changed(part, _shortened) for part in args)
        else:
            record.args = _texts_changed(args, _shortened)
    return True


def _shortened(text: str) -> str:
    return text if len(text) <= _LOGGED else f"[{len(text):,} characters]"
