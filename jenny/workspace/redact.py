"""Remove secrets from a text before it is stored.

Covered are well-known keys, private keys, bearer tokens, passwords in addresses and connection
strings, and secrets in sentences (``secret_words``). Each is replaced by a placeholder that names
its kind. Hashes, ids, prose and the ``sk-…`` of examples stay: a form counts only when nothing else
is written like it. A key that was wrapped into the next line is removed as a
whole; one whose parts are in different messages cannot be recognised.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from jenny.workspace import secret_words

# Not in the middle of a longer word or key.
_START = r"(?<![A-Za-z0-9_])"
# The rest of a wrapped key: alone on the next line, and not the beginning of another.
_WRAPPED = (
    r"(?:\r?\n[ \t]{0,8}(?![A-Za-z0-9]{2,12}[_-]|AKIA|ASIA|AIza|eyJ|SK|SG\.|ya29|\d{8,10}:)"
    r"(?P<rest>[A-Za-z0-9_+/=.-]{8,200})(?=[ \t]{0,8}(?:[\r\n]|$)))?"
)


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of key.

    Its name in words; texts of which one must occur, as a cheap first test; and its pattern, whose
    group ``rest`` is a line that may continue the key.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


# Every pattern reads a character a bounded number of times, so that the time is linear even for a
# malicious text.
_ROWS: tuple[tuple[str, str, str], ...] = (
    ("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("OpenRouter key", "sk-or-", r"sk-or-(?:v\d+-)?[A-Za-z0-9]{32,}"),
    ("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    ("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    (
        "GitLab token",
        "gl",
        r"gl(?:pat|dt|rt|rtr|ptt|cbt|soat|ft|imt|agent|oas|ffct|wt)-[A-Za-z0-9_.-]{19,}[A-Za-z0-9_-]",
    ),
    ("GitLab token", "GR1348941", r"GR1348941[A-Za-z0-9_-]{20,}"),
    (
        "Slack token",
        "xox xapp",
        r"(?:xox[abcdeoprs](?:\.xox[bp])?|xapp)-[A-Za-z0-9%-]{10,}",
    ),
    (
        "Slack webhook",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}",
    ),
    (
        "Discord webhook",
        "/api/webhooks/",
        r"https://(?:[a-z]{1,8}\.)?discord(?:app)?\.com/api/webhooks/\d{10,20}/[A-Za-z0-9_-]{40,}",
    ),
    (
        "AWS key",
        "AKIA ASIA ABIA ACCA",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
    ),
    ("AWS key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    ("Google key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("Google key", "AQ.Ab", r"AQ\.Ab[A-Za-z0-9_-]{30,}"),
    ("Google token", "ya29. GOCSPX-", r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}"),
    ("Google token", "1//0", r"1//0[A-Za-z0-9_-]{40,}"),
    ("Stripe key", "_live_ _test_", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("Stripe key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("Square key", "sq0", r"sq0(?:csp|atp)-[A-Za-z0-9_-]{20,}"),
    ("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    ("xAI key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    ("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("NVIDIA key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{40,}"),
    ("Cerebras key", "csk-", r"csk-[a-z0-9]{40,}"),
    ("Fireworks key", "fw_", r"fw_[A-Za-z0-9]{20,}(?![A-Za-z0-9_])"),
    ("Tavily key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,}"),
    ("ElevenLabs key", "sk_", r"sk_[a-f0-9]{48}(?![A-Za-z0-9])"),
    ("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{8,}"),
    ("Pinecone key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    ("Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36,}"),
    ("PyPI token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
    ("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{40,}"),
    ("Docker token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("Twilio key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("Mailgun key", "key-", r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    (
        "Discord token",
        "MD MT Mj Mz ND NT Nj Nz OD OT",
        r"[MNO][DTjz][A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    ),
    ("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    ("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("Linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("Notion token", "secret_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("Atlassian token", "ATATT3 ATCTT3", r"AT[AC]TT3[A-Za-z0-9_=-]{40,}"),
    ("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("Grafana token", "glc_ glsa_", r"(?:glc|glsa)_[A-Za-z0-9_+/=]{32,}"),
    ("Sentry token", "sntry", r"sntry[su]_[A-Za-z0-9_+/=]{40,}"),
    ("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("Postman key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("Figma token", "figd_", r"figd_[A-Za-z0-9_-]{36,}"),
    ("Supabase token", "sbp_ sb_secret_", r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("Vault token", "hvs. hvb.", r"hv[sb]\.[A-Za-z0-9_-]{24,}"),
    ("Doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    ("Tailscale key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    ("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
)
# In an address it follows "bot" directly.
_TELEGRAM = r"(?:(?<=/bot)|(?<![A-Za-z0-9_]))\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"
# Not after a hyphen either: "eyJ-eyJ-…" would be scanned from each of them.
_SIGNED = r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}"

FORMS: tuple[Form, ...] = (
    *(
        Form(kind, tuple(hints.split()), re.compile(_START + form + _WRAPPED))
        for kind, hints, form in _ROWS
    ),
    Form("Telegram token", (":AA",), re.compile(_TELEGRAM + _WRAPPED)),
    Form("signed token", ("eyJ",), re.compile(_SIGNED + _WRAPPED)),
)
# The older form of many providers and local servers: only the prefix is fixed.
PLAIN_KEY = re.compile(_START + r"sk-(?!ant-|or-|proj-)(?P<key>[A-Za-z0-9_-]{20,})" + _WRAPPED)

# To its end; without one, as far as lines look like its middle. Pasted from code or JSON, its line
# breaks may be written "\n".
PRIVATE = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN )[\s\S]){0,20000}?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:\s|\\[nr]|[A-Za-z0-9+/=:,-]{16,})*)"
)
PUTTY = re.compile(r"(Private-Lines: ?\d{1,4}\r?\n)(?!\[redacted)((?:[A-Za-z0-9+/=]{4,}\r?\n?)+)")

BEARER = re.compile(
    r"(?i)\b(bearer(?:\s{1,4}token)?\s{0,4}[:=]?\s{1,4}[\"'`]?)(?!\[redacted)"
    r"([A-Za-z0-9._~+/-]{16,}=*)"
)
BASIC = re.compile(
    r"(?i)\b(authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?basic\s{1,4})([A-Za-z0-9+/]{8,}=*)"
)
IN_ADDRESS = re.compile(
    r"\b([a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@?#\"'<>]{0,200}:)(?!\[redacted)"
    r"([^\s/\"'<>]{1,200})(?=@)"
)
# Parameters of an address's query whose names mean a secret.
IN_QUERY = re.compile(
    r"(?i)([?&](?:access_token|refresh_token|id_token|auth_token|token|api_?key|apikey|key|"
    r"client_secret|secret|sig|password|passwd|pwd)=)([^&\s\"'<>#\[\]]{6,})"
)
# Parts of a connection string: between semicolons, or beside a host.
IN_CONNECTION = re.compile(
    r"(?i)((?:(?<=;)|(?<=\")|(?<=')|(?<![A-Za-z0-9_]))[ ]?"
    r"(?:password|pwd|accountkey|sharedaccesskey|sharedsecret)[ ]?=[ ]?)"
    r"([^;\s\"'\[\]]{4,200})(?=[;\"'\s]|$)"
)
CONNECTION = re.compile(
    r"(?i)(?:server|data source|host|hostname|endpoint|accountname|dbname|database)[ ]?=[ ]?[^;\s]"
)
# Environment variables: NAME_OF_SOMETHING=value.
VARIABLE = re.compile(
    r"(?<![A-Za-z0-9_])((?:[A-Z0-9]{1,30}_){0,6}"
    r"(?:API_?KEY|SECRET(?:_ACCESS)?(?:_KEY)?|ACCESS_KEY|AUTH_KEY|PRIVATE_KEY|TOKEN|PASSWORD|PASSWD)"
    r"[\"']?[ ]{0,2}[=:][ ]{0,2}[\"']?)([A-Za-z0-9_+/=.~-]{16,})"
)
SECRET_ACCESS = re.compile(
    r"(?i)(\baws_?secret_?(?:access_?)?key[\"']?[ ]{0,2}[=:][ ]{0,2}[\"']?)([A-Za-z0-9+/]{40})"
    r"(?![A-Za-z0-9+/])"
)


_MARK = "[redacted: {}]"
# The characters of keys; no key is shorter.
_OF_KEYS = bytes(ord("x") if ord("!") <= byte <= ord("~") else ord(" ") for byte in range(256))
_LONG = re.compile(b"x" * 14 + b"x*")
# Placeholders for a key in instructions.
_PLACEHOLDER = re.compile(r"x{6,}|X{6,}|your[-_]|[-_]here\b|\.{3}", re.IGNORECASE)
_NAMES = ("KEY", "SECRET", "TOKEN", "PASSW")
_DIGIT_FIRST = re.compile(r"\d[A-Za-z]")
_LETTER_FIRST = re.compile(r"[A-Za-z]\d")


@dataclass(frozen=True, slots=True)
class Hit:
    """A number of secrets of one kind; *kind* in words, as in the placeholder."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the list of removed ones."""

    text: str
    hits: tuple[Hit, ...] = ()


