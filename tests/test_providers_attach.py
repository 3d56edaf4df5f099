"""Attachments through the vendors' real SDKs, against a real server on this machine."""

from __future__ import annotations

import asyncio
import logging
import random
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Loopback, Reply
from test_providers_loopback import APIS, KEY, body, every_api, refused

from ingot._attach import attachments
from ingot.errors import NotConfiguredError, ProviderError, ProviderProtocolError
from ingot.provider import Attachment, Request
from ingot_local import _Loopback as Local  # pyright: ignore[reportPrivateUsage]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot.provider import Response, SDKProvider

RANDOM = random.Random(7)  # noqa: S311 (no secret, and the same every time)
PNG = b"\x89PNG\r\n\x1a\n" + RANDOM.randbytes(600)
PDF = b"%PDF-1.7\n" + RANDOM.randbytes(600)
TEXT = " ".join(f"secret-{RANDOM.random()}" for _ in range(30))
FILES = attachments([("C:\\Users\\me\\a.png", PNG), ("/Users/me/b.pdf", PDF), ("c.txt", b"Hej")])


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


def asked(*files: Attachment, **facts: Any) -> Request:
    """A request that sends *files* along."""
    return Request(
        provider="p", model="m", target=None, prompt="p", attachments=files, max_tokens=9, **facts
    )


def both(model: SDKProvider, request: Request) -> Iterator[Response | ProviderError]:
    """Send blocking, then awaiting: the reply or the error of each."""
    for send in (lambda: model.send(request), lambda: asyncio.run(model.asend(request))):
        try:
            yield send()
        except ProviderError as error:
            yield error


def first_turn(sent: dict[str, Any]) -> Any:
    """What the first user turn holds."""
    return (sent.get("input") or sent["messages"])[0]["content"]


@every_api
def test_each_vendor_gets_its_own_form(api: str, server: Loopback) -> None:
    """F14: images and documents under their base names, then the text with the text files."""
    with server.play([Reply(body(api, "ok"))]):
        replies = list(both(APIS[api](base_url=server.url, api_key=KEY), asked(*FILES)))
    image, document = FILES[0].base64(), FILES[1].base64()
    text = '<file name="c.txt">\nHej\n</file>\n\np'
    expected = {
        "openai.chat": [
            {"type": "text", "text": "a.png:"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
            {
                "type": "file",
                "file": {
                    "filename": "b.pdf",
                    "file_data": f"data:application/pdf;base64,{document}",
                },
            },
            {"type": "text", "text": text},
        ],
        "openai.responses": [
            {"type": "input_text", "text": "a.png:"},
            {
                "type": "input_image",
                "image_url": f"data:image/png;base64,{image}",
                "detail": "auto",
            },
            {
                "type": "input_file",
                "filename": "b.pdf",
                "file_data": f"data:application/pdf;base64,{document}",
            },
            {"type": "input_text", "text": text},
        ],
        "anthropic.messages": [
            {"type": "text", "text": "a.png:"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": image},
            },
            {
                "type": "document",
                "title": "b.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": document},
            },
            {"type": "text", "text": text},
        ],
    }

    assert [first_turn(heard.json) for heard in server.heard] == [expected[api]] * 2
    assert all(b"Users" not in heard.body for heard in server.heard)
    assert len(replies) == 2


@every_api
def test_text_alone_travels_as_text(api: str, server: Loopback) -> None:
    """So that servers that know no parts take it."""
    with server.play([Reply(body(api, "ok"))]):
        APIS[api](base_url=server.url, api_key=KEY).send(asked(FILES[2]))

    assert first_turn(server.heard[0].json) == '<file name="c.txt">\nHej\n</file>\n\np'


@every_api
def test_a_type_that_a_vendor_does_not_take_is_refused(api: str, server: Loopback) -> None:
    """Before any request, and with what it takes; nothing is dropped."""
    [sound] = attachments(
        [Attachment(media_type="audio/wav", size=1, sha256="", name="a.wav", content=b"x")]
    )
    model = APIS[api](base_url=server.url, api_key=KEY)
    with server.play([Reply(body(api, "ok"))]):
        for send in (
            lambda: model.send(asked(sound)),
            lambda: asyncio.run(model.asend(asked(sound))),
        ):
            with pytest.raises(NotConfiguredError, match=r"'a.wav', which is audio/wav.*image/png"):
                send()

    assert server.heard == []


def test_the_local_model_takes_text_only(server: Loopback) -> None:
    """It has no eyes."""
    model = Local(base_url=f"{server.url}/v1")
    with server.play([Reply(body("openai.chat", "ok"))]):
        model.send(asked(FILES[2]))
        for file in FILES[:2]:
            with pytest.raises(NotConfiguredError, match="local cannot be sent .*; it takes text"):
                model.send(asked(file))

    assert len(server.heard) == 1


def leaks(shown: str, content: str) -> bool:
    """Whether *shown* holds a piece of *content*: any 40 characters in a row contain one."""
    return any(content[at : at + 20] in shown for at in range(0, len(content) - 19, 20))


ECHOES = {
    "image": (attachments([("a.png", PNG)]), "{base64}"),
    "text": (attachments([("a.txt", TEXT.encode())]), "{text}"),
}


@every_api
@pytest.mark.parametrize("kind", ECHOES)
@pytest.mark.parametrize("status", [400, 200, 503])
def test_what_a_vendor_repeats_is_shown_nowhere(
    api: str, kind: str, status: int, server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    """F12: not in the error, its repr, its traceback, or what any logger says at DEBUG."""
    caplog.set_level(logging.DEBUG)
    [file], echo = ECHOES[kind]
    content = echo.format(base64=file.base64(), text=TEXT)
    message = f"image too large: data:image/png;base64,{content}"
    with server.play([refused(api, status, message)]):
        found = list(both(APIS[api](base_url=server.url, api_key=KEY), asked(file)))

    assert len(server.heard) == 2
    for error in found:
        assert isinstance(error, ProviderError)
        assert "image too large: data:image/png;base64,[content]" in str(error)
        assert len(str(error)) < 2000
        shown = [str(error), repr(error), *traceback.format_exception(error), caplog.text]
        for text in (content, file.base64()):
            assert [s for s in shown if leaks(s, text)] == []
    if api == "anthropic.messages":
        # Its SDK logs the request, of which the lengths are left.
        assert "characters]" in caplog.text


@every_api
def test_without_attachments_a_vendor_is_quoted_whole(api: str, server: Loopback) -> None:
    """What it says may be long."""
    with server.play([refused(api, 400, "A" * 60)]):
        [error, _] = both(APIS[api](base_url=server.url, api_key=KEY), asked())

    assert type(error) is ProviderProtocolError
    assert "A" * 60 in str(error)
