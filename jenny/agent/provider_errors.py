"""Classifies a provider's refusal by status and error body as a kind of ``FAULTS``.

A server's own words are shown to the person, short and without secrets; they are never logged. A
body from a server that is no provider at all (a router's page, a proxy) is common.
"""

import email.utils
import html
import json
import re
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from jenny.workspace.redact import redact

# Characters of a server's words that are shown.
SHOWN_CHARS = 300
# Characters of them that are read.
_READ_CHARS = 4_000

_CONTEXT = re.compile(
    r"(?:prompt|input|request) is too long|context[ _-]?(?:length|window|size|limit)"
    r"|(?:maximum|max)[ _-](?:context|prompt|input)|too many (?:input )?tokens"
    r"|exceed\w{0,20}.{0,40}context|input token count|reduce the length"
    r"|token limit|max_new_tokens. must be|inputs must have less",
    re.IGNORECASE,
)
_NUMBER = r"(\d[\d,_]{0,14})"
# Patterns of a model's window in a server's words; the first match counts.
_WINDOWS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"exceeds? context limit:.{{0,60}}>\s*{_NUMBER}",
        rf">\s*{_NUMBER}\s*(?:tokens?\s*)?(?:maximum|limit|\Z|\.)",
        rf"maximum (?:context|prompt|input)(?: length| window| size)?[^\d.]{{0,30}}{_NUMBER}",
        rf"(?:context|input) (?:length|window|size|limit)(?: of| is|:|\s|\(|only)+{_NUMBER}",
        rf"{_NUMBER} (?:maximum|max) context",
        rf"maximum number of tokens allowed[^\d]{{0,4}}{_NUMBER}",
        rf"must be <=?\s*{_NUMBER}|must have less than\s*{_NUMBER}",
        rf"token limit[^\d]{{0,9}}{_NUMBER}",
        rf"n_ctx\D{{0,6}}{_NUMBER}",
    )
)
# A smaller number is no window.
_LEAST_WINDOW = 256
_DECLINED = re.compile(
    r"content[ _-]?(?:filter|management policy|policy)"
    r"|(?:blocked|flagged|rejected) (?:by|due to|as).{0,40}(?:policy|safety|filter)"
    r"|safety (?:system|filter|policy)|prohibited content|moderation",
    re.IGNORECASE,
)
_BILLING = re.compile(r"credit balance|billing|payment|quota", re.IGNORECASE)
_MAX_TOKENS = re.compile(r"max_tokens\D{0,40}(\d+)\s*>\s*(\d+)")
_NOT = r"not supported|unsupported|not permitted|not allowed|not enabled|not accepted"
_NO = r"(?:not|n't|no|without)\b.{0,30}\b(?:support|accept|allow|permit|take)\w{0,20}.{0,30}"
_UNKNOWN = r"unknown|unrecogni[sz]ed|unexpected|invalid|unsupported|extra"
# Words of servers that refuse a part of the request, where its name alone is ambiguous.
_REFUSES = {
    "tools": re.compile(
        rf"{_NO}\btools?\b|\btools?\b.{{0,40}}(?:{_NOT})|\btools? param requires", re.IGNORECASE
    ),
    "system": re.compile(
        rf"{_NO}\bsystem\b|\bsystem\b[^.]{{0,40}}(?:{_NOT}|extra inputs|extra fields)"
        rf"|(?:{_UNKNOWN})\b[^.]{{0,30}}\bsystem\b|developer instruction"
        r"|roles must alternate|only user(?:,| and) assistant",
        re.IGNORECASE,
    ),
    "images": re.compile(
        rf"\b(?:images?|pictures?|vision|multi-?modal|mmproj)\b.{{0,60}}(?:{_NOT}|invalid|unknown)"
        rf"|{_NO}\b(?:images?|pictures?|vision|multi-?modal)"
        r"|(?:could not|unable to|cannot|failed to) (?:process|decode|load|read).{0,20}\bimage"
        r"|no endpoints found that support image|\bmmproj\b|not a (?:vision|multi-?modal) model"
        r"|\b(?:unexpected|should be)\b.{0,40}\bimage"
        rf"|(?:{_UNKNOWN}|only).{{0,60}}\b(?:type|content|part|block|variant)\b.{{0,30}}\bimage",
        re.IGNORECASE,
    ),
    "lists": re.compile(
        r"(?:content|system)\b.{0,60}(?:must be a string|valid string|str type expected"
        r"|expected (?:a )?string|be of type string|not a string)"
        r"|invalid type: sequence, expected a string|can only concatenate str"
        rf"|{_NO}(?:content parts|content blocks|content arrays?|array content|list content)",
        re.IGNORECASE,
    ),
    "stream": re.compile(
        rf"\bstream(?:ing)?\b.{{0,40}}(?:{_NOT}|extra inputs)|{_NO}\bstream(?:ing|s)?\b"
        r"|(?:unknown|unrecognized|unexpected)\b.{0,40}\bstream\b",
        re.IGNORECASE,
    ),
}

# The API's words for errors, in bodies and in streams.
_TYPES = {
    "authentication_error": "key_refused",
    "billing_error": "billing",
    "permission_error": "forbidden",
    "not_found_error": "not_found",
    "request_too_large": "too_large",
    "rate_limit_error": "rate_limited",
    "timeout_error": "overloaded",
    "overloaded_error": "overloaded",
    "api_error": "server_error",
    "invalid_request_error": "bad_request",
}