def redact(text: str) -> Redacted:
    """Return *text* without its secrets. Redacting the result again changes nothing."""
    work = _Work(text)
    if "PRIVATE KEY" in text:
        work.text = PRIVATE.sub(lambda _: work.mark("private key"), work.text)
    if "Private-Lines" in text:
        work.behind(PUTTY, "private key")
    long = _long_words(text)
    for form in FORMS if long else ():
        for hint in form.hints:
            if hint in long:
                work.keys(form)
                break
    if "sk-" in long:
        work.plain_keys()
    _named(work)
    work.redact_secrets_in_sentences()
    return Redacted(work.text, tuple(Hit(kind, count) for kind, count in work.found.items()))


def _long_words(text: str) -> str:
    """Return the words that may contain a key. Most texts have none, which one quick scan shows."""
    data = text.encode(errors="replace")
    words = [data[slice(*found.span())] for found in _LONG.finditer(data.translate(_OF_KEYS))]
    return b" ".join(words).decode("ascii")


def _named(work: "_Work") -> None:
    text = work.text
    small = text.lower()
    if "bearer" in small:
        work.behind(BEARER, "bearer token", lambda token: _is_random(token, 32))
    if "basic" in small:
        work.behind(BASIC, "password")
    if "://" in text:
        work.behind(IN_ADDRESS, "password")
    if "=" not in text and ":" not in text:
        return
    if "?" in text or "&" in text:
        work.behind(IN_QUERY, "secret in an address", _is_value)
    if ("password" in small or "pwd" in small or "key" in small) and CONNECTION.search(text):
        work.behind(IN_CONNECTION, "password", _is_value)
    if "secret" in small:
        work.behind(SECRET_ACCESS, "AWS key")
    if any(name in text for name in _NAMES):
        work.behind(VARIABLE, "secret", lambda value: _is_random(value, 32))


