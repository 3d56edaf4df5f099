"""
Messages of Rill Runtime IPC v3 and their JSON: no process is run here, and no clock is read.

A request is an envelope around one of eight methods, an answer a response around one of seven
bodies. They are read strictly: a field that is not known, or stands twice, is an error. Reading is
one thing, and whether a message keeps the rules another, which `problem` tells, first fault first,
in the words of the source system (`rill_runtime_protocol/v3.rs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._record import record
from ingot._serde import Ordered, dumps
from ingot.rill.wire_bodies import Body, Failed, Greeting, are_capabilities, read_body
from ingot.rill.wire_parts import (
    API_VERSION,
    MAX_CAPABILITY,
    MAX_ID,
    MAX_MESSAGE,
    Identity,
    count32,
    is_digest,
    known,
    parse,
    within,
)
from ingot.rill.wire_requests import Feedback, Handshake, Health, Request, read_request

if TYPE_CHECKING:
    from ingot.rill.wire_parts import Surface

__all__ = [
    "GROWTH",
    "PREVIEW_CAPABILITIES",
    "PREVIEW_HASH",
    "Envelope",
    "Response",
    "read_envelope",
    "read_response",
    "write",
]

PREVIEW_CAPABILITIES = tuple(
    f"org.rill.preview.{method}"
    for method in ("observe", "decide", "feedback", "inspect", "snapshot", "reset")
)
"""What the running source system can be asked."""

PREVIEW_HASH = "ab" * 32
"""The hash of features that the running source system has unless it is told another."""

GROWTH = 4
"""
How many times longer than a text that was read the text that is written for it may be.

