"""Structured logs: a sentence, then fields, as text or as JSON lines.

Texts of people, answers of models and secrets are never logged. Callers are responsible for that;
this module is the second line of defence: an exception is logged by its kind, its place and the
shortened first line of its message, since databases and parsers put values into the rest; and text
that looks like a key, or is one, is redacted.
"""

import contextvars
import json
import logging
import re
import secrets
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from pythonjsonlogger.json import JsonFormatter

ExceptionInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)

EXCEPTION_CHARACTERS = 200
HIDDEN = "[hidden]"
KEY_SHAPES = re.compile(
    r"sk-[A-Za-z0-9_-]{8,}|(?<=Bearer )\S+|(?<=token=)[^\s&\"']+|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
)
STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}


class RequestId:
    """The id of the request that the current task or thread works for."""

    def __init__(self) -> None:
        self._current: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="")

    def new(self) -> str:
        """Create an id for everything that runs in this context from here on."""
        identity = secrets.token_hex(6)
        self._current.set(identity)
        return identity

    def get(self) -> str:
        """Return the id, or an empty string outside a request."""
        return self._current.get()


request_id = RequestId()
_secrets: set[str] = set()


def hide(secret: str) -> None:
    """Redact *secret* in every later line, unless it is too short to be matched safely."""
    if len(secret) >= 8:  # noqa: PLR2004 -- told above
        _secrets.add(secret)


def redact(text: str) -> str:
    """Redact what looks like a key, and what :func:`hide` was given."""
    for secret in _secrets:
        text = text.replace(secret, HIDDEN)
    return KEY_SHAPES.sub(HIDDEN, text)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the record's own fields (``extra=``), with the request's id."""
    extra = {key: value for key, value in vars(record).items() if key not in STANDARD_FIELDS}
    # Django attaches whole requests to its records, Celery its own task descriptions.
    fields = {
        key: value
        for key, value in extra.items()
        if isinstance(value, str | int | float | bool | None)
    }
    if request_id.get() and "request" not in fields:
        fields["request"] = request_id.get()
    return fields


def exception_text(info: ExceptionInfo) -> str:
    """Return the exception's kinds, shortened messages and places, without values."""
    if info[1] is None:
        return ""
    lines = []
    error: BaseException | None = info[1]
    while error is not None:
        message = str(error).partition("\n")[0][:EXCEPTION_CHARACTERS]
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        lines.append(f"{kind}: {message}")
        lines.extend(
            f"  at {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        )
        follows = error.__context__ if not error.__suppress_context__ else None
        error = error.__cause__ or follows
    return "\n".join(lines)


class TextFormatter(logging.Formatter):
    """``2026-11-30T12:00:00.123Z INFO jenny.request: request method=GET path=/chat/ …``."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds")
        line = f"{stamp[:-6]}Z {record.levelname} {record.name}: {record.getMessage()}"
        for key, value in fields_of(record).items():
            text = str(value)
            is_plain = text and text.isprintable() and " " not in text
            line += f" {key}={text if is_plain else json.dumps(text)}"
        line = line.replace("\n", "\\n")
        if record.exc_info:
            line += "\n" + exception_text(record.exc_info)
        return redact(line)


class JsonLines(JsonFormatter):
    """One JSON object per line: ``time level logger message`` and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds")
        entry = {
            "time": f"{stamp[:-6]}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            **fields_of(record),
        }
        if record.exc_info:
            entry["exception"] = exception_text(record.exc_info)
        return redact(self.jsonify_log_record(entry))


FORMATTERS: dict[str, type[logging.Formatter]] = {"text": TextFormatter, "json": JsonLines}

# Their INFO lines report every poll, every tick and every URL; anthropic's DEBUG has texts.
QUIET = (
    "anthropic",
    "asyncio",
    "axes",
    "celery.app.trace",
    "celery.apps.worker",
    "celery.beat",
    "celery.worker",
    "celery.worker.strategy",
    "django_celery_beat",
    "git",
    "httpcore2",
    "httpx2",
    "kombu",
    "markdown_it",
    "uvicorn.access",
    "uvicorn.error",
)


def config(style: str) -> dict[str, Any]:
    """Return the ``logging.config.dictConfig`` of this process; it writes to standard error.

    *style* is ``text`` or ``json``.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": FORMATTERS[style]}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["console"], "level": "INFO"},
        "loggers": {
            **{name: {"level": "WARNING"} for name in QUIET},
            # Django's own handlers would bypass the formatter.
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
            # jenny.request logs a refused request already; a failed one has a cause.
            "django.request": {"level": "ERROR"},
        },
    }
