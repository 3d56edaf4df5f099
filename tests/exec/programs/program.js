#!/usr/bin/env node
// All three kinds of the exec protocol, in node; the programs beside it do the same.
"use strict";

const request = JSON.parse(require("node:fs").readFileSync(0, "utf8"));

function reply({ prompt, vars, params, test, tools }) {
  const text = prompt?.text ?? prompt?.messages?.at(-1).content ?? vars.user_input ?? "";
  if (vars.fail) {
    const error = {
      message: "slow down", retriable: true, details: { limit: 5 }, class: vars.fail,
      retry_after_ms: 20,
    };
    return { output: null, error };
  }
  if (tools && text.startsWith("call ")) {
    const call = { id: "c1", name: tools[0].name, arguments: { text: text.slice(5) } };
    return {
      output: "", stop_reason: "tool_use", empty_reason: "tool_use_only", tool_calls: [call],
    };
  }
  if (params.schema) return { output: { value: text.split(" ") }, stop_reason: "end_turn" };
  const usage = {
    input_tokens: text.split(" ").length, output_tokens: 2, cache_read_tokens: 3,
  };
  return { output: `${test.id}: ${text}`, stop_reason: "end_turn", model: "node-1", usage };
}

function check({ output, config }) {
  const needle = config?.needle ?? "";
  const text = typeof output === "string" ? output : JSON.stringify(output);
  if (text.includes(needle)) return { pass: true, score: 1.0, reason: "found" };
  return { pass: false, score: 0.25, reason: `no ${needle}`, details: { needle } };
}

function generate({ config }) {
  const made = (config?.words ?? []).map((w) => ({ id: `word/${w}`, vars: { user_input: w } }));
  if (!config?.lines) return JSON.stringify({ tests: made });
  return made.map((test) => JSON.stringify(test)).join("\n");
}

switch (request.domarinn.kind) {
  case "provider": console.log(JSON.stringify(reply(request))); break;
  case "assert": console.log(JSON.stringify(check(request))); break;
  case "generate_tests": console.log(generate(request)); break;
}