class _Work:
    """A text during redaction, and the secrets found so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[str, int] = {}

    def mark(self, kind: str) -> str:
        self.found[kind] = self.found.get(kind, 0) + 1
        return _MARK.format(kind)

    def keys(self, form: Form) -> None:
        def replaced(match: re.Match[str]) -> str:
            rest = match["rest"]
            key = match[0] if rest is None else match[0][: match.start("rest") - match.start()]
            if _PLACEHOLDER.search(key):
                return match[0]
            return self._with_rest(form.kind, match, key)

        self.text = form.pattern.sub(replaced, self.text)

    def plain_keys(self) -> None:
        """Remove keys with a common prefix only, unless they are words."""

        def replaced(match: re.Match[str]) -> str:
            if not _is_random(match["key"], 24) or _PLACEHOLDER.search(match["key"]):
                return match[0]
            key = match[0] if match["rest"] is None else f"sk-{match['key']}"
            return self._with_rest("API key", match, key)

        self.text = PLAIN_KEY.sub(replaced, self.text)

    def behind(
        self, pattern: re.Pattern[str], kind: str, is_secret: Callable[[str], bool] = bool
    ) -> None:
        """Remove the second group of *pattern*; the first one names the secret and stays."""

        def replaced(match: re.Match[str]) -> str:
            return f"{match[1]}{self.mark(kind)}" if is_secret(match[2]) else match[0]

        self.text = pattern.sub(replaced, self.text)

    def redact_secrets_in_sentences(self) -> None:
        for row in reversed(secret_words.find(self.text)):
            self.text = f"{self.text[: row.start]}{self.mark(row.kind)}{self.text[row.end :]}"

    def _with_rest(self, kind: str, match: re.Match[str], key: str) -> str:
        """Return the placeholder; the next line is kept when it is not part of the key."""
        rest = match["rest"]
        if rest is None or _is_random(rest, 1_000):
            return self.mark(kind)
        return self.mark(kind) + match[0][len(key.rstrip()) :]


def _is_value(text: str) -> bool:
    return not _PLACEHOLDER.search(text) and not text.startswith(("$", "{", "<", "%s", "***"))


def _is_random(text: str, long: int) -> bool:
    """True when it is not made of words: digits among the letters, or one piece that is *long*."""
    if _DIGIT_FIRST.search(text) and _LETTER_FIRST.search(text):
        return True
    return len(text) >= long and not re.search(r"[-_./]", text)