_STATUSES = {
    401: "key_refused",
    402: "billing",
    403: "forbidden",
    404: "not_found",
    405: "not_the_api",
    408: "overloaded",
    409: "server_error",
    410: "not_found",
    413: "too_large",
    429: "rate_limited",
    501: "not_the_api",
    503: "overloaded",
    504: "overloaded",
    529: "overloaded",
}
# Statuses that servers other than providers send as well.
_ANYBODYS = frozenset({401, 403, 404, 405})


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal: the status (0: none, it came in the stream), the API's error type and the
    message.
    """

    status: int
    type: str
    message: str
    # The model's window, where the server names it.
    window: int | None = None
    retry_after: float | None = None
    # The provider's own word on whether a retry makes sense.
    should_retry: bool | None = None

    @property
    def kind(self) -> str:
        if _CONTEXT.search(self.message) and self.status in {0, 400, 413, 422, 500}:
            return "context_overflow"
        if _DECLINED.search(self.message) and self.status in {0, 400, 403, 422, 451}:
            return "refused"
        if _BILLING.search(self.message) and self.status in {0, 400, 403}:
            return "billing"
        if self.status in _ANYBODYS and not self.type and not self.message:
            return "key_refused" if self.status == HTTPStatus.UNAUTHORIZED else "not_the_api"
        if self.status == HTTPStatus.NOT_FOUND and not self._is_about_a_model():
            return "not_the_api"
        return self._by_table()

    def _is_about_a_model(self) -> bool:
        """True when a 404 says that the model is missing; otherwise the address is wrong."""
        return self.type == "not_found_error" or "model" in self.message.lower()

    def _by_table(self) -> str:
        if self.status in _STATUSES:
            return _STATUSES[self.status]
        if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "server_error"
        if self.status >= HTTPStatus.BAD_REQUEST:
            return "bad_request"
        return "redirected" if self.status else _TYPES.get(self.type, "server_error")

    def refuses(self, parameter: str) -> bool:
        if self.status not in {400, 404, 415, 422, 500, 501}:
            return False
        if pattern := _REFUSES.get(parameter):
            return bool(pattern.search(self.message))
        return self.status != HTTPStatus.NOT_FOUND and parameter in self.message.lower()

    @property
    def most_tokens(self) -> int | None:
        """Return the longest reply it allows, when it says that the requested one was too long."""
        found = _MAX_TOKENS.search(self.message.lower())
        return int(found[2]) if found and self.status in {400, 422} else None

    def words(self, key: str) -> str:
        """Return the server's own words on one line, short, without *key* or any other secret."""
        text = self.message.replace(key, "[key]") if key else self.message
        text = "".join(" " if unicodedata.category(char)[0] == "C" else char for char in text)
        line = " ".join(redact(text).text.split())
        return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS].rstrip()}…"


def read_refusal(status: int, headers: Mapping[str, str], body: object) -> Refusal:
    type_, message = _words(body)
    return Refusal(
        status,
        type_,
        message,
        window=_window(body, message),
        retry_after=_retry_after(headers),
        should_retry=_SHOULD.get(headers.get("x-should-retry", "")),
    )


def read_error_event(data: Mapping[str, Any]) -> Refusal:
    type_, message = _words(data)
    return Refusal(0, type_, message, window=_window(data, message))


_SHOULD = {"true": True, "false": False}


# Fields for the message: the API's own, and those of other servers.
_PLACES = ("error", "message", "detail", "errors", "error_message", "msg", "title", "reason")
# Depth of nested errors that are read.
_DEEPEST = 8


def _words(body: object, depth: int = 0) -> tuple[str, str]:
    """Return the API's error type and the server's message; both may be empty."""
    if depth == _DEEPEST:
        return "", ""
    if isinstance(body, str):
        return _of_text(body, depth)
    if isinstance(body, list):
        # FastAPI names each field with its error.
        causes = [row if isinstance(row, str) else _field(row) for row in body[:5]]
        return "", "; ".join(filter(None, causes))[:_READ_CHARS]
    if not isinstance(body, dict):
        return "", ""
    type_ = body.get("type") if body.get("type") != "error" else ""
    for place in _PLACES:
        if body.get(place):
            inner, message = _words(body[place], depth + 1)
            if inner or message:
                return inner or (type_ if isinstance(type_, str) else ""), message
    return (type_ if isinstance(type_, str) else ""), ""


def _field(row: object) -> str:
    if not isinstance(row, dict):
        return ""
    place = row.get("loc")
    name = ".".join(map(str, place[:8])) if isinstance(place, list) else ""
    message = row.get("msg") or row.get("message") or ""
    return f"{name}: {message}" if name else str(message)


def _of_text(text: str, depth: int) -> tuple[str, str]:
    """Read a text: JSON in it (nested errors), the title of a page, or the text itself."""
    text = text[: 16 * _READ_CHARS].strip()
    if text.startswith(("{", "[")):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return "", text[:_READ_CHARS]
        return _words(value, depth + 1)
    if not text.startswith("<"):
        return "", text[:_READ_CHARS]
    for name in ("title", "h1"):
        found = re.search(rf"<{name}\b[^>]*>(.*?)</{name}", text, re.IGNORECASE | re.DOTALL)
        if found and (inner := re.sub(r"<[^>]*>", " ", found[1]).strip()):
            return "", html.unescape(inner)[:_READ_CHARS]
    return "", ""


def _window(body: object, message: str) -> int | None:
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and isinstance(error.get("n_ctx"), int):
        return _checked(error["n_ctx"])
    for pattern in _WINDOWS:
        if found := pattern.search(message):
            number = next(filter(None, found.groups()))
            return _checked(int(re.sub(r"\D", "", number)))
    return None


def _checked(window: int) -> int | None:
    return window if window >= _LEAST_WINDOW else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of ``retry-after-ms`` or ``retry-after`` (seconds or a date)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            seconds = float(value) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(date.timestamp() - time.time(), 0.0)
