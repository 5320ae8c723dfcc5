"""Stored API keys."""

import pytest

from jenny.accounts.vault import Unreadable, Vault, mask

KEY = "sk-ant-api03-0123456789abcdef"
HERE = "https://api.anthropic.com"


def test_a_key_comes_back_for_its_origin() -> None:
    """What was entered for an address can be used there."""
    stored = Vault("secret").encrypt(KEY, HERE)
    assert Vault("secret").decrypt(stored, HERE) == KEY


def test_a_stored_key_holds_nothing_of_the_key() -> None:
    """Somebody with the database alone has nothing, and equal keys do not look equal."""
    vault = Vault("secret")
    first, second = vault.encrypt(KEY, HERE), vault.encrypt(KEY, HERE)
    assert KEY.encode() not in first
    assert first != second


@pytest.mark.parametrize(
    ("secret", "origin"),
    [("another", HERE), ("secret", "https://evil.example"), ("secret", HERE + ":444")],
)
def test_a_key_is_bound_to_its_origin_and_instance(secret: str, origin: str) -> None:
    """A row moved to another address, or to another instance, gives no key."""
    stored = Vault("secret").encrypt(KEY, HERE)
    with pytest.raises(Unreadable):
        Vault(secret).decrypt(stored, origin)


@pytest.mark.parametrize("stored", [b"", b"nonsense", b"\x80" * 100])
def test_damaged_storage_is_told_apart_from_a_key(stored: bytes) -> None:
    """Bytes that are no ciphertext are unreadable, not a crash."""
    with pytest.raises(Unreadable):
        Vault("secret").decrypt(stored, HERE)


@pytest.mark.parametrize(
    ("key", "shown"), [(KEY, "••••cdef"), ("short", "••••"), ("", "••••"), ("x" * 16, "••••xxxx")]
)
def test_a_mask_shows_four_letters_of_a_long_key_only(key: str, shown: str) -> None:
    """Enough to tell keys apart, too little to use; short keys are not shown at all."""
    assert mask(key) == shown
