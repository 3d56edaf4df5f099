"""What must never be written to a recording."""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import accumulate, chain, groupby, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import quote, quote_plus, unquote

from ingot._problem import Problem
from ingot.cassette.redaction import Redaction, compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Finding", "Redaction", "Scanner"]

_Path: TypeAlias = tuple[str | int, ...]
_ARRAY = (list, tuple)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PREFIXES = _set(
    # The seed's scanner looks for the first five, and for AIza; those are found in any case.
    "sk- sk_live_ ghp_ github_pat_ xoxb- sk_ rk_live_ rk_test_ whsec_ gho_ ghu_ ghs_ ghr_ glpat-"
    " gldt- glrt- glptt- xoxa- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- hf_ npm_ pypi- ya29."
    " GOCSPX- gsk_ xai- r8_ pplx- nvapi- tgp_v1_ fw_ csk- jina_ tvly- lsv2_pt_ lsv2_sk_ pcsk_"
    " wandb_v1_ sbp_ figd_ sb_secret_ sntrys_ sntryu_ shpat_ shpss_ shpca_ shppa_ dop_v1_ doo_v1_"
    " dor_v1_ lin_api_ SG. dckr_pat_ hvs. hvb. NRAK- PMAK- rubygems_ tskey- AGE-SECRET-KEY-"
    " hooks.slack.com/services/"
)
_ANY_CASE = _set("sk- sk_live_ ghp_ github_pat_ xoxb-")
_AWS_PREFIXES = ("AKIA", "ASIA", "ABIA", "ACCA")
_BARE = re.compile("[ADad](?:(?<=A)(?:I(?:za|ZA)|TATT3|KIA|SIA|BIA|CCA)|(?<=a)iza|(?<=d)api)")
"""Those that do not end with a sign."""


def _tail(prefix: str) -> str:
    return prefix[-2:]


def _ended(prefix: str) -> str:
    case = "(?i:" if prefix in _ANY_CASE else "(?:"
    return f"(?<=({case}{re.escape(prefix)})))"


_LONGEST_FIRST = sorted(_PREFIXES, key=lambda prefix: (_tail(prefix), -len(prefix), prefix))
_BY_TAIL = [(tail, [*group]) for tail, group in groupby(_LONGEST_FIRST, key=_tail)]
_MARK = re.compile(
    rf"[-_./](?<=[{''.join(tail[0] + tail[0].upper() for tail, _ in _BY_TAIL)}].)(?:"
    + "|".join(
        f"(?<=(?i:{re.escape(tail)}))(?:{'|'.join(map(_ended, group))})" for tail, group in _BY_TAIL
    )
    + ")"
)
"""A prefix that was just passed; it looks back so that most of a text is skipped quickly."""

_REST = re.compile(r"[A-Za-z0-9_/-]*(?:\n[ \t]{0,8}[A-Za-z0-9_/-]+){0,4}")
_AWS = re.compile(r"(?:[A-Z0-9](?:\n[ \t]{0,8})?){16}(?![A-Za-z0-9])")
_JWT = re.compile(r"(?<![A-Za-z0-9_-])(?:(?<=\\)n)?eyJ[\w-]{8,}[.]eyJ[\w-]{8,}[.]")
_START = re.compile(r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|[^A-Za-z0-9])\Z")
_PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PUTTY = re.compile(r"Private-Lines: \d+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}")
_URL = re.compile(r"""://[^\s:/@"'<>\0]{0,64}:(?P<password>[^\s/@"'<>\0]{4,128})@""")
_TELEGRAM = re.compile(r":AA[A-Za-z0-9_-]{32,34}(?![\w-])")

_OPAQUE = r"""\\?(?P<quote>["'`]{0,3})(?P<text>[^\s"'`<>,;(){}\[\]=:&\\\0]{16,}+={0,2})(?![(\[])"""
_ASSIGNED = re.compile(
    r"[=:>srRcC](?:(?<=[=:>])\s{0,12}(?:[|>]\s{1,12})?|(?P<scheme>(?<=[Bb]earer)|(?<=BEARER)"
    rf"|(?<=[Bb]asic)|(?<=BASIC)|(?<=\bis))\s{{1,4}}){_OPAQUE}"
)
_FLAG = re.compile(rf"--(?P<name>\w[\w-]{{0,40}})\s{{1,4}}{_OPAQUE}")
_NAME = re.compile(
    r"""(?!>["'])[|=:>\s]{0,9}(?:si\s)?\0?[]"'`)\\]{0,4}"""
    r"(?P<name>[\w.-]{2,48}(?: [A-Za-z]{2,12}(?![\w-]))?)"
)
"""It reads backwards, from what is assigned to the name that it is assigned to."""

