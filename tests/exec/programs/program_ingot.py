#!/usr/bin/env python3
"""All three kinds of the exec protocol, with ingot; the programs beside it do the same."""

import json

from ingot.exec import Call, Failure, ProviderReply, Tokens, serve


@serve.provider
def reply(request):
    if request.vars.get("fail"):
        failure = Failure(
            message="slow down",
            retriable=True,
            details={"limit": 5},
            error_class=request.vars["fail"],
            retry_after_ms=20,
        )
        return ProviderReply(output=None, error=failure)
    if request.tools and request.text.startswith("call "):
        call = Call(id="c1", name=request.tools[0].name, arguments={"text": request.text[5:]})
        return ProviderReply(
            output="",
            stop_reason="tool_use",
            empty_reason="tool_use_only",
            tool_calls=(call,),
        )
    if "schema" in request.params:
        return {"value": request.text.split(" ")}
    words = len(request.text.split(" "))
    return ProviderReply(
        output=f"{request.test.id}: {request.text}",
        stop_reason="end_turn",
        model="ingot-1",
        usage=Tokens(input_tokens=words, output_tokens=2, cache_read_tokens=3),
    )


@serve.assert_
def check(request):
    needle = (request.config or {}).get("needle", "")
    text = request.output if isinstance(request.output, str) else json.dumps(request.output)
    if needle in text:
        return {"pass": True, "score": 1.0, "reason": "found"}
    return {"pass": False, "score": 0.25, "reason": f"no {needle}", "details": {"needle": needle}}


@serve.generate
def generate(request):
    for word in (request.config or {}).get("words", []):
        yield {"id": f"word/{word}", "vars": {"user_input": word}}


serve()
