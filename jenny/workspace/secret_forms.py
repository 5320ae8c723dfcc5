"""What keys of well-known providers look like: one table."""

import re
from dataclasses import dataclass

# Not in the middle of a longer word or key.
_START = r"(?<![A-Za-z0-9_])"
# The rest of a key that was wrapped: alone on the next line, and not the beginning of another.
_WRAPPED = (
    r"(?:\r?\n[ \t]{0,8}(?![A-Za-z0-9]{2,12}[_-]|AKIA|ASIA|AIza|eyJ|SK|SG\.|ya29|\d{8,10}:)"
    r"(?P<rest>[A-Za-z0-9_+/=.-]{8,200})(?=[ \t]{0,8}(?:[\r\n]|$)))?"
)


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of key in words; what of which one must be in the text, as looking for that is
    cheap; and its pattern, whose group ``rest`` is a line that may go on with it."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


# Every pattern looks at a character a bounded number of times, so that no text, whatever it is
# made for, takes longer than its length allows.
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
# In an address it stands right behind "bot".
_TELEGRAM = r"(?:(?<=/bot)|(?<![A-Za-z0-9_]))\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"
# Not behind a hyphen either: "eyJ-eyJ-…" would be looked through from each of them.
_SIGNED = r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}"

FORMS: tuple[Form, ...] = (
    *(
        Form(kind, tuple(hints.split()), re.compile(_START + form + _WRAPPED))
        for kind, hints, form in _ROWS
    ),
    Form("Telegram token", (":AA",), re.compile(_TELEGRAM + _WRAPPED)),
    Form("signed token", ("eyJ",), re.compile(_SIGNED + _WRAPPED)),
)
# The older form of many providers and local servers: nothing but the beginning is theirs.
PLAIN_KEY = re.compile(_START + r"sk-(?!ant-|or-|proj-)(?P<key>[A-Za-z0-9_-]{20,})" + _WRAPPED)

# To its end; without one, as far as lines go on that look like its middle. Pasted out of code or
# JSON, its line breaks may be written "\n".
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
# Of an address's query: what is a secret by its name.
IN_QUERY = re.compile(
    r"(?i)([?&](?:access_token|refresh_token|id_token|auth_token|token|api_?key|apikey|key|"
    r"client_secret|secret|sig|password|passwd|pwd)=)([^&\s\"'<>#\[\]]{6,})"
)
# Of a connection string: between semicolons, or beside a host.
IN_CONNECTION = re.compile(
    r"(?i)((?:(?<=;)|(?<=\")|(?<=')|(?<![A-Za-z0-9_]))[ ]?"
    r"(?:password|pwd|accountkey|sharedaccesskey|sharedsecret)[ ]?=[ ]?)"
    r"([^;\s\"'\[\]]{4,200})(?=[;\"'\s]|$)"
)
CONNECTION = re.compile(
    r"(?i)(?:server|data source|host|hostname|endpoint|accountname|dbname|database)[ ]?=[ ]?[^;\s]"
)
# As programs are told of it: NAME_OF_SOMETHING=value.
VARIABLE = re.compile(
    r"(?<![A-Za-z0-9_])((?:[A-Z0-9]{1,30}_){0,6}"
    r"(?:API_?KEY|SECRET(?:_ACCESS)?(?:_KEY)?|ACCESS_KEY|AUTH_KEY|PRIVATE_KEY|TOKEN|PASSWORD|PASSWD)"
    r"[\"']?[ ]{0,2}[=:][ ]{0,2}[\"']?)([A-Za-z0-9_+/=.~-]{16,})"
)
SECRET_ACCESS = re.compile(
    r"(?i)(\baws_?secret_?(?:access_?)?key[\"']?[ ]{0,2}[=:][ ]{0,2}[\"']?)([A-Za-z0-9+/]{40})"
    r"(?![A-Za-z0-9+/])"
)
