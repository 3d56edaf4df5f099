"""Content that is sent along does not come back in errors and log records."""

from __future__ import annotations

import logging
import random
import traceback
from base64 import b64encode

import pytest

from ingot._attach import attachment
from ingot._conceal import concealed
from ingot.errors import ProviderProtocolError

RANDOM = random.Random(7)  # noqa: S311 (no secret, and the same every time)
IMAGE = attachment(b"\x89PNG\r\n\x1a\n" + RANDOM.randbytes(900), name="a.png")
TEXT = attachment(
    "\n".join(str(RANDOM.random()) + ' "två"' for _ in range(30)).encode(), name="a.txt"
)


def longest_shared(shown: str, content: str) -> int:
    """Length of the longest run of *content* in *shown*."""
    best = 0
    for at in range(len(shown)):
        while at + best < len(shown) and shown[at : at + best + 1] in content:
            best += 1
    return best


@pytest.mark.parametrize("offset", [0, 1, 7, 19, 20, 21, 39])
@pytest.mark.parametrize("length", [40, 41, 59, 1000])
def test_no_run_of_the_content_comes_through(offset: int, length: int) -> None:
    """Wherever in a message it begins; what stands around it does."""
    for file, content in ((IMAGE, IMAGE.base64()), (TEXT, TEXT.text())):
        begin = RANDOM.randrange(len(content) - 40)
        echo = content[begin : begin + length]
        with pytest.raises(ProviderProtocolError) as caught, concealed([file], "openai"):
            raise ProviderProtocolError("#" * offset + echo + "| is too large", provider="p")
        shown = "".join(traceback.format_exception(caught.value))

        assert longest_shared(str(caught.value), content) < 20
        assert longest_shared(repr(caught.value), content) < 20
        assert echo[:40] not in shown
        assert "#" * offset in str(caught.value)
        assert "[content]| is too large" in str(caught.value)


def test_what_led_to_an_error_is_cleaned_too() -> None:
    """Causes, contexts, and the attributes of each."""
    payload = IMAGE.base64()

    class Refused(Exception):  # noqa: N818 (as SDKs have it)
        def __init__(self, body: object) -> None:
            self.body = body
            super().__init__(f"Error code: 400 - {body!r}")

    def work() -> None:
        try:
            try:
                raise ValueError(payload)
            except ValueError:
                raise Refused({"error": {"message": [payload]}, "n": 1})  # noqa: B904 (on purpose)
        except Refused as error:
            raise ProviderProtocolError(payload, provider="p") from error

    with pytest.raises(ProviderProtocolError) as caught, concealed([IMAGE], "openai"):
        work()
    cause = caught.value.__cause__

    assert isinstance(cause, Refused)
    assert cause.body == {"error": {"message": ["[content]"]}, "n": 1}
    assert payload[:40] not in "".join(traceback.format_exception(caught.value))
    assert str(caught.value) == "p: [content]"


def test_a_text_is_known_in_its_escaped_form() -> None:
    """As it stands in the body that a vendor repeats."""
    body = repr({"text": TEXT.text()})
    with pytest.raises(ProviderProtocolError) as caught, concealed([TEXT], "openai"):
        raise ProviderProtocolError(body, provider="p")

    assert str(caught.value) == "p: {'text': '[content]'}"


def test_a_message_is_bounded() -> None:
    """A vendor may repeat 20 MB; most of it is cut before it is looked through."""
    with pytest.raises(ProviderProtocolError) as caught, concealed([IMAGE], "openai"):
        raise ProviderProtocolError(b64encode(bytes(2**21)).decode(), provider="p")

    assert len(str(caught.value)) < 2000


def test_without_attachments_nothing_is_changed() -> None:
    """Long messages are whole."""
    with pytest.raises(ProviderProtocolError) as caught, concealed([], "openai"):
        raise ProviderProtocolError(IMAGE.base64(), provider="p")

    assert IMAGE.base64() in str(caught.value)


def test_log_records_tell_lengths(caplog: pytest.LogCaptureFixture) -> None:
    """While content is under way, whatever the shape of the record; not before and not after."""
    caplog.set_level(logging.DEBUG)
    logger = logging.getLogger("some_sdk._client")
    secret = "S" * 40
    with concealed([IMAGE], "some_sdk"):
        logger.debug("Options: %s", {"json": {"messages": [{"data": secret}], "n": 1}})
        logger.debug("%s then %s", [secret], ("a", secret)[1])
        logger.debug("plain")

    assert secret not in caplog.text
    assert "Options: {'json': {'messages': [{'data': '[40 characters]'}], 'n': 1}}" in caplog.text
    assert "['[40 characters]'] then [40 characters]" in caplog.text
    logger.debug("later: %s", secret)
    assert secret in caplog.text
