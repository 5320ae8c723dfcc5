"""Time-based one-time passwords (RFC 6238): six digits, SHA-1, 30 seconds.

Few authenticator apps support other parameters, which add nothing at this length.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import struct
from urllib.parse import quote

from jenny.text_normalisation import fold

STEP_SECONDS = 30
DIGITS = 6
# Codes of the step before and after are accepted too: clocks differ, and typing takes time.
DRIFT_STEPS = 1
_SECRET_BYTES = 20


def new_secret() -> str:
    """Return a new secret in Base32."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def code_at(secret: str, step: int) -> str:
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1).digest()
    offset = digest[-1] & 0x0F
    number = struct.unpack_from(">I", digest, offset)[0] & 0x7FFFFFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def step_of(secret: str, given: str, now: float) -> int | None:
    """Return the time step near *now* (seconds since 1970) whose code is *given*; ``None``: none.

    Spaces in the code are ignored. Every comparison takes the same time.
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
    label = f"{quote(issuer)}:{quote(account, safe='')}"
    return f"otpauth://totp/{label}?secret={secret.rstrip('=')}&issuer={quote(issuer)}"


COUNT = 10
# Without letters that look like others or like digits: 16 of them are 73 bits.
_LETTERS = "23456789abcdefghjkmnpqrs"
_LENGTH = 16
_GROUP = 4


def new_codes() -> list[str]:
    return [_shown() for _ in range(COUNT)]


def _shown() -> str:
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return "-".join(letters[at : at + _GROUP] for at in range(0, _LENGTH, _GROUP))


def digest(secret_key: str, account: int, code: str) -> str:
    """Return the stored form of a code, bound to the instance's secret and the account.

    Codes are too long for guessing, so a slow hash would protect nothing.
    """
    plain = "".join(letter for letter in fold(code) if letter.isalnum())
    text = f"jenny recovery code 1\0{account}\0{plain}".encode()
    return hmac.new(secret_key.encode(), text, hashlib.sha256).hexdigest()
