#!/usr/bin/env python3
"""All three kinds of the exec protocol, in Python alone; the programs beside it do the same."""

import json
import sys


def reply(request):
    prompt, variables = request.get("prompt") or {}, request["vars"]
    messages = prompt.get("messages") or [{"content": variables.get("user_input", "")}]
    text = prompt.get("text", messages[-1]["content"])
    if variables.get("fail"):
        error = {
            "message": "slow down",
            "retriable": True,
            "details": {"limit": 5},
            "class": variables["fail"],
            "retry_after_ms": 20,
        }
        return {"output": None, "error": error}
    if request.get("tools") and text.startswith("call "):
        call = {"id": "c1", "name": request["tools"][0]["name"], "arguments": {"text": text[5:]}}
        return {
            "output": "",
            "stop_reason": "tool_use",
            "empty_reason": "tool_use_only",
            "tool_calls": [call],
        }
    if "schema" in request["params"]:
        return {"output": {"value": text.split(" ")}, "stop_reason": "end_turn"}
    return {
        "output": f"{request['test']['id']}: {text}",
        "stop_reason": "end_turn",
        "model": "python-1",
        "usage": {
            "input_tokens": len(text.split(" ")),
            "output_tokens": 2,
            "cache_read_tokens": 3,
        },
    }


def check(request):
    needle = (request["config"] or {}).get("needle", "")
    output = request["output"]
    text = output if isinstance(output, str) else json.dumps(output)
    if needle in text:
        return {"pass": True, "score": 1.0, "reason": "found"}
    return {"pass": False, "score": 0.25, "reason": f"no {needle}", "details": {"needle": needle}}


def generate(request):
    config = request["config"] or {}
    made = [{"id": f"word/{w}", "vars": {"user_input": w}} for w in config.get("words", [])]
    return made if config.get("lines") else {"tests": made}


request = json.load(sys.stdin)
kind = request["domarinn"]["kind"]
document = {"provider": reply, "assert": check, "generate_tests": generate}[kind](request)
for line in document if isinstance(document, list) else [document]:
    print(json.dumps(line))
