"""What must never be written to a recording: what is found, left alone, put in its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.cassette.secrets import Finding, Redaction, Scanner
from ingot.errors import NotConfiguredError, PromptError

# No text of this file is a key, and none is written as one: scanners of repositories read it too.
TAIL = "Zx81" + "Qq7wE4rT" + "9yU2iO6p"
HEX = "9f86d081" + "884c7d65" + "9a2feaa0" + "c55ad015"
JWT = ".".join(("ey" + "JhbGciOiJub25l", "ey" + "JzdWIiOiJmYWtl", "c2lnbmF0dXJl"))
BODY = "MIIEvQIBADANBgkq" + "hkiG9w0BAQEFAASC" + "BKcwggSjAgEAAoIB"
PEM = "-----BEGIN " + "RSA PRIVATE KEY-----\n" + BODY + "\n-----END " + "RSA PRIVATE KEY-----"
BASIC = base64.b64encode(b"fake-user:fake-pass-1").decode()

PREFIXED = [
    *("sk-", "sk-ant-api03-", "sk-proj-", "sk-or-v1-", "sk_live_", "sk_test_", "rk_live_", "ghp_"),
    *("gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-", "hf_", "npm_", "pypi-"),
    *("ya29.", "gsk_", "xai-", "r8_", "pplx-", "nvapi-", "whsec_", "SG.", "dckr_pat_", "hvs."),
    *("GOCSPX-", "shpat_", "lsv2_pt_", "pcsk_", "tvly-", "GHP_", "Sk-", "aiza", "AIza"),
    "hooks.slack.com/services/T0FAKE00/B0FAKE00/",
]

PLANTED = {
    **{prefix: prefix + TAIL for prefix in PREFIXED},
    "letters": "hf_" + "aBcDdEfGhHiJkLmMnOpQrrStUvWxXyZaBc",
    "aws": "AKIA" + "IOSFODNN7" + "EXAMPLE",
    "aws session": "ASIA" + "Y34FZKBOK" + "MUTVV7A",
    "jwt": JWT,
    "bearer": "Authorization: Bearer " + TAIL,
    "bearer jwt head": 'header = "Bearer ' + "ey" + 'JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"',
    "basic": "authorization: Basic " + BASIC,
    "pem": PEM,
    "pem in JSON": json.dumps(PEM),
    "pgp": "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + BODY,
    "putty": "Private-Lines: 14\n" + BODY,
    "telegram": "1234567890" + ":AA" + "Fz81Qq7wE4rT9yU2iO6pZx81Qq7wE4rTx",
    "python": f'api_key = "{TAIL}"',
    "javascript": f"const apiKey = '{TAIL}';",
    "env": f"export DB_PASSWORD={TAIL}",
    "env key": f"MISTRAL_KEY={TAIL}",
    "yaml": f"client_secret: {TAIL}",
    "yaml block": f"password: |\n  {TAIL}",
    "json": json.dumps({"access_token": TAIL}),
    "json in json": json.dumps(json.dumps({"secretKey": TAIL})),
    "query": f"https://h.example/v1?a=b&token={TAIL}&c=d",
    "header": f"X-Api-Key: {TAIL}",
    "flag": f"tool --api-key {TAIL} --verbose",
    "flag with sign": f"tool --password={TAIL}",
    "xml": f"<password>{TAIL}</password>",
    "ruby": f":secret => '{TAIL}'",
    "go": f"authToken := `{TAIL}`",
    "index": f'os.environ["API_TOKEN"] = "{TAIL}"',
    "prose": f"By the way, the api key is {TAIL}.",
    "signs": "DB_PASSWORD=x7#kP!2vLq9$Wm4z",
    "base64": 'password = "aG9sZHRoaXNz' + 'ZWNyZXR2YWx1ZQ=="',
    "quoted letters": 'password = "correcthorsebatterystaple"',
    "digest": f"token: {HEX}",
    "url": "postgres://app:" + "s3cr3t-pw" + "@db.example/app",
    "azure": f"AccountName=x;AccountKey={TAIL}{TAIL}==;EndpointSuffix=y",
    "after an escape": json.dumps({"a": "line\nsk-" + TAIL}),
    "after a percent": quote('"') + "sk-" + TAIL,
    "seed": 'x = "sk-live-4f9ac1d3' + 'b7e25a86e1"',
}

HARMLESS = [
    "Explain how to reset a password. The token budget is tight; ask for their api key by email.",
    "A task-force on risk-management and desk-research uses sk-learn for ask-me-anything.",
    "sk-estimator-id-12 sk-toggleable__label-arrow sk-container-id-1 sk-learn-contrib-examples",
    "password: internationalization matters",
    "password: please choose one",
    "Password: ________________",
    "token = get_token()",
    "auth = base64.b64encode(f'{user}:{password}'.encode())",
    "models: pplx-decider-v1.1-27b, sk-" + "b" * 4,
    "token = self.settings.auth_token_from_store",
    "access_token=credentials.access_token",
    'api_key=os.environ["OPENAI_API_KEY"]',
    "const apiKey = process.env.OPENAI_API_KEY;",
    'client = OpenAI(api_key="your-api-key-goes-here")',
    "api_key: <YOUR_KEY_GOES_HERE_12345>",
    'api_key = "${OPENAI_API_KEY_FROM_VAULT_2}"',
    "token: {{ secrets.DEPLOY_TOKEN_2024_X1 }}",
    "export TOKEN=$OPENAI_API_KEY",
    "sk-..., sk-ant-..., sk-xxxxxxxxxxxxxxxxxxxx, sk-ant-api03-XXXXXXXXXXXXXXXX, ghp_xxxxxxxxxxxx",
    "password=****************",
    "sk-your-api-key-here-1234567890abc",
    "550e8400-e29b-41d4-a716-446655440000",
    HEX + HEX,
    f"sha256:{HEX}",
    f'{{"key": "k1:{HEX}", "type": "t1:{HEX[:12]}"}}',
    f"key: {HEX}",
    f"id={HEX}&page=2",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "https://example.com/a/very/long/path/with-2024-numbers/and/words?page=2&size=100",
    "https://user:password@host.example/path and amqp://guest:guest@localhost, redis://:$PASS@h",
    "https://host.example:8080/@scope/package@1.2.3",
    "max_tokens: 16000, total_tokens=1234567890123456, token_count: 12345678901234567890",
    "nextPageToken: " + TAIL,
    "public_key: " + TAIL,
    "eos_token: <|endoftext_2024_v1b2|>",
    "The file starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "-----BEGIN CERTIFICATE-----\n" + BODY + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + BODY,
    "Bearer authentication-required is what the server says; a bearer of bad news.",
    "Basic understanding-of-the-subject, basic characteristics of a thing",
    "AKIA is a prefix, ASIAPACIFICREGIONALS is not, and eyJ is how a token begins",
    "npm_config_registry npm_package_version hf_hub_download pypi-attestations-action",
    f'<span class="token">{HEX}</span> <a title="token">{TAIL}</a>',
    "Basic abcdefghijklmnopq, basic ééééééééééééééééé, Basic " + "QUJD" * 6,
    "token_file=/run/secrets/kubernetes.io/service-account-1/token",
    "def authenticate(user, password=None, secret: str = DEFAULT_SECRET_FOR_TESTS) -> Token: ...",
    '{ "apiKeyEnv": "ANTHROPIC_API_KEY" }  pass-env = ["OPENAI_API_KEY"]',
    "claude-sonnet-4-5-20250929, gpt-4o-2024-08-06, gemini-2.5-flash-preview-05-20",
    "author: 1234567890abcdefZ, keyboard: q1w2e3r4t5y6u7i8o9, monkey: a1b2c3d4e5f6g7h8i9",
    "",
]


def found(value: object, environ: dict[str, str] | None = None, *patterns: str) -> Finding | None:
    return Scanner(environ or {}, patterns).find(value)


def row(place: str, text: str) -> tuple[object, tuple[str | int, ...]]:
    """A row of a recording with *text* at *place*, and the path of the place."""
    lines = ["Hello.", *text.split("\n"), "Bye."]
    values: dict[str, tuple[object, tuple[str | int, ...]]] = {
        "prompt": ({"rows": [{"prompt": lines}]}, ("rows", 0, "prompt", 1)),
        "context": ({"context": [["customer", {"note": text}]]}, ("context", 0, 1, "note")),
        "value": ({"answers": [{"value": [1, None, text]}]}, ("answers", 0, "value", 2)),
        "tool": ({"args": {"a": {"b": (text,)}}}, ("args", "a", "b", 0)),
        "human": ({"question": ["Sure?"], "choices": ["no", text]}, ("choices", 1)),
        "error": ({"error": {"message": f"400: {text}"}}, ("error", "message")),
        "key": ({"args": {text: 1}}, ("args", "[hidden]")),
        "root": (text, ()),
    }
    return values[place]


PLACES = ["prompt", "context", "value", "tool", "human", "error", "key", "root"]


@pytest.mark.parametrize("name", PLANTED)
def test_finds_what_looks_like_a_secret(name: str) -> None:
    """Each shape is found wherever people or models write, and is never repeated."""
    for place in PLACES:
        value, path = row(place, PLANTED[name])
        finding = found(value)

        assert finding is not None, place
        assert path == finding.path[: len(path)] or finding.path[:3] == ("rows", 0, "prompt"), place
        assert [part for part in (TAIL, HEX, JWT, BODY) if part in f"{finding!r}{finding}"] == []


@pytest.mark.parametrize("text", HARMLESS)
def test_leaves_alone_what_is_no_secret(text: str) -> None:
    """Prose, code, digests and placeholders are recorded."""
    findings = {place: found(row(place, text)[0]) for place in PLACES}

    assert findings == dict.fromkeys(PLACES)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aws", "an AWS access key"),
        ("jwt", "a JSON web token"),
        ("bearer", "a bearer token"),
        ("basic", "a user name and password"),
        ("pem", "a private key"),
        ("telegram", "a bot token"),
        ("url", "a URL with a password"),
        ("ghp_", "an API key that begins with `ghp_`"),
        ("python", "an assignment to `api_key`"),
        ("env", "an assignment to `password`"),
    ],
)
def test_says_what_it_is(name: str, kind: str) -> None:
    """A finding names the kind in words."""
    assert Finding((0,), kind) == found([PLANTED[name]])


def test_reads_as_a_place_and_a_kind() -> None:
    """It is shown as the places of other problems are."""
    assert "in field `a`: at index 0: a bearer token" == str(Finding(("a", 0), "a bearer token"))


VALUE = "Kw" + "3jX" + "/mY+" + 'q"\\é ö9'


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "githubtoken", "MY_SECRET", "DB_PASSWORD", "DB_PASSWD"),
        *("MYSQL_PWD", "APP_CREDENTIALS", "BASIC_AUTH", "SENTRY_DSN", "SECRET_ID", "APIKEY"),
        *("AWS_SECRET_ACCESS_KEY", "ADMIN_PASS", "SIGNING_KEY_2", "SESSION_COOKIE", "X_JWT"),
    ],
)
def test_knows_names_of_secret_variables(name: str) -> None:
    """What such a variable holds is a secret, whatever it looks like."""
    finding = Finding(("a", 0), f"a value of the environment variable {name}")

    assert finding == found({"a": ["so " + VALUE + " it is"]}, {name: VALUE})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, VALUE) for name in ("PWD", "OLDPWD", "SSH_AUTH_SOCK", "AUTHOR", "KEYBOARD")),
        *((name, VALUE) for name in ("TOKENIZERS_PARALLELISM", "MAX_TOKENS", "PATH", "MONKEY")),
        *((name, VALUE) for name in ("GIT_AUTHOR_NAME", "TOKEN_FILE", "PUBLIC_KEY", "AUTH_TYPE")),
        *(
            ("API_KEY", value)
            for value in ("short", "", "not-needed", "no-key-required", "********")
        ),
        *(("API_KEY", value) for value in ("your-key-here", "placeholder", "aaaaaaaaaaaa")),
        ("API_KEY", "/run/secrets/api-key"),
        ("AUTH_PROVIDER_TOKEN", "https://auth.example.com/token"),
        ("DATABASE_URL", "postgres://postgres:postgres@localhost/test"),
    ],
)
def test_leaves_other_variables_alone(name: str, value: str) -> None:
    """Paths, words that everybody uses, and variables with other names may be recorded."""
    assert None is found(["so " + value + " it is"], {name: value})


def _base64(before: str) -> str:
    return base64.b64encode((before + VALUE + "!").encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        *(_base64(before) for before in ("", "u", "u:", "us:", "use:")),
        base64.urlsafe_b64encode(VALUE.encode()).decode().rstrip("="),
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
        quote(VALUE),
        quote(VALUE, safe=""),
        quote(VALUE, safe="")
        .replace(" ", "+")
        .lower()
        .replace("kw3jx", "Kw3jX")
        .replace("my", "mY"),
        json.dumps({"x": VALUE}),
        json.dumps({"x": VALUE}, ensure_ascii=False),
        json.dumps(json.dumps({"x": VALUE})),
        VALUE.replace('"', "&quot;"),
        VALUE[:5] + "\n    " + VALUE[5:],
    ],
)
def test_finds_encoded_values_of_variables(text: str) -> None:
    """Base64 within longer base64, hexadecimal, JSON in JSON, URLs, HTML, and broken lines."""
    lines: list[object] = [{"t": text.split("\n")}, text]
    kind = "a value of the environment variable S_TOKEN"

    assert [kind, kind] == [f.kind for f in map(Scanner({"S_TOKEN": VALUE}).find, lines) if f]


def test_names_the_variable_before_the_shape() -> None:
    """Of what is both, the name of the variable says more."""
    finding = found("my key is sk-SECRET1234567890", {"OPENAI_API_KEY": "sk-SECRET1234567890"})

    assert Finding((), "a value of the environment variable OPENAI_API_KEY") == finding


def test_finds_parts_of_variables() -> None:
    """A password within a URL, the token of a header, and each of several keys."""
    environ = {
        "DATABASE_URL": "postgres://app:" + quote("p@ss/word-99", safe="") + "@db/x",
        "API_KEYS": "Zx81Qq7wE4rT9yU2,Yw92Pp6vD3sR8xT1",
        "APP_AUTH": "Bearer Mm55Nn44Bb33Vv22",
    }
    texts = ["p@ss/word-99", "Yw92Pp6vD3sR8xT1", "Mm55Nn44Bb33Vv22"]
    names = ["DATABASE_URL", "API_KEYS", "APP_AUTH"]

    assert names == [f.kind.split()[-1] for f in map(Scanner(environ).find, texts) if f]


def test_finds_digits_of_a_variable_in_a_number() -> None:
    """A number of JSON is text when it is written."""
    assert ("pin",) == getattr(
        found({"pin": 4711081547}, {"APP_PASSWORD": "4711081547"}), "path", 0
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (["sk-ant-api03-Zx81", "Qq7wE4rT9yU2iO6p"], (0,)),
        (["a", "ghp_", "  Zx81Qq7wE4rT9yU2iO6p"], (1,)),
        (["AKIA" + "IOSF", "ODNN7EXAMPLE"], (0,)),
        (["api_key =", f"  '{TAIL}'"], (1,)),
        (["password", TAIL], (1,)),
        ([["api_key", [TAIL, "x"]]], (0, 1, 0)),
        ({"access_token": [TAIL]}, ("access_token", 0)),
        ({"context": [["db", {"password": TAIL}]]}, ("context", 0, 1, "password")),
    ],
)
def test_reads_a_text_across_its_lines(value: object, path: tuple[str | int, ...]) -> None:
    """Texts are stored as lines, and what belongs together stands in pairs and objects."""
    assert path == getattr(found(value), "path", None)


def test_texts_do_not_run_together() -> None:
    """Where one value ends and another begins, nothing reads on."""
    values = [{"a": "token: ", "b": TAIL}, [{"t": "sk-"}, {"t": TAIL}], {"sk-": TAIL}]

    assert [None] * 3 == [found(value) for value in values]


def test_hides_keys_that_are_secret() -> None:
    """The way to a finding tells none either."""
    value = {"a": {"sk-" + TAIL: {"b": "hunter2-hunter2"}}}
    finding = found(value, {"X_PASSWORD": "hunter2-hunter2"})

    assert ("a", "[hidden]") == getattr(finding, "path", ())[:2]


@pytest.mark.parametrize(
    ("pattern", "value", "path"),
    [
        (r"EMP-\d{6}", {"a": "x EMP-123456"}, ("a",)),
        (r"^EMP-\d{6}$", {"a": ["x", "EMP-123456"]}, ("a", 0)),
        (r"^EMP-\d{6}$", {"EMP-123456": 1}, ("[hidden]",)),
        (r"one\ntwo", ["zero", "one", "two"], (1,)),
        (r"x*", ["y"], None),
        (r"a.*b", ["a", ["b"]], None),
    ],
)
def test_looks_for_what_the_user_forbids(pattern: str, value: object, path: object) -> None:
    """A pattern is tried on each text, whole and line by line, and on keys."""
    finding = found(value, {}, "never", pattern)

    assert path == (finding and finding.path)
    assert finding is None or finding.kind == "what your pattern no. 2 finds"


def test_refuses_a_pattern_that_is_none() -> None:
    """Each is named by its number or placeholder."""
    with pytest.raises(NotConfiguredError, match=r"your pattern no\. 2 is no regular expression"):
        Scanner({}, ["a", "("])
    with pytest.raises(NotConfiguredError, match="rule '<X>' is no regular expression"):
        Redaction({"<X>": "("})


def test_shows_no_secret_of_its_own() -> None:
    """Neither object prints what it knows."""
    shown = repr(Scanner({"A_TOKEN": VALUE})) + repr(Redaction({"<X>": VALUE}))

    assert "Kw3jX" not in shown


UNITS = [
    *(
        "a",
        "A1",
        "sk-",
        "sk-a1b ",
        "xoxb-a ",
        ":",
        "=",
        "://",
        "://a:",
        "eyJ",
        "eyJ-",
        "eyJaaaaaaaa.",
    ),
    *(
        "AKIA",
        "-----BEGIN A ",
        "password=",
        'password="',
        "\"'",
        "\\n",
        " ",
        "\n",
        "Bearer ",
        "is ",
    ),
    *("--token ", "token: aaaaaaaaaaaaaaaaaaaa ", "token-token = ", ":AA", "SG.aaaaaaaaaaaaaaaaa"),
]


def steps(value: object) -> int:
    """Calls that a search of *value* makes."""
    count = 0

    def counted(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += 1

    scanner = Scanner({"S_TOKEN": VALUE})
    sys.setprofile(counted)
    try:
        scanner.find(value)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("unit", UNITS)
def test_takes_time_in_proportion(unit: str) -> None:
    """Twice the text takes at most twice the steps, and no expression runs away on a long one."""
    # A megabyte of most of these takes 0.05 to 0.3 s, 256 KiB of prose in rows about 15 ms.
    once, twice = (steps([unit * (size // len(unit))]) for size in (10_000, 20_000))
    found([(unit * 300_000)[:300_000]])

    assert twice <= 2.1 * once + 100


EMAIL = Redaction({"<EMAIL>": r"[\w.]+@[\w.]+\w"}, {"<EMAIL>": "TEST_EMAIL"})


def test_puts_placeholders() -> None:
    """All that one rule finds becomes the same placeholder, in texts and keys alike."""
    value = {"to": ["a@b.example", "and c@d.example."], "c@d.example": (1, None, True, 1.5)}
    expected = {"to": ["<EMAIL>", "and <EMAIL>."], "<EMAIL>": [1, None, True, 1.5]}

    assert expected == EMAIL.apply_json(value)
    assert expected == EMAIL.apply_json(expected)


def test_puts_real_values_back() -> None:
    """Where the variable is set; else the placeholder stays: replay needs no environment."""
    recorded = {"<EMAIL>": ["to <EMAIL> and <OTHER>", 1]}

    assert {"a@b.example": ["to a@b.example and <OTHER>", 1]} == EMAIL.restore(
        recorded, {"TEST_EMAIL": "a@b.example"}
    )
    assert recorded == EMAIL.restore(recorded, {})


def test_a_rule_may_find_what_others_put() -> None:
    """A placeholder is never redacted for itself, and goes where a rule takes more than it."""
    redaction = Redaction({"<A>": "a+", "<LINE>": r"key=.*", "<WORD>": r"\w+"})

    assert "<A> <WORD> <LINE>" == redaction.apply("aa b key=aaa c")


def test_anchors_mean_what_they_say() -> None:
    """A rule for the start or end of a text does not eat its way through."""
    redaction = Redaction({"<S>": "^x", "<E>": r"\d\d$"})

    assert "<S>xx 12<E>" == redaction.apply("xxx 1234")


def test_refuses_keys_that_fall_together() -> None:
    """What would be lost is told, and not in its own words."""
    with pytest.raises(PromptError, match="two keys of one object become the same"):
        EMAIL.apply_json({"a@b.example": 1, "c@d.example": 2})


@pytest.mark.parametrize(
    ("rules", "restore"),
    [
        ({"": "a"}, {}),
        ({"aa": "a"}, {}),
        ({"<A>": "a", "A": "b"}, {}),
        ({"ab": "a", "bc": "b"}, {}),
        ({"<A>": "a"}, {"<B>": "SOME_VARIABLE"}),
    ],
)
def test_refuses_placeholders_that_do_not_work(
    rules: dict[str, str], restore: dict[str, str]
) -> None:
    """A placeholder has a text, is told from others, and is of a rule when it is restored."""
    with pytest.raises(NotConfiguredError, match="redact"):
        Redaction(rules, restore)


def test_a_redacted_request_passes() -> None:
    """What a rule replaces is no finding any more."""
    text = f"my key is sk-{TAIL}"

    assert ("my key is <KEY>", None) == (
        (redacted := Redaction({"<KEY>": r"sk-\w+"}).apply(text)),
        found(redacted),
    )


RULES = [
    "a",
    "a+",
    "^a",
    "a$",
    r"\w+",
    r".+",
    r"[^<]+",
    r"(?<=>)b",
    r"b(?=<)",
    r"\d*",
    r"<.",
    "M",
    "",
]
MARKS = [["<A>", "<AB>", "M"], ["a", "1"], ["<", "aM"], ["ab", "M>"], ["<A>"], ["[x]", "⟦y⟧", "A1"]]


@given(
    st.sampled_from(MARKS).flatmap(
        lambda marks: st.fixed_dictionaries({}, optional={m: st.sampled_from(RULES) for m in marks})
    ),
    st.text("ab1<>A M\n", max_size=30),
)
def test_redacting_twice_is_redacting_once(rules: dict[str, str], text: str) -> None:
    """Whatever the rules are, what was recorded and is redacted again has the same key."""
    redaction = Redaction(rules)
    once = redaction.apply(text)

    assert once == redaction.apply(once)
    assert {"k": [once]} == redaction.apply_json({"k": [text]}) or "k" != redaction.apply("k")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_can_be_scanned(value: object) -> None:
    """A value of any shape is walked to its end: a secret after it is found."""
    digest = hashlib.sha256(json.dumps(value).encode()).hexdigest()
    finding = found([value, {"x": "sk-" + digest}])

    assert finding == found([value]) or finding.path == (1, "x")  # type: ignore[union-attr]


def test_patterns_may_be_compiled() -> None:
    """Flags of a compiled expression hold."""
    assert None is not Scanner({}, [re.compile("emp", re.IGNORECASE)]).find("EMP")
    assert "<X>" == Redaction({"<X>": re.compile("emp", re.IGNORECASE)}).apply("EMP")
