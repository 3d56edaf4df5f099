"""The child's end: what handlers return and raise becomes the right document or exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ingot import Answer, Response, Usage, errors
from ingot._json import Unreadable
from ingot.exec.child import Child
from ingot.exec.child_prompt import conversation
from ingot.exec.wire import (
    AssertReply,
    GenerateReply,
    ProviderReply,
    ProviderRequest,
    Tokens,
    read_request,
)
from ingot.provider import Message, ToolCall, ToolResult

ROOT = Path(__file__).resolve().parents[2]
PROVIDER = {"domarinn": {"protocol": 1, "kind": "provider"}, "test": {"id": "t"}}
ASSERT = {
    "domarinn": {"protocol": 1, "kind": "assert"},
    "output": "said",
    "test": {"id": "t"},
    "provider": {"id": "p"},
}
GENERATE = {"domarinn": {"protocol": 1, "kind": "generate_tests"}}


def raising(error: BaseException) -> Any:
    def handler(request: Any) -> None:
        raise error

    return handler


def answered(child: Child, request: dict[str, Any]) -> Any:
    return json.loads(child.answer(json.dumps(request)))


@dataclass
class Point:
    x: int
    day: date


# Providers

OUTPUTS: list[tuple[Any, dict[str, Any]]] = [
    ("text", {"output": "text"}),
    ("", {"output": ""}),
    ({"b": [1, 2.5, None], "a": True}, {"output": {"b": [1, 2.5, None], "a": True}}),
    (Point(1, date(2024, 2, 29)), {"output": {"x": 1, "day": "2024-02-29"}}),
    ([Point(1, date(2024, 2, 29))], {"output": [{"x": 1, "day": "2024-02-29"}]}),
    ((1, 2), {"output": [1, 2]}),
    (ProviderReply(output=None, model="m"), {"output": None, "model": "m"}),
    (
        ProviderReply(output="a", usage=Tokens(input_tokens=1, cache_read_tokens=2)),
        {
            "output": "a",
            "usage": {"input_tokens": 1, "output_tokens": 0, "cache_read_tokens": 2},
        },
    ),
    (
        Response(
            text="hm",
            usage=Usage(input_tokens=3, output_tokens=1, cache_write_tokens=4),
            stop_reason="length",
            empty_reason="truncated",
            model="m-1",
            request_id="r",
        ),
        {
            "output": "hm",
            "usage": {"input_tokens": 3, "output_tokens": 1, "cache_write_tokens": 4},
            "metadata": {"request_id": "r"},
            "stop_reason": "length",
            "empty_reason": "truncated",
            "model": "m-1",
        },
    ),
    (
        Response(explanation="No.", cost=Decimal("0.25"), empty_reason="refusal"),
        {"output": "No.", "cost_usd": 0.25, "empty_reason": "refusal"},
    ),
    (
        Response(
            tool_calls=(
                ToolCall(id="c", name="f", arguments='{"n": 1.50}'),
                ToolCall(id="d", name="g", arguments=""),
                ToolCall(id="e", name="h", arguments="{oops"),
            ),
            empty_reason="tool_use_only",
        ),
        {
            "output": "",
            "empty_reason": "tool_use_only",
            "tool_calls": [
                {"id": "c", "name": "f", "arguments": {"n": 1.5}},
                {"id": "d", "name": "g", "arguments": {}},
                {"id": "e", "name": "h", "arguments": {"unreadable": "{oops"}},
            ],
        },
    ),
    (
        Answer(
            value=Point(1, date(2024, 2, 29)),
            model="local/m",
            usage=Usage(input_tokens=3, output_tokens=1),
            turns=(Response(text="{}", stop_reason="stop"),),
        ),
        {
            "output": {"x": 1, "day": "2024-02-29"},
            "usage": {"input_tokens": 3, "output_tokens": 1},
            "stop_reason": "stop",
            "model": "local/m",
        },
    ),
]


@pytest.mark.parametrize(("result", "document"), OUTPUTS)
def test_what_a_provider_returns(result: Any, document: dict[str, Any]) -> None:
    """Any value is an output; what knows more says more."""
    child = Child()
    child.provider(lambda request: result)

    assert answered(child, PROVIDER) == document


FAILURES: list[tuple[errors.IngotError, dict[str, Any]]] = [
    (
        errors.ProviderRateLimitError("slow down", retry_after=1.5),
        {"retriable": True, "class": "provider_rate_limit", "retry_after_ms": 1500},
    ),
    (errors.ProviderAuthError("who?"), {"retriable": False, "class": "provider_auth"}),
    (errors.ProviderTimeoutError("late"), {"retriable": True, "class": "provider_timeout"}),
    (errors.ProviderUnavailableError("away"), {"retriable": True, "class": "provider_unavailable"}),
    (errors.ProviderProtocolError("what?"), {"retriable": False, "class": "provider_protocol"}),
    (errors.NotConfiguredError("no key"), {"retriable": False, "class": "not_configured"}),
    (
        errors.MismatchedAnswerError([errors.Problem(("a", 0), "expected `int`")], target="T"),
        {
            "retriable": False,
            "details": {"problems": [{"path": ["a", 0], "message": "expected `int`"}]},
            "class": "invalid_answer",
        },
    ),
]


@pytest.mark.parametrize(("error", "said"), FAILURES, ids=lambda v: type(v).__name__)
def test_what_an_error_of_ingot_says(error: errors.IngotError, said: dict[str, Any]) -> None:
    """The host learns the class, whether to try again and when; whatever there is no answer for."""
    child = Child()
    child.provider(raising(error))

    assert answered(child, PROVIDER) == {
        "output": None,
        "error": {"message": str(error), **said},
    }


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errors.RefusedError("no"), "refusal"),
        (errors.ContentFilteredError(), "content_filter"),
        (errors.TruncatedError(16, text="half an answ", stop_reason="length"), "truncated"),
        (errors.EmptyAnswerError("thinking_only"), "thinking_only"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_no_answer_is_an_empty_output(error: errors.AnswerError, reason: str) -> None:
    """A partial answer is none; why there is none is told in the protocol's words."""
    error.usage = Usage(input_tokens=2, output_tokens=16)
    child = Child()
    child.provider(raising(error))

    document = answered(child, PROVIDER)

    assert (document["output"], document["empty_reason"]) == (None, reason)
    assert document["usage"] == {"input_tokens": 2, "output_tokens": 16}
    assert document.get("stop_reason") == error.stop_reason


