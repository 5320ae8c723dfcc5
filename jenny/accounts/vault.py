"""Encrypts API keys with Fernet, under a key derived from the instance's secret key.

The origin is part of the derivation, so that a ciphertext moved to another origin's row cannot be
decrypted there.

A page never shows a typed key again, so its field comes back empty. The session has the key
meanwhile: encrypted, bound to its address, and for an hour at most.
"""

import base64
import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

# Below this length, four letters would reveal too much of the key.
_SHORT = 16


class Unreadable(Exception):
    """The ciphertext was made with another secret key or for another origin, or is damaged."""


class Vault:
    """Encrypts and decrypts with keys derived from *secret*."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def encrypt(self, key: str, origin: str) -> bytes:
        """Encrypt *key*, readable only with the same secret and origin."""
        return self._fernet(origin).encrypt(key.encode())

    def decrypt(self, ciphertext: bytes, origin: str) -> str:
        """Decrypt a key that was encrypted for *origin*.

        :raises Unreadable: it was encrypted otherwise.
        """
        try:
            return self._fernet(origin).decrypt(ciphertext).decode()
        except InvalidToken as error:
            raise Unreadable from error

    def _fernet(self, origin: str) -> Fernet:
        info = b"jenny api key 1\0" + origin.encode()
        derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(self._secret)
        return Fernet(base64.urlsafe_b64encode(derived))


def mask(key: str) -> str:
    """Return dots and the last four characters of *key*."""
    return "••••" + (key[-4:] if len(key) >= _SHORT else "")


UNSAVED_KEY = "untried_key"
_SECONDS = 3600.0


@dataclass(frozen=True)
class UnsavedApiKey:
    """The key, and the origin that it was typed for."""

    origin: str
    key: str = field(repr=False)


def keep_api_key(session: MutableMapping[str, Any], vault: Vault, waiting: UnsavedApiKey) -> None:
    """Store the key in the session; it replaces an earlier one."""
    sealed = vault.encrypt(waiting.key, waiting.origin).decode()
    session[UNSAVED_KEY] = {"origin": waiting.origin, "sealed": sealed, "at": time.time()}


def read_api_key(session: MutableMapping[str, Any], vault: Vault) -> UnsavedApiKey | None:
    kept = session.get(UNSAVED_KEY)
    if kept is None or not 0 <= time.time() - kept["at"] < _SECONDS:
        return None
    try:
        return UnsavedApiKey(kept["origin"], vault.decrypt(kept["sealed"].encode(), kept["origin"]))
    except Unreadable:
        return None


def forget_api_key(session: MutableMapping[str, Any]) -> None:
    session.pop(UNSAVED_KEY, None)
