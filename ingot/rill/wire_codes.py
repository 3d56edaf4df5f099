"""Why a rill runtime refuses a request: codes, texts, and what is worth a retry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._record import record
from ingot._serde import Ordered
from ingot.rill.wire_parts import known, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._row import Row
    from ingot.rill.decider import Fault
    from ingot.rill.wire_parts import Surface

__all__ = [
    "CODES",
    "COMPLETED_FULL",
    "DUPLICATE_DECISION",
    "DUPLICATE_FEEDBACK",
    "EXPIRED",
    "FAULTS",
    "FEEDBACK_DIFFERS",
    "HASH_DIFFERS",
    "MODEL_DIFFERS",
    "NOT_JSON",
    "OVERFLOW",
    "PENDING_FULL",
    "RESET_DIFFERS",
    "SPOILED",
    "STALE_FEEDBACK",
    "STATE_DIFFERS",
    "TOO_LARGE",
    "UNKNOWN_DECISION",
    "UNSUPPORTED",
    "Failure",
    "Refusal",
    "Refused",
    "is_retryable",
    "shortened",
]

_MAX_TEXT = 512
"""Bytes of the longest message of an error."""

_BOTH = (
    "invalidJson",
    "invalidEnvelope",
    "payloadTooLarge",
    "unsupportedCapability",
    "stateMismatch",
    "expiredRequest",
    "incompatibleGeneration",
    "duplicateFeedback",
    "handlerTimeout",
    "handlerTrap",
    "handlerOutputTooLarge",
    "handlerInvalidOutput",
    "invalidState",
    "internal",
)

CODES: Mapping[Surface, frozenset[str]] = {
    "v3": frozenset(
        {*_BOTH, "invalidRequestId", "invalidClientIdentity", "incompatibleApiVersion"}
    ),
    "preview": frozenset(
        {*_BOTH, "duplicateDecision", "unknownDecision", "staleFeedback", "capacityExceeded"}
    ),
}
"""All codes, by surface."""

_RETRYABLE: Mapping[Surface, frozenset[str]] = {
    "v3": frozenset({"stateMismatch", "handlerTimeout", "internal"}),
    "preview": frozenset(
        {"stateMismatch", "expiredRequest", "capacityExceeded", "handlerTimeout", "internal"}
    ),
}


def is_retryable(code: str, surface: Surface) -> bool:
    """Whether the same request may pass later, by the code of its error."""
    return code in _RETRYABLE[surface]


def shortened(message: str) -> str:
    """The beginning of *message*, as long as the message of an error may be."""
    return message.encode(errors="replace")[:_MAX_TEXT].decode(errors="ignore")


@record
class Failure:
    """
    An error, as an answer tells it.

    Attributes:
        code: One of `CODES`.
        message: 1 to 512 bytes.
        retryable: Whether the same request may pass later, as the runtime says.
    """

    code: str
    message: str
    retryable: bool

    @classmethod
    def read(cls, row: Row, surface: Surface) -> Failure:
        """Read it."""
        known(row, ("code", "message", "retryable"))
        code = row.text("code")
        if code not in CODES[surface]:
            raise row.unexpected("a code of the protocol", code, "code")
        return cls(code=code, message=row.text("message"), retryable=row.flag("retryable"))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(code=self.code, message=self.message, retryable=self.retryable)

    def problem(self, surface: Surface) -> str | None:
        """What is wrong with it, in the words of the protocol; None when nothing is."""
        if not within(self.message, _MAX_TEXT):
            return "invalid error message"
        # Runtimes of `preview` go by the code that `v3` has for it.
        if surface == "v3" and self.retryable != is_retryable(self.code, surface):
            return "retryable flag does not match error code"
        return None


@record
class Refusal:
    """
    Why a request is refused.

    Attributes:
        code: The code of `v3`.
        message: The text of the source system.
        preview: The code of `preview`; None when it is the same.
    """

    code: str
    message: str
    preview: str | None = None

    def failure(self, surface: Surface) -> Failure:
        """The error that tells it."""
        retryable = is_retryable(self.code, surface)
        code = self.preview if surface == "preview" and self.preview else self.code
        return Failure(code=code, message=self.message, retryable=retryable)


class Refused(Exception):  # noqa: N818 (an answer that is on its way, and no error of ours)
    """
    A request is not served.

    Attributes:
        refusal: Why.
    """

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.message)


TOO_LARGE = Refusal(code="payloadTooLarge", message="request exceeds the IPC message limit")
NOT_JSON = Refusal(code="invalidJson", message="request is not valid IPC V3 JSON")
EXPIRED = Refusal(code="expiredRequest", message="request deadline has expired")
UNSUPPORTED = Refusal(
    code="unsupportedCapability", message="capability is not in the effective set"
)
HASH_DIFFERS = Refusal(code="stateMismatch", message="feature schema hash does not match")
MODEL_DIFFERS = Refusal(code="incompatibleGeneration", message="model generation does not match")
FEEDBACK_DIFFERS = Refusal(
    code="incompatibleGeneration", message="feedback generation does not match"
)
STATE_DIFFERS = Refusal(code="stateMismatch", message="state generation does not match")
RESET_DIFFERS = Refusal(code="stateMismatch", message="reset generation does not match")
OVERFLOW = Refusal(code="invalidState", message="state generation overflow")
DUPLICATE_DECISION = Refusal(
    code="internal", message="decision id was already used", preview="duplicateDecision"
)
PENDING_FULL = Refusal(
    code="internal", message="pending decision capacity is exhausted", preview="capacityExceeded"
)
DUPLICATE_FEEDBACK = Refusal(code="duplicateFeedback", message="feedback was already applied")
UNKNOWN_DECISION = Refusal(
    code="internal", message="decision id is not pending", preview="unknownDecision"
)
STALE_FEEDBACK = Refusal(
    code="internal", message="feedback generation is stale", preview="staleFeedback"
)
COMPLETED_FULL = Refusal(code="internal", message="completed decision capacity is exhausted")
SPOILED = Refusal(
    code="invalidState",
    message="a call broke off half way and may have changed the state; reset it, or start again",
)
"""Ours: the source system's deciders are handed a copy of the state."""

FAULTS: Mapping[Fault, Refusal] = {
    "invalidEvent": Refusal(code="invalidEnvelope", message="handler rejected the event"),
    "invalidState": Refusal(code="invalidState", message="handler rejected the current state"),
    "duplicateFeedback": DUPLICATE_FEEDBACK,
    "timeout": Refusal(code="handlerTimeout", message="handler exceeded the wall-clock deadline"),
    "trap": Refusal(code="handlerTrap", message="handler trapped"),
    "outputTooLarge": Refusal(
        code="handlerOutputTooLarge", message="handler output exceeded the size limit"
    ),
    "invalidOutput": Refusal(
        code="handlerInvalidOutput", message="handler output was not valid JSON"
    ),
    "internal": Refusal(code="internal", message="internal runtime error"),
}
"""How the faults of a decider are told."""
