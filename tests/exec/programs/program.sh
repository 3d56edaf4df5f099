#!/usr/bin/env bash
# All three kinds of the exec protocol, in bash and jq; the programs beside it do the same.
set -euo pipefail

if [ "${DOMARINN_PROTOCOL:-}" != 1 ]; then
  echo "DOMARINN_PROTOCOL is not 1" >&2
  exit 1
fi
request=$(cat)
ask() { jq -c "$@" <<<"$request"; }

case $(ask -r .domarinn.kind) in
provider)
  ask '
    (.prompt.text // .prompt.messages[-1].content // .vars.user_input // "") as $text
    | if .vars.fail then
        {output: null, error: {message: "slow down", retriable: true,
                               details: {limit: 5}, class: .vars.fail, retry_after_ms: 20}}
      elif .tools and ($text | startswith("call ")) then
        {output: "", stop_reason: "tool_use", empty_reason: "tool_use_only",
         tool_calls: [{id: "c1", name: .tools[0].name, arguments: {text: $text[5:]}}]}
      elif .params.schema then
        {output: {value: ($text / " ")}, stop_reason: "end_turn"}
      else
        {output: "\(.test.id): \($text)", stop_reason: "end_turn", model: "bash-1",
         usage: {input_tokens: ($text / " " | length), output_tokens: 2, cache_read_tokens: 3}}
      end'
  ;;
assert)
  ask '
    (.config.needle // "") as $needle
    | (.output | if type == "string" then . else tojson end) as $text
    | if $text | contains($needle) then {pass: true, score: 1.0, reason: "found"}
      else {pass: false, score: 0.25, reason: "no \($needle)", details: {needle: $needle}} end'
  ;;
generate_tests)
  if [ "$(ask '.config.lines // false')" = true ]; then
    ask '.config.words[]? | {id: "word/\(.)", vars: {user_input: .}}'
  else
    ask '{tests: [.config.words[]? | {id: "word/\(.)", vars: {user_input: .}}]}'
  fi
  ;;
esac