The most is `1e15,`, which becomes `1000000000000000.0,`; all else grows less, or shrinks.
"""

_ENVELOPE = (
    "requestId",
    "apiVersion",
    "clientIdentity",
    "capability",
    "deadlineUnixMs",
    "featureSchemaHash",
    "modelGeneration",
    "stateGeneration",
    "payloadLimit",
    "request",
)
_RESPONSE = (
    "requestId",
    "apiVersion",
    "runtimeIdentity",
    "modelGeneration",
    "stateGeneration",
    "response",
)


@record
class Envelope:
    """
    A request, and what its caller goes by.

    Attributes:
        request_id: 1 to 128 bytes, repeated in the answer.
        api_version: 3.
        client: Who asks.
        capability: One of the runtime's; None in a handshake and a question for health.
        deadline_ms: Until when it is to be served, in ms of Unix time; None: whenever.
        schema_hash: Of the features; None where there are none.
        model_generation: The generation of the model, as the caller knows it.
        state_generation: The generation of the state, as the caller knows it.
        payload_limit: Bytes that this message may have, 1 to 1,048,576.
        request: What is asked.
    """

    request_id: str
    api_version: int = API_VERSION
    client: Identity
    capability: str | None = None
    deadline_ms: int | None = None
    schema_hash: str | None = None
    model_generation: int
    state_generation: int
    payload_limit: int = MAX_MESSAGE
    request: Request

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        message = {
            "requestId": self.request_id,
            "apiVersion": self.api_version,
            "clientIdentity": self.client.to_json(),
            "capability": self.capability,
            "deadlineUnixMs": self.deadline_ms,
            "featureSchemaHash": self.schema_hash,
            "modelGeneration": self.model_generation,
            "stateGeneration": self.state_generation,
            "payloadLimit": self.payload_limit,
            "request": self.request.to_json(),
        }
        return Ordered({name: value for name, value in message.items() if value is not None})

    def problem(self, received: int | None = None) -> str | None:
        """
        Say what is wrong with it, in the words of the protocol; None when nothing is.

        Args:
            received: Bytes of the text that it was read from, whose size bounds that of the text
                which counts: the one that is written here. None measures it in any case.
        """
        return self._problem_of_fields() or self._problem_of_request() or self._too_large(received)

    def _problem_of_fields(self) -> str | None:
        if not within(self.request_id, MAX_ID):
            return "invalid request id"
        if self.api_version != API_VERSION:
            return "incompatible API version"
        problem = self.client.problem()
        if problem is not None:
            return problem
        return None if 0 < self.payload_limit <= MAX_MESSAGE else "invalid payload limit"

    def _problem_of_request(self) -> str | None:
        if isinstance(self.request, Handshake | Health):
            return None if self.capability is None else "unexpected capability"
        if self.capability is None:
            return "missing capability"
        if not within(self.capability, MAX_CAPABILITY):
            return "invalid capability"
        if self.schema_hash is None:
            return "missing feature schema hash"
        if not is_digest(self.schema_hash):
            return "invalid feature schema hash"
        return self.request.problem() if isinstance(self.request, Feedback) else None

    def _too_large(self, received: int | None) -> str | None:
        if received is not None and GROWTH * received <= self.payload_limit:
            return None
        return None if len(write(self)) <= self.payload_limit else "payload too large"

    def is_expired(self, now_ms: int) -> bool:
        """Whether it is too late to serve it at *now_ms*, in ms of Unix time."""
        return self.deadline_ms is not None and now_ms > self.deadline_ms


@record
class Response:
    """
    An answer, and where the runtime stands.

    Attributes:
        request_id: Of the request; `"invalid-request"` for one that cannot be read.
        api_version: 3.
        runtime: Who answers.
        model_generation: The generation of the model.
        state_generation: The generation of the state, after this request.
        body: What is answered.
    """

    request_id: str
    api_version: int = API_VERSION
    runtime: Identity
    model_generation: int
    state_generation: int
    body: Body

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return Ordered(
            requestId=self.request_id,
            apiVersion=self.api_version,
            runtimeIdentity=self.runtime.to_json(),
            modelGeneration=self.model_generation,
            stateGeneration=self.state_generation,
            response=self.body.to_json(),
        )

    def problem(self, surface: Surface) -> str | None:
        """What is wrong with it, in the words of the protocol; None when nothing is."""
        return (
            self._problem_of_fields()
            or self._problem_of_body(surface)
            or (None if len(write(self)) <= MAX_MESSAGE else "payload too large")
        )

    def _problem_of_fields(self) -> str | None:
        if not within(self.request_id, MAX_ID):
            return "invalid request id"
        if self.api_version != API_VERSION:
            return "incompatible API version"
        return self.runtime.problem()

    def _problem_of_body(self, surface: Surface) -> str | None:
        if isinstance(self.body, Greeting):
            return None if are_capabilities(self.body.capabilities) else "invalid capabilities"
        return self.body.error.problem(surface) if isinstance(self.body, Failed) else None


def read_envelope(message: bytes) -> Envelope:
    """
    Read a request.

    Raises:
        Unreadable: It is none; whether it keeps the rules is another question.
    """
    row = parse(message)
    known(row, _ENVELOPE)
    return Envelope(
        request_id=row.text("requestId"),
        api_version=count32(row, "apiVersion"),
        client=Identity.read(row.row("clientIdentity")),
        capability=row.optional_text("capability"),
        deadline_ms=row.optional_count("deadlineUnixMs"),
        schema_hash=row.optional_text("featureSchemaHash"),
        model_generation=row.count("modelGeneration"),
        state_generation=row.count("stateGeneration"),
        payload_limit=count32(row, "payloadLimit"),
        request=read_request(row.row("request")),
    )


def read_response(message: bytes, surface: Surface) -> Response:
    """
    Read an answer.

    Raises:
        Unreadable: It is none on *surface*; whether it keeps the rules is another question.
    """
    row = parse(message)
    known(row, _RESPONSE)
    return Response(
        request_id=row.text("requestId"),
        api_version=count32(row, "apiVersion"),
        runtime=Identity.read(row.row("runtimeIdentity")),
        model_generation=row.count("modelGeneration"),
        state_generation=row.count("stateGeneration"),
        body=read_body(row.row("response"), surface),
    )


def write(message: Envelope | Response) -> bytes:
    """
    Return *message* as one line without a line break.

    Raises:
        TypeError: It holds what JSON has no form for.
        ValueError: It holds NaN, an infinity or half of a surrogate pair.
    """
    return dumps(message.to_json()).encode()
