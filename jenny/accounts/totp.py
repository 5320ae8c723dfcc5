"""Time-based one-time passwords (RFC 6238), as authenticator apps make them: six digits, SHA-1,
30 seconds. Other parameters are read by few apps, and add nothing at this length."""

import base64
import binascii
import hashlib
import hmac
import secrets
import struct
from urllib.parse import quote

STEP_SECONDS = 30
DIGITS = 6
# Codes of the step before and after are taken too: clocks differ, and typing takes a while.
DRIFT_STEPS = 1
_SECRET_BYTES = 20


def new_secret() -> str:
    """A new secret, in Base32 as apps take it."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def code_at(secret: str, step: int) -> str:
    """The code of the time step with that number."""
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1).digest()
    offset = digest[-1] & 0x0F
    number = struct.unpack_from(">I", digest, offset)[0] & 0x7FFFFFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def step_of(secret: str, given: str, now: float) -> int | None:
    """The time step that *given* is the code of, near *now* (seconds since 1970); ``None``: none.

    Spaces in the code are no fault. Every comparison takes the same time.
    """
    code = "".join(given.split())
    if len(code) != DIGITS or not code.isascii() or not code.isdigit():
        return None
    current = int(now) // STEP_SECONDS
    found = None
    try:
        for step in range(max(0, current - DRIFT_STEPS), current + DRIFT_STEPS + 1):
            if hmac.compare_digest(code_at(secret, step), code):
                found = step
    except binascii.Error:
        return None
    return found


def uri(secret: str, account: str, issuer: str = "Jenny") -> str:
    """What the QR code says to an app."""
    label = f"{quote(issuer)}:{quote(account, safe='')}"
    return f"otpauth://totp/{label}?secret={secret.rstrip('=')}&issuer={quote(issuer)}"
