#!/usr/bin/env python3
"""A host of providers, in Python alone: host.py TEXT COMMAND…; prints the output."""

import json
import os
import subprocess
import sys

text, *command = sys.argv[1:]
request = {
    "domarinn": {"protocol": 1, "kind": "provider"},
    "prompt": {"text": text},
    "vars": {},
    "params": {},
    "test": {"id": "t", "tags": []},
}
done = subprocess.run(
    command,
    input=json.dumps(request),
    stdout=subprocess.PIPE,
    check=True,
    text=True,
    env={**os.environ, "DOMARINN_PROTOCOL": "1"},
)
print(json.loads(done.stdout)["output"])