_PIECE = re.compile(r'(?:\A|\0(?:\n|: "))([^\0]*)')

_PLACEHOLDER = re.compile(
    r"^[<{%\[]|^\$(?:[({]|[A-Z_][A-Z0-9_]*$|[a-z_]+$)|[.]{3}|…|x{4}|X{4}|[*]{3}"
    r"|(?i:your[_-]|placeholder|redacted|change_?me)"
)
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}|(?<![A-Za-z0-9])[0-9]{1,4}(?![A-Za-z0-9])")
_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HINT = re.compile(r"(?i)pass|pwd|secret|token|cred|key|auth|pat|dsn|cookie|jwt")
_PATH = re.compile(r"(?:~|[.]{1,2}|[A-Za-z]:)?[/\\]")


_SECRET_WORDS = _set(
    "password passwd pwd pass passphrase passcode secret secrets token credential credentials creds"
    " apikey accesskey secretkey privatekey authkey authtoken auth authorization pat dsn cookie jwt"
)
_SECRET_ENDS = ("password", "passwd", "secret", "token", "apikey")
_QUALIFIERS = _set(
    "api access secret private auth account encryption signing master subscription shared service"
    " storage admin deploy vault license app client openai anthropic gemini google mistral groq aws"
)
_HARMLESS_WORDS = _set(
    "page next prev previous continuation cursor eos bos pad unk mask sep stop max min num total"
    " public publishable tokenizer tokenizers"
)
_HARMLESS_ENDS = _set(
    "name path file dir directory host port url uri user username email type mode method count"
    " limit length size ttl expiry expires expiration hint policy version arn index usage budget"
    " prefix sock socket provider source field label server env enabled required id"
)
_COMMON = _set(
    "a an the my your our no not none null nil true false yes on off needed required test tests"
    " testing fake dummy sample example demo placeholder changeme change me here key keys api"
    " token secret password passwd pass user username admin root guest local localhost dev"
    " development prod production staging default disabled enabled undefined unset empty todo"
    " insert replace with value sk ant openai anthropic postgres mysql redis rabbitmq pw pwd"
    " auth basic bearer oauth delegated anonymous keyring keychain ollama lm studio"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One place that holds a secret; what the secret says stands nowhere in here.

    Attributes:
        path: Keys and positions that lead to it; `[hidden]` for a key that is itself secret.
        kind: What it is, such as `a bearer token`.
    """

    path: _Path
    kind: str

    def __str__(self) -> str:
        return str(Problem(self.path, self.kind))


def _opaque(text: str) -> bool:
    """Whether *text* is drawn from a hat rather than made of words and numbers."""
    if len(set(text)) < 6 or _PLACEHOLDER.search(text):
        return False
    digits = sum(map(str.isdigit, text))
    inward = sum(a.isdigit() and b.isalpha() for a, b in pairwise(text))
    if digits >= 10 or inward >= 2 or (inward and digits >= 3):
        return True
    kinds = (
        (a.islower(), a.isdigit()) != (b.islower(), b.isdigit())
        for a, b in pairwise(text)
        if a.isalnum() and b.isalnum()
    )
    worded = sum(len(word) for word in _WORD.findall(text) if word.isalpha())
    restless = 3 * sum(kinds) >= len(text)
    return worded < (0.95 if restless else 0.8) * (sum(map(str.isalnum, text)) - digits)


def _secret_name(name: str, *, variable: bool = False) -> str | None:
    """Return the word for which what is called *name* is secret, or None."""
    if not _HINT.search(name):
        return None
    words = [match.group().lower() for match in _NAME_WORD.finditer(name)]
    if not words or _HARMLESS_WORDS.intersection(words):
        return None
    if words[-1] in _HARMLESS_ENDS and not (words[-1] == "id" and {"secret", "key"} & {*words}):
        return None
    for word in words:
        if word in _SECRET_WORDS:
            return word
    for before, word in zip(["", *words], words, strict=False):
        if word in ("key", "keys", "tokens"):
            if before in _QUALIFIERS:
                return f"{before}_{word}"
            if word != "tokens" and (variable or ("_" in name and name.isupper())):
                return word
    return next((end for end in _SECRET_ENDS if any(word.endswith(end) for word in words)), None)


def _common(value: str) -> bool:
    """Whether *value* is one that tests and examples use, or is no secret by its nature."""
    if len(set(value)) < 4 or _PLACEHOLDER.search(value):
        return True
    if "://" in value:
        return _URL.search(value) is None
    if _PATH.match(value):
        return not any(len(s) >= 16 and _opaque(s) for s in re.split(r"[/\\]", value))
    return all(word in _COMMON for word in re.findall(r"[a-z]+|[0-9]{5,}|[^\W0-9_]", value.lower()))


def _squeeze(text: str) -> str:
    """Return *text* as it was before it was broken into lines."""
    return "".join(map(str.strip, text.splitlines()))


def _spellings(value: str) -> set[str]:
    """*value*, and it in base64, hexadecimal, and as part of JSON, URLs and HTML."""
    raw = value.encode("utf-8", "surrogateescape")
    found = {raw.hex(), raw.hex().upper()}
    for shift, skip in ((0, 0), (1, 2), (2, 3)):
        text = base64.b64encode(bytes(shift) + raw).decode()
        core = text[skip : (shift + len(raw)) * 8 // 6]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        found |= {once, json.dumps(once)[1:-1]}
    plain = {value, escape(value), escape(value, quote=False)}
    urls = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    lower = {re.sub("%[0-9A-F]{2}", lambda m: m.group().lower(), url) for url in urls}
    return {_squeeze(text) for text in found | plain | urls | lower}


def _needles(environ: Mapping[str, str]) -> dict[str, str]:
    """Every spelling of every secret of *environ*, with the variable that holds it."""
    found: dict[str, str] = {}
    for name, whole in environ.items():
        value = whole.strip()
        values = [unquote(m["password"]) for m in _URL.finditer(value)]
        if name not in ("PWD", "OLDPWD") and _secret_name(name, variable=True):
            values.append(value)
            if "://" not in value and not _PATH.match(value):
                values += filter(_opaque, re.findall(r"[A-Za-z0-9+/_.~-]{16,}={0,2}", value))
        for text in values:
            if len(text) >= 8 and not _common(text):
                for spelling in _spellings(text):
                    found.setdefault(spelling, name)
    return found


def _leaves(value: Any, path: _Path, before: str, found: list[tuple[_Path, str]]) -> None:
    """
    Append all texts of *value* to *found* in order, each after *before*.

    A text ends with NUL, which no rule reaches across; its lines end with a newline.
    """
    if isinstance(value, str):
        found.append((path, f"{before}{value}\0\n"))
    elif isinstance(value, _ARRAY):
        items = cast("Sequence[Any]", value)
        lines = bool(items) and all(isinstance(item, str) for item in items)
        pair = len(items) == 2 and isinstance(items[0], str) and " " not in items[0]
        pair = pair and _secret_name(items[0]) is not None
        if before and not lines:
            found.append((path, f"{before}\0\n"))
        for n, item in enumerate(items):
            start = before if lines and n == 0 else f'{items[0]}\0: "' if pair and n else ""
            if lines and n + 1 < len(items):
                found.append(((*path, n), f"{start}{item}\n"))
            else:
                _leaves(item, (*path, n), start, found)
    elif isinstance(value, Mapping):
        if before:
            found.append((path, f"{before}\0\n"))
        for key, item in cast("Mapping[str, Any]", value).items():
            if isinstance(item, str):
                found.append(((*path, key), f'{key}\0: "{item}\0\n'))
            else:
                _leaves(item, (*path, key), f'{key}\0: "', found)
    elif before or isinstance(value, int):
        found.append((path, f"{before}{value}\0\n"))


def _vendor(doc: str) -> tuple[int, str] | None:
    """Where in *doc* a key is that says whose it is, and what it is."""
    for mark in chain(_MARK.finditer(doc), _BARE.finditer(doc)):
        end, prefix = mark.end(), mark[mark.lastindex or 0]
        at = end - len(prefix)
        rest = (_AWS if prefix in _AWS_PREFIXES else _REST).match(doc, end, end + 96)
        if rest and (not at or _START.search(doc, max(0, at - 3), at)):
            text = _squeeze(rest.group())
            if rest.re is _AWS and (prefix == "AKIA" or any(map(str.isdigit, text))):
                return at, "an AWS access key"
            if rest.re is _REST and len(text) >= 16 and _opaque(text):
                return at, f"an API key that begins with `{prefix}`"
    jwt = _JWT.search(doc)
    return (jwt.start(), "a JSON web token") if jwt else None


def _named(doc: str, match: re.Match[str]) -> str | None:
    """What an opaque text is by what is said before it."""
    text = match["text"].rstrip(".!?")
    before = doc[max(0, match.start() - 80) : match.start("quote")][::-1].lstrip(" \t\r\n\\")
    if before[:6].lower() == "reraeb":
        return "a bearer token" if _opaque(text) else None
    if before[:5].lower() == "cisab":
        try:
            pair = base64.b64decode(f"{text.rstrip('=')}==", validate=True)
        except ValueError:
            return None
        return "a user name and password" if b":" in pair and pair.isascii() else None
    told = _NAME.match(before)
    name = told and _secret_name(told["name"][::-1])
    if match.re is _FLAG:
        name = _secret_name(match["name"])
    phrase = name and name.startswith(("passw", "pwd")) and match["quote"] and text.isalnum()
    return f"an assignment to `{name}`" if name and (phrase or _opaque(text)) else None


def _shape(doc: str) -> tuple[int, str] | None:
    """Where in *doc* something looks like a secret, and what it is."""
    if hit := _vendor(doc):
        return hit
    for pattern in (_ASSIGNED, _FLAG):
        for match in pattern.finditer(doc):
            if kind := _named(doc, match):
                return match.start("text"), kind
    for pattern in (_PEM, _PUTTY):
        for head in pattern.finditer(doc):
            body = doc[head.end() : head.end() + 400].partition("\0")[0]
            if any(map(_opaque, _BASE64.findall(body))):
                return head.start(), "a private key"
    for url in _URL.finditer(doc):
        user, password = url.group()[3:-1].split(":", 1)
        if not (password == user or _common(password)):
            return url.start(), "a URL with a password"
    bot = _TELEGRAM.search(doc)
    return (bot.start(), "a bot token") if bot else None


class Scanner:
    """
    What finds secrets in JSON values before they are written.

    Args:
        environ: The environment; values of variables whose names look secret are looked for,
            also encoded, if they have 8 characters and are more than common words or paths.
        patterns: Regular expressions for what else must not be written, tried on each text.
    """

    __slots__ = ("_needles", "_patterns")

    def __init__(
        self, environ: Mapping[str, str], patterns: Iterable[str | re.Pattern[str]] = ()
    ) -> None:
        self._needles = _needles(environ)
        self._patterns = tuple(
            compiled(pattern, f"your pattern no. {number}")
            for number, pattern in enumerate(patterns, 1)
        )

    def find(self, value: Any) -> Finding | None:
        """Return a secret that *value*, which is JSON, holds in a text or key; None if none."""
        leaves: list[tuple[_Path, str]] = []
        _leaves(value, (), "", leaves)
        parts = [text for _, text in leaves]
        doc = "".join(parts)
        squeezed = _squeeze(doc)
        known = next((needle for needle in self._needles if needle in squeezed), None)
        if known is not None:
            kind = f"a value of the environment variable {self._needles[known]}"
            hit: tuple[int, str] | None = (squeezed.index(known), kind)
            parts = [_squeeze(part) for part in parts]
        else:
            hit = _shape(doc) or self._forbidden(doc)
        if hit is None:
            return None
        index = bisect_right([*accumulate(map(len, parts))], hit[0])
        return Finding(self._hidden(leaves[index][0]), hit[1])

    def _forbidden(self, doc: str) -> tuple[int, str] | None:
        for piece in _PIECE.finditer(doc) if self._patterns else ():
            whole = piece[1]
            for number, pattern in enumerate(self._patterns, 1):
                for text in (whole, *whole.splitlines()):
                    for match in pattern.finditer(text):
                        if match.group():
                            at = match.start() if text is whole else 0
                            return piece.start(1) + at, f"what your pattern no. {number} finds"
        return None

    def _hidden(self, path: _Path) -> _Path:
        """*path* without keys that are themselves secret."""
        return tuple(
            "[hidden]" if isinstance(step, str) and self.find(step) else step for step in path
        )
