"""What a provider's refusal means: its status and error body, read into a kind of ``FAULTS``.

Bodies are read for known words only and shown to nobody: they quote requests, and sometimes
keys. A body from a server that is no provider at all (a router's page, a proxy) is common.
"""

import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

_CONTEXT = re.compile(
    r"prompt is too long|context[ _-]?(?:length|window|size)|maximum context|too many tokens"
    r"|exceed\w*.{0,40}context",
    re.IGNORECASE,
)
_BILLING = re.compile(r"credit balance|billing|payment|quota", re.IGNORECASE)
_MAX_TOKENS = re.compile(r"max_tokens\D{0,40}(\d+)\s*>\s*(\d+)")
_NO_TOOLS = re.compile(
    r"(?:not|n't|no|without)\b.{0,20}\bsupport\w*.{0,30}\btools?\b"
    r"|\btools?\b.{0,40}(?:not supported|unsupported|not permitted|not allowed)",
    re.IGNORECASE,
)

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
# Statuses that servers which are no provider give as well.
_ANYBODYS = frozenset({401, 403, 404, 405})


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is known of a refusal: the status (0: none, it came in the stream), the API's word
    for the error, and its message in small letters, for looking up words.
    """

    status: int
    type: str
    message: str
    retry_after: float | None = None
    # The provider's own word on whether trying again makes sense.
    should_retry: bool | None = None

    @property
    def kind(self) -> str:
        """The kind of fault."""
        if _CONTEXT.search(self.message) and self.status in {0, 400, 413, 422, 500}:
            return "context_overflow"
        if _BILLING.search(self.message) and self.status in {0, 400, 403}:
            return "billing"
        if self.status in _ANYBODYS and not self.type and not self.message:
            return "key_refused" if self.status == HTTPStatus.UNAUTHORIZED else "not_the_api"
        return self._by_table()

    def _by_table(self) -> str:
        if self.status in _STATUSES:
            return _STATUSES[self.status]
        if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "server_error"
        if self.status >= HTTPStatus.BAD_REQUEST:
            return "bad_request"
        return "redirected" if self.status else _TYPES.get(self.type, "server_error")

    def refuses(self, parameter: str) -> bool:
        """Whether it is that optional parameter which is refused."""
        if self.status not in {400, 422, 500, 501}:
            return False
        if parameter == "tools":
            return bool(_NO_TOOLS.search(self.message))
        return parameter in self.message

    @property
    def most_tokens(self) -> int | None:
        """The longest reply it allows, when it says that too long a one was asked for."""
        found = _MAX_TOKENS.search(self.message)
        return int(found[2]) if found and self.status in {400, 422} else None


def read(status: int, headers: Mapping[str, str], body: object) -> Refusal:
    """Read a refusal from an HTTP answer."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, str):
        error = {"message": error}
    type_, message = _words(error)
    return Refusal(
        status,
        type_,
        message,
        _retry_after(headers),
        _SHOULD.get(headers.get("x-should-retry", "")),
    )


def read_event(data: Mapping[str, Any]) -> Refusal:
    """Read a refusal from an error event of a stream."""
    return Refusal(0, *_words(data.get("error")))


_SHOULD = {"true": True, "false": False}


def _words(error: object) -> tuple[str, str]:
    if not isinstance(error, dict):
        return "", ""
    type_, message = error.get("type"), error.get("message")
    return (
        type_ if isinstance(type_, str) else "",
        message[:4000].lower() if isinstance(message, str) else "",
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or a date)."""
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
