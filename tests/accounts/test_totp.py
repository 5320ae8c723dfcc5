"""Codes of authenticator apps."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.accounts import totp

# RFC 6238, appendix B: SHA-1, the last six of its eight digits.
SECRET = base64.b32encode(b"12345678901234567890").decode()
TIMES = [
    (59, "287082"),
    (1111111109, "081804"),
    (1111111111, "050471"),
    (1234567890, "005924"),
    (2000000000, "279037"),
    (20000000000, "353130"),
]


@pytest.mark.parametrize(("seconds", "code"), TIMES)
def test_the_codes_of_the_standard_are_made(seconds: int, code: str) -> None:
    """So any app makes the same."""
    assert totp.code_at(SECRET, seconds // 30) == code
    assert totp.step_of(SECRET, code, seconds) == seconds // 30
    assert totp.step_of(SECRET, f" {code[:3]} {code[3:]} ", seconds) == seconds // 30


@pytest.mark.parametrize(("off", "is_right"), [(-60, False), (-30, True), (30, True), (90, False)])
def test_a_clock_may_be_half_a_minute_off(off: int, is_right: bool) -> None:
    """Older and newer codes are not taken."""
    now = 1234567890
    code = totp.code_at(SECRET, (now + off) // 30)
    assert (totp.step_of(SECRET, code, now) is not None) is is_right


@given(st.text(max_size=12))
def test_whatever_is_typed_breaks_nothing(text: str) -> None:
    """Also digits of other scripts, and secrets that are none."""
    if not (text.strip().isascii() and text.strip().isdigit()):
        assert totp.step_of(SECRET, text, 59.0) is None
    assert totp.step_of("not base32!", "123456", 59.0) is None


def test_the_address_for_apps_holds_what_they_need() -> None:
    """Names with signs in them, too."""
    uri = totp.uri("ABCD====", "ana b&c/d")
    assert uri == "otpauth://totp/Jenny:ana%20b%26c%2Fd?secret=ABCD&issuer=Jenny"


def test_recovery_codes_are_many_and_unlike() -> None:
    """Typed with or without hyphens, in any case, they are the same; another account's are not."""
    codes = totp.new_codes()
    assert len(set(codes)) == totp.COUNT
    one = codes[0]
    kept = totp.digest("secret", 1, one)
    assert totp.digest("secret", 1, one.replace("-", " ").upper()) == kept
    assert one.replace("-", "") not in kept
    assert totp.digest("secret", 2, one) != kept
    assert totp.digest("other", 1, one) != kept