# Asserts and generators


@pytest.mark.parametrize(
    ("result", "document"),
    [
        (True, {"pass": True}),
        (False, {"pass": False}),
        ({"pass": True, "score": 1}, {"pass": True, "score": 1.0}),
        ({"pass": False, "details": {"at": [1]}}, {"pass": False, "details": {"at": [1]}}),
        (AssertReply(passed=False, reason="no"), {"pass": False, "reason": "no"}),
    ],
)
def test_what_an_assert_returns(result: Any, document: dict[str, Any]) -> None:
    """A bool is a verdict, an object says more."""
    child = Child()
    child.assert_(lambda request: result)

    assert answered(child, ASSERT) == document


def test_an_assertion_is_a_verdict() -> None:
    """Its message is the reason."""
    child = Child()
    child.assert_(raising(AssertionError("too long")))

    assert answered(child, ASSERT) == {"pass": False, "reason": "too long"}


def test_an_assertion_without_a_message(tmp_path: Path) -> None:
    """The line that does not hold is the reason."""
    program = tmp_path / "check.py"
    program.write_text(
        "from ingot.exec import serve\n"
        "@serve.assert_\n"
        "def check(request):\n"
        "    assert request.output == 'else'\n"
        "    return True\n"
        "serve()\n"
    )
    done = run(f"exec(compile(open({str(program)!r}).read(), {str(program)!r}, 'exec'))", ASSERT)

    assert json.loads(done.stdout) == {"pass": False, "reason": "assert request.output == 'else'"}


@pytest.mark.parametrize("result", [None, 1, 0.5, "yes", [], ()])
def test_what_is_no_verdict_does_not_pass(result: Any) -> None:
    """A handler that forgets to judge, or says something else, is a fault of the program."""
    child = Child()
    child.assert_(lambda request: result)

    with pytest.raises(TypeError, match="return True or False"):
        answered(child, ASSERT)


@pytest.mark.parametrize("result", [{}, {"pass": 1}, {"passed": True}, {"score": 1.0}])
def test_an_object_that_is_no_verdict_does_not_pass(result: Any) -> None:
    """Its `pass` must be there, and a bool."""
    child = Child()
    child.assert_(lambda request: result)

    with pytest.raises(Unreadable, match="`pass`"):
        answered(child, ASSERT)


@pytest.mark.parametrize(
    "result", [[{"id": "a"}], ({"id": "a"},), GenerateReply(tests=({"id": "a"},))]
)
def test_what_a_generator_returns(result: Any) -> None:
    """Cases, as any iterable."""
    child = Child()
    child.generate(lambda request: result)

    assert answered(child, GENERATE) == {"tests": [{"id": "a"}]}


