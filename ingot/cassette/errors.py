"""
Every error that a cassette raises, in one tree.

    IngotError
    └── CassetteError             a recording cannot be used, or must not be made
        ├── CassetteFormatError   the file cannot be read
        ├── CassetteKeyError      a row's request is not the one its key was made of
        ├── CassetteMissError     nothing was recorded for this request
        ├── AmbiguousRepeatError  equal requests, different answers, no order to tell them by
        ├── CassetteSecretError   a secret would have been written
        ├── CassetteSizeError     the file would have grown too large
        └── CassetteModeError     an unknown mode, or recording where it is not allowed

None of them is a provider's or a tool's failure, so no fallback may absorb one.
"""

from __future__ import annotations

from ingot.errors import IngotError

__all__ = [
    "AmbiguousRepeatError",
    "CassetteError",
    "CassetteFormatError",
    "CassetteKeyError",
    "CassetteMissError",
    "CassetteModeError",
    "CassetteSecretError",
    "CassetteSizeError",
]


class CassetteError(IngotError):
    """
    A recording cannot be used, or must not be made.

    Attributes:
        path: The file, or None where there is none or it is not known.
    """

    code = "cassette"

    def __init__(self, message: str, *, path: str | None = None, advice: str | None = None) -> None:
        self.path = path
        super().__init__(f"{path}: {message}" if path else message, advice=advice)


class CassetteFormatError(CassetteError):
    """
    A file that is no cassette, or none that this version of ingot reads.

    Attributes:
        reason: What is wrong, and where.
    """

    code = "cassette_format"

    def __init__(self, reason: str, *, path: str | None = None, advice: str | None = None) -> None:
        self.reason = reason
        super().__init__(f"the cassette cannot be read: {reason}", path=path, advice=advice)


class CassetteKeyError(CassetteError):
    """
    A row whose stored request does not hash to the row's key: edited by hand, or merged badly.

    Attributes:
        key: The key that the row states.
        actual: The key of the request that it holds.
    """

    code = "cassette_key"

    def __init__(self, key: str, actual: str, *, path: str | None = None) -> None:
        self.key = key
        self.actual = actual
        super().__init__(
            f"the row `{key}` holds another request than was recorded under it; "
            f"the key of what it holds is `{actual}`",
            path=path,
            advice="undo the edit of the request, or record it again",
        )


class CassetteMissError(CassetteError):
    """
    A request for which nothing was recorded.

    Attributes:
        reason: What was asked for, and what the recording has instead.
        key: The key or digest of the request, or None.
        report: What changed since the recording, on several lines; empty when it cannot be said.
    """

    code = "cassette_miss"

    def __init__(
        self,
        reason: str,
        *,
        path: str | None = None,
        key: str | None = None,
        report: str = "",
        advice: str | None = None,
    ) -> None:
        self.reason = reason
        self.key = key
        self.report = report
        super().__init__(reason, path=path, advice=advice)

    def __str__(self) -> str:
        sentence = super().__str__()
        return f"{sentence}\n{self.report}" if self.report else sentence


class AmbiguousRepeatError(CassetteError):
    """
    One request was sent several times at once and got different answers.

    Attributes:
        request: The request in a few words, such as its call site.
        answers: How often it was answered.
        key: The key that these requests share, or None.
    """

    code = "cassette_ambiguous"

    def __init__(
        self, request: str, answers: int, *, path: str | None = None, key: str | None = None
    ) -> None:
        self.request = request
        self.answers = answers
        self.key = key
        super().__init__(
            f"{request}: one request was answered {answers} times, not always alike, and asked "
            "from more than one thread or task; expected an order that does not hang on timing",
            path=path,
            advice="tell the requests apart by sample=0, sample=1, …",
        )


class CassetteSecretError(CassetteError):
    """
    Something that looks like a secret would have been written; it stands in no message.

    Attributes:
        field: Where it stands in the recording, such as `rows[0].prompt[3]`.
        kind: What it looks like, such as `an API key`.
    """

    code = "cassette_secret"

    def __init__(
        self, field: str, kind: str, *, path: str | None = None, advice: str | None = None
    ) -> None:
        self.field = field
        self.kind = kind
        super().__init__(
            f"nothing was written, because `{field}` holds what looks like {kind}",
            path=path,
            advice=advice
            or "keep it out of what is said to the model, or name a pattern for it in redact=",
        )


class CassetteSizeError(CassetteError):
    """
    The file would have grown too large.

    Attributes:
        limit: Bytes that it may have.
        request: The request whose row was refused, in a few words, such as its call site.
    """

    code = "cassette_size"

    def __init__(self, limit: int, request: str, *, path: str | None = None) -> None:
        self.limit = limit
        self.request = request
        super().__init__(
            f"{request}: nothing was written, because the cassette would be larger than the "
            f"{limit:,} bytes that it may have",
            path=path,
            advice="say less, spread the requests over several cassettes, or raise the limit",
        )


class CassetteModeError(CassetteError):
    """
    A mode that is unknown, or not allowed here.

    Attributes:
        mode: The mode that was asked for.
        reason: Why it cannot be had, and which can.
    """

    code = "cassette_mode"

    def __init__(
        self, mode: str, reason: str, *, path: str | None = None, advice: str | None = None
    ) -> None:
        self.mode = mode
        self.reason = reason
        super().__init__(f"cassette mode `{mode}`: {reason}", path=path, advice=advice)
