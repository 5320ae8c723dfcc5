"""Encryption of API keys: Fernet, under a key derived from the instance's secret key.

The origin goes into the derivation, so that a ciphertext moved to another origin's
row cannot be read there (``07-contract``: each key is bound to its origin).
"""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

# Below this length, four letters would give too much of the key away.
_SHORT = 16


class Unreadable(Exception):
    """The ciphertext was made with another secret key or for another origin, or is damaged."""


class Vault:
    """Encrypts and decrypts with keys derived from *secret*."""

    def __init__(self, secret: str) -> None:
        """Take the instance's secret key."""
        self._secret = secret.encode()

    def encrypt(self, key: str, origin: str) -> bytes:
        """*key*, readable only with the same secret and origin."""
        return self._fernet(origin).encrypt(key.encode())

    def decrypt(self, ciphertext: bytes, origin: str) -> str:
        """The key that was encrypted for *origin*.

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
    """What may be shown of *key*: dots and its last four characters."""
    return "••••" + (key[-4:] if len(key) >= _SHORT else "")