def test_a_generator_may_yield() -> None:
    """It reads best so."""
    child = Child()

    @child.generate
    def cases(request: Any) -> Any:
        for word in request.config["words"]:
            yield {"vars": {"word": word, "day": date(2024, 2, 29)}}

    assert answered(child, {**GENERATE, "config": {"words": ["a"]}}) == {
        "tests": [{"vars": {"word": "a", "day": "2024-02-29"}}]
    }


@pytest.mark.parametrize("result", [None, "text", {"tests": []}, 3])
def test_what_is_no_list_of_cases(result: Any) -> None:
    """It is the program's fault, not an empty list."""
    child = Child()
    child.generate(lambda request: result)

    with pytest.raises(TypeError, match="return a list of test cases"):
        answered(child, GENERATE)


def test_a_provider_that_returns_nothing_is_told() -> None:
    """A forgotten `return` is no empty answer."""
    child = Child()
    child.provider(lambda request: None)

    with pytest.raises(TypeError, match="returned None"):
        answered(child, PROVIDER)


def test_handlers_may_be_async() -> None:
    """They are run to their end."""
    child = Child()

    @child.provider
    async def reply(request: ProviderRequest) -> str:
        return request.test.id

    assert answered(child, PROVIDER) == {"output": "t"}


def test_decorators_return_the_handler() -> None:
    """So that it can be called in tests of its own."""
    child = Child()

    def handler(request: Any) -> str:
        return ""

    assert child.provider(handler) is child.assert_(handler) is child.generate(handler) is handler


# Requests


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ("", "expecting value"),
        ("nope", "expecting value"),
        ("[1]", "an object"),
        ("{}", "missing field `domarinn`"),
        (json.dumps(PROVIDER) + "{}", "extra data"),
        ('{"domarinn": {"protocol": 2, "kind": "provider"}, "test": {"id": ""}}', "protocol 2"),
        ('{"domarinn": {"protocol": 1, "kind": "other"}}', "`generate_tests`"),
        (json.dumps(ASSERT), "asked as `assert`, and answers: generate_tests, provider"),
        ('{"domarinn": {"protocol": 1, "kind": "provider"}}', "missing field `test`"),
    ],
)
def test_requests_that_cannot_be_answered(request_: str, said: str) -> None:
    """They are told apart from handlers that fail."""
    child = Child()
    child.provider(lambda request: "")
    child.generate(lambda request: [])

    with pytest.raises(Unreadable, match=f"(?i){said}"):
        child.answer(request_)


def said(prompt: Any, **more: Any) -> Any:
    request = read_request(json.dumps({**PROVIDER, "prompt": prompt, **more}))
    assert isinstance(request, ProviderRequest)
    return conversation(request), request.text


def test_a_prompt_of_text() -> None:
    """It is the first turn, and the last."""
    talk, text = said({"text": "hi"}, vars={"user_input": "ignored"})

    assert (talk.system, talk.prompt, talk.messages, text) == (None, "hi", (), "hi")


def test_no_prompt() -> None:
    """Hosts without prompts put the question into the variable `user_input`."""
    assert said(None, vars={"user_input": "hi"})[1] == "hi"


def test_a_prompt_of_messages() -> None:
    """Turns of tools become results of one turn, and thinking is left out."""
    talk, text = said(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Add"},
                        {"type": "thinking", "thinking": "?"},
                        {"type": "text", "text": "."},
                    ],
                },
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {"id": "c1", "name": "add", "arguments": {"a": 1}},
                        {"name": "sub", "arguments": {}},
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "3"},
                {"role": "tool", "tool_call_id": "call_2", "content": "4"},
                {"role": "developer", "content": "Now."},
                {"role": "user", "content": "And?"},
            ]
        }
    )

    assert (talk.system, talk.prompt, text) == ("Be brief.\n\nNow.", "Add.", "And?")
    assert talk.messages == (
        Message(
            role="assistant",
            tool_calls=(
                ToolCall(id="c1", name="add", arguments='{"a": 1}'),
                ToolCall(id="call_2", name="sub", arguments="{}"),
            ),
        ),
        Message(
            role="user",
            tool_results=(ToolResult(id="c1", text="3"), ToolResult(id="call_2", text="4")),
        ),
        Message(role="user", text="And?"),
    )


