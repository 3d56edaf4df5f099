#!/usr/bin/env bash
# A host of providers in bash and jq: host.sh TEXT COMMAND…; prints the output.
set -euo pipefail

text=$1
shift
export DOMARINN_PROTOCOL=1
jq -nc --arg text "$text" '
  {domarinn: {protocol: 1, kind: "provider"}, prompt: {text: $text}, vars: {}, params: {},
   test: {id: "t", tags: []}}' | "$@" | jq -r .output
