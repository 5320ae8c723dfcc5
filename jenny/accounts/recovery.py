"""Recovery codes: for whoever lost the app that makes the codes of the second factor."""

import hashlib
import hmac
import secrets

COUNT = 10
# No letter that is read as another, or as a digit: 16 of them are 73 bits.
_LETTERS = "23456789abcdefghjkmnpqrs"
_LENGTH = 16
_GROUP = 4


def new_codes() -> list[str]:
    """New codes, as they are shown."""
    return [_shown() for _ in range(COUNT)]


def _shown() -> str:
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return "-".join(letters[at : at + _GROUP] for at in range(0, _LENGTH, _GROUP))


def digest(secret_key: str, account: int, code: str) -> str:
    """What is kept of a code: bound to the instance's secret and the account.

    A code cannot be guessed from it by trying, so that a slow hash would protect nothing.
    """
    plain = "".join(letter for letter in code.casefold() if letter.isalnum())
    text = f"jenny recovery code 1\0{account}\0{plain}".encode()
    return hmac.new(secret_key.encode(), text, hashlib.sha256).hexdigest()
