"""How the page of a cassette looks: one style sheet, light and dark, wide and narrow."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #22252a; --soft: #666c76; --line: #e4e1d9;
  --accent: #a34a12; --user: #eef3fb; --user-edge: #3c68ae; --reply: #eef7f0; --reply-edge: #2c7a4b;
  --error: #fcefee; --error-edge: #c0453b; --code: #f5f3ee;
  --del: #fde8e6; --del-mark: #f6bdb7; --ins: #e3f4e6; --ins-mark: #aadfb5; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #16181c; --card: #1e2126; --ink: #e3e4e6; --soft: #9aa1ac; --line: #33373f;
  --accent: #f0a36b; --user: #1f2a3b; --user-edge: #6f9be0; --reply: #1c2d24; --reply-edge: #5cb583;
  --error: #3a2222; --error-edge: #e27a70; --code: #24272d;
  --del: #3b2223; --del-mark: #7a3a38; --ins: #1c3324; --ins-mark: #2f6b41; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  -webkit-text-size-adjust: 100%; }
.page { max-width: 54rem; margin: 0 auto; padding: 2.5rem 1.5rem 5rem; }
.page.wide { max-width: 80rem; }
h1, h2, h3 { line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; }
h3 { font-size: .78rem; font-weight: 600; color: var(--soft); letter-spacing: .02em; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
.summary { margin: .5rem 0 0; color: var(--soft); }
nav { margin: 1.75rem 0 2.5rem; border-top: 1px solid var(--line); }
nav ol { list-style: none; margin: 0; padding: 0; }
nav li { border-bottom: 1px solid var(--line); }
nav a { display: grid; grid-template-columns: minmax(11rem, 1fr) 1.5fr; gap: 0 1.25rem;
  padding: .55rem .25rem; color: inherit; }
nav a:hover { background: var(--code); text-decoration: none; }
nav .site { color: var(--accent); font-weight: 500; overflow-wrap: anywhere; }
nav .said { color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
  padding: 1.4rem 1.5rem 1.5rem; margin: 0 0 1.75rem; }
article > header { margin-bottom: 1rem; }
.meta { display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin-top: .55rem; font-size: .82rem; }
.tag { background: var(--code); border-radius: .4rem; padding: .1rem .5rem; color: var(--soft);
  overflow-wrap: anywhere; }
.tag b { color: var(--ink); font-weight: 600; }
details { margin: .6rem 0; font-size: .9rem; }
summary { cursor: pointer; color: var(--soft); width: fit-content; }
details > pre { margin-top: .5rem; }
section { margin: .9rem 0 0; }
.turn { border-left: 3px solid var(--line); padding: .15rem 0 .15rem .95rem; }
.turn.said { border-radius: 0 .5rem .5rem 0; padding: .6rem .95rem .7rem; }
.turn.user { background: var(--user); border-color: var(--user-edge); }
.turn.user h3 { color: var(--user-edge); }
.turn.answer, .turn.assistant { background: var(--reply); border-color: var(--reply-edge); }
.turn.answer h3, .turn.assistant h3 { color: var(--reply-edge); }
.turn.error { background: var(--error); border-color: var(--error-edge); }
.turn.error h3 { color: var(--error-edge); }
.turn.tool { background: var(--code); }
.text { margin: .2rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.text.mono { font: .84rem/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.text:empty { display: none; }
pre { margin: .25rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4;
  font: .86rem/1.55 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
details > pre, .turn.context pre { background: var(--code); padding: .6rem .8rem;
  border-radius: .4rem; }
.facts { margin: .45rem 0 0; color: var(--soft); font-size: .8rem; }
.key { float: right; color: var(--soft); margin-left: 1rem;
  font: .72rem ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
section:target, article:target { outline: 2px solid var(--accent); outline-offset: 3px; }
.part { margin: 1.1rem 0 0; }
.sides { display: grid; grid-template-columns: 1fr 1fr; margin-top: .35rem; overflow: hidden;
  border: 1px solid var(--line); border-radius: .5rem; }
.sides > div { padding: .1rem .75rem .1rem 1.5rem; min-height: 1.6em; position: relative;
  white-space: pre-wrap; overflow-wrap: anywhere; min-width: 0; font-size: .92rem; }
.sides.mono > div { font: .84rem/1.55 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; }
.sides > .new { border-left: 1px solid var(--line); }
.sides > .head, .sides.mono > .head { color: var(--soft);
  font: 600 .78rem/1.6 system-ui, sans-serif;
  background: var(--code); padding-left: .75rem; }
.sides > .del { background: var(--del); }
.sides > .ins { background: var(--ins); }
.sides > .fold, .sides.mono > .fold { grid-column: 1 / -1; text-align: center; color: var(--soft);
  background: var(--code); font: .78rem/1.8 system-ui, sans-serif; padding: 0 .75rem; }
.sides > .none { background: var(--code); }
.del::before, .ins::before { position: absolute; left: .55rem; color: var(--soft); }
.del::before { content: "\\2212"; }
.ins::before { content: "+"; }
.del mark { background: var(--del-mark); } .ins mark { background: var(--ins-mark); }
mark { color: inherit; border-radius: .2rem; padding: 0 .08em; }
.unchanged { margin: 1rem 0 0; color: var(--soft); font-size: .85rem; }
.group { margin: 2.5rem 0 1rem; }
footer { color: var(--soft); font-size: .8rem; margin-top: 3rem; }
@media (max-width: 40rem) {
  .page { padding: 1.5rem .9rem 3rem; }
  article { padding: 1.1rem .9rem 1.1rem; border-radius: .6rem; }
  nav a { grid-template-columns: minmax(0, 1fr); }
  .sides { grid-template-columns: minmax(0, 1fr); }
  .sides > .new { border-left: 0; }
  .sides > .new.same, .sides > .none, .sides > .head, .sides.mono > .head { display: none; } }
@media print { article { break-inside: avoid; border-color: #ccc; } nav { display: none; } }
"""
