"""Secrets taken out of a text before it is kept: well-known keys, private keys, bearer tokens,
passwords in addresses.

What has the form of a secret is replaced by a mark that names its kind. Hashes, ids and prose stay:
a form counts only when nothing else is written like it.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

# Not in the middle of a longer word or key.
_START = r"(?<![A-Za-z0-9_])"
_MARK = "[redacted: {}]"


@dataclass(frozen=True, slots=True)
class Hit:
    """So many secrets of one kind; *kind* in words, as it stands in the text now."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what was taken out."""

    text: str
    hits: tuple[Hit, ...] = ()


# Kind, beginnings of which one must be in the text (looking for them is cheap), form of the key.
# A form that words could have too is looked at again (_is_random).
_FORMS: tuple[tuple[str, str, str], ...] = (
    ("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("OpenRouter key", "sk-or-", r"sk-or-(?:v\d+-)?[A-Za-z0-9]{32,}"),
    ("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    ("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    ("GitLab token", "gl", r"gl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_.-]{20,}"),
    ("Slack token", "xox xapp", r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    (
        "Slack webhook",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
    ),
    (
        "AWS key",
        "AKIA ASIA ABIA ACCA",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
    ),
    ("Google key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("Google token", "ya29. GOCSPX-", r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}"),
    ("Stripe key", "_live_ _test_", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("Stripe key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    ("xAI key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    ("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36,}"),
    ("PyPI token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
    ("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("Telegram token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    (
        "Discord token",
        "M N O",
        r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    ),
    ("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    ("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("Linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("Notion token", "secret_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("Tailscale key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    ("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    ("signed token", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}"),
)
_KEYS = tuple(
    (kind, tuple(hints.split()), re.compile(_START + form)) for kind, hints, form in _FORMS
)
# The older form of many providers and local servers: nothing but the beginning is theirs.
_PLAIN_KEY = re.compile(_START + r"sk-(?!ant-|or-|proj-)([A-Za-z0-9_-]{20,})")
# To its end; without one, as far as lines go on that look like its middle. Pasted out of code or
# JSON, its line breaks may be written "\n".
_PRIVATE = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN )[\s\S]){0,20000}?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:\s|\\[nr]|[A-Za-z0-9+/=:,-]{16,})*)"
)
_BEARER = re.compile(
    r"(?i)\b(bearer(?:\s+token)?\s*[:=]?\s+[\"'`]?)(?!\[redacted)([A-Za-z0-9._~+/-]{16,}=*)"
)
_BASIC = re.compile(r"(?i)\b(authorization[\"']?\s*[:=]\s*[\"']?basic\s+)([A-Za-z0-9+/]{8,}=*)")
_IN_ADDRESS = re.compile(
    r"\b([a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@?#\"'<>]*:)(?!\[redacted)([^\s/\"'<>]{1,200})(?=@)"
)


def redact(text: str) -> Redacted:
    """*text* without its secrets. Redacting the result again changes nothing."""
    found: Counter[str] = Counter()

    def mark(kind: str) -> str:
        found[kind] += 1
        return _MARK.format(kind)

    def plain(match: re.Match[str]) -> str:
        return mark("API key") if _is_random(match[1], 24) else match[0]

    if "PRIVATE KEY" in text:
        text = _PRIVATE.sub(lambda _: mark("private key"), text)
    for kind, hints, form in _KEYS:
        if any(hint in text for hint in hints):
            text = form.sub(_marked(mark, kind), text)
    if "sk-" in text:
        text = _PLAIN_KEY.sub(plain, text)
    small = text.lower()
    if "bearer" in small:
        text = _BEARER.sub(_behind(mark, "bearer token", lambda token: _is_random(token, 32)), text)
    if "basic" in small:
        text = _BASIC.sub(_behind(mark, "password", bool), text)
    if "://" in text:
        text = _IN_ADDRESS.sub(_behind(mark, "password", bool), text)
    return Redacted(text, tuple(Hit(kind, count) for kind, count in found.items()))


def _marked(mark: Callable[[str], str], kind: str) -> Callable[[re.Match[str]], str]:
    """Replace all that was found."""
    return lambda _: mark(kind)


def _behind(
    mark: Callable[[str], str], kind: str, is_secret: Callable[[str], bool]
) -> Callable[[re.Match[str]], str]:
    """Replace the second group and keep the first, which says what it is."""

    def replaced(match: re.Match[str]) -> str:
        return f"{match[1]}{mark(kind)}" if is_secret(match[2]) else match[0]

    return replaced


def _is_random(text: str, long: int) -> bool:
    """Whether it is no words: digits within the letters, or one piece that is *long*."""
    if re.search(r"\d[A-Za-z]", text) and re.search(r"[A-Za-z]\d", text):
        return True
    return len(text) >= long and not re.search(r"[-_./]", text)