@pytest.mark.parametrize(
    ("prompt", "fault"),
    [
        (None, "neither a prompt"),
        ("hi", "in field `prompt`: expected an object"),
        ({}, "in field `prompt`: missing field `text`"),
        ({"text": 1}, "in field `text`: expected a string"),
        ({"messages": []}, "the first message"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "the first message"),
        ({"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}, "the first"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "in field `role`: expected"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "a block of `text`"),
        ({"messages": [{"role": "user"}]}, "missing field `content`"),
    ],
)
def test_prompts_that_say_nothing(prompt: Any, fault: str) -> None:
    """Nothing of a prompt is dropped in silence."""
    with pytest.raises(Unreadable, match=fault):
        said(prompt, vars={"question": "hi"})


# Pipes

NOISY = """
import os, sys
from ingot.exec import serve

print("before")

@serve.provider
def reply(request):
    print("noise")
    os.write(1, b"raw\\n")
    os.system("echo deeper")
    return request.text + str(sys.stdin.read())

serve()
print("after")
"""


def run(code: str, request: Any, **named: Any) -> subprocess.CompletedProcess[bytes]:
    sent = request if isinstance(request, bytes) else json.dumps(request).encode()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    environment.pop("PYTHONUNBUFFERED", None)
    return subprocess.run(
        [sys.executable, "-c", code],
        input=sent,
        capture_output=True,
        check=False,
        env=environment,
        timeout=60,
        **named,
    )


def test_stdout_belongs_to_the_document() -> None:
    """What a handler prints, in Python, below it and in programs it starts, goes to stderr."""
    done = run(NOISY, {**PROVIDER, "prompt": {"text": "grün"}})

    assert done.stdout == '{"output":"grün"}\n'.encode()
    assert sorted(done.stderr.decode().split()) == ["after", "before", "deeper", "noise", "raw"]
    assert done.returncode == 0


def test_handlers_may_be_passed() -> None:
    """`serve(provider=…, assert_=…, generate=…)` is the other way to name them."""
    code = (
        "from ingot.exec import serve\nserve(assert_=lambda r: r.output == 'said', generate=list)"
    )
    done = run(code, ASSERT)

    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"pass":true}\n', b"")


@pytest.mark.parametrize(
    ("body", "request_", "code", "told"),
    [
        ("return 1 / 0", PROVIDER, 1, b"ZeroDivisionError: division by zero"),
        ("return float('nan')", PROVIDER, 1, b"ValueError"),
        ("return b''.hex", PROVIDER, 1, b"TypeError: JSON has no form for it"),
        ("raise SystemExit(7)", PROVIDER, 7, b""),
        ("raise KeyboardInterrupt", PROVIDER, 130, b""),
        ("return ''", b"\xff", 2, b"error: the request is not UTF-8 (at byte 0)"),
        ("return ''", b"\xef\xbb\xbf{}", 2, b"error: "),
        ("return ''", {}, 2, b"error: missing field `domarinn`"),
        ("return ''", GENERATE, 2, b"and answers: provider"),
    ],
)
def test_what_has_no_document_has_an_exit_code(
    body: str, request_: Any, code: int, told: bytes
) -> None:
    """1 for a handler that fails, 2 for a request that cannot be answered; the rest on stderr."""
    program = (
        f"from ingot.exec import serve\n@serve.provider\ndef reply(request):\n    {body}\nserve()"
    )
    done = run(program, request_)

    assert (done.returncode, done.stdout) == (code, b"")
    assert told in done.stderr


def test_an_error_of_ingot_in_an_assert_is_no_verdict() -> None:
    """Only providers tell the host of errors; an assert that cannot judge fails."""
    code = """
from ingot.exec import serve
from ingot.errors import NotConfiguredError
@serve.assert_
def check(request):
    raise NotConfiguredError("no key")
serve()
"""
    done = run(code, ASSERT)

    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"error: no key\n")


def test_a_host_that_is_gone() -> None:
    """The program ends, with 1 and without a traceback."""
    code = """
import os
from ingot.exec import serve
serve(provider=lambda request: "x" * 1_000_000)
"""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(PROVIDER).encode(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    os.close(writer)

    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)


def test_a_child_starts_light() -> None:
    """A program is started for each request: what it does not need, it does not load."""
    code = """
import sys
from ingot.exec import serve
serve(provider=lambda request: sys.stderr.write(repr(sorted(sys.modules.keys() & {
    "pydantic", "pydantic_core", "asyncio", "subprocess", "tenacity", "typer"}))) and "" or "x")
"""
    done = run(code, PROVIDER)

    assert (done.stdout, done.stderr) == (b'{"output":"x"}\n', b"[]")
