#!/usr/bin/env node
// A host of providers in node: host.js TEXT COMMAND…; prints the output.
"use strict";

const [text, command, ...rest] = process.argv.slice(2);
const request = {
  domarinn: { protocol: 1, kind: "provider" }, prompt: { text }, vars: {}, params: {},
  test: { id: "t", tags: [] },
};
const child = require("node:child_process").spawnSync(command, rest, {
  input: JSON.stringify(request), encoding: "utf8", stdio: ["pipe", "pipe", "inherit"],
  env: { ...process.env, DOMARINN_PROTOCOL: "1" },
});
if (child.status !== 0) process.exit(1);
console.log(JSON.parse(child.stdout).output);
