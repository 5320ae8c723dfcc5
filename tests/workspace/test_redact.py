"""Secrets are taken out of a text; hashes, ids and prose stay."""

import random
import string

import pytest

from jenny.workspace.redact import redact

LETTERS = string.ascii_letters + string.digits
R = random.Random(5)


def some(length: int, alphabet: str = LETTERS) -> str:
    """Random characters with digits and letters among each other."""
    return "a1B2" + "".join(R.choice(alphabet) for _ in range(length - 4))


SECRETS = [
    f"sk-ant-api03-{some(80)}-AA",
    f"sk-{some(48)}",
    f"sk-proj-{some(60)}_x-y",
    f"sk-or-v1-{some(64, '0123456789abcdef').lower()}",
    f"ghp_{some(36)}",
    f"github_pat_{some(22)}_{some(40)}",
    f"glpat-{some(20)}",
    f"xoxb-{R.randrange(10**11)}-{some(24)}",
    "AKIAIOSFODNN7EXAMPLE",
    f"AIza{some(35)}",
    f"sk_live_{some(24)}",
    f"hf_{some(34)}",
    f"gsk_{some(52)}",
    f"npm_{some(36)}",
    f"pypi-{some(80)}",
    f"SG.{some(22)}.{some(43)}",
    f"123456789:AA{some(33)}",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{some(43)}",
]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:8])
@pytest.mark.parametrize("around", ["{}", "my key is {}.", '"key": "{}",', "KEY={}\nnext", "({})"])
def test_a_well_known_key_goes(secret: str, around: str) -> None:
    """Wherever it stands; what is around it stays, and a second time changes nothing."""
    text = around.format(secret)
    found = redact(text)
    assert secret not in found.text
    assert secret[8:20] not in found.text
    before, _, after = around.partition("{}")
    assert found.text.startswith(before)
    assert found.text.endswith(after.removeprefix("."))
    assert sum(hit.count for hit in found.hits) == 1
    assert redact(found.text).text == found.text
    assert redact(found.text).hits == ()


KEY_LINES = "\n".join(some(64) for _ in range(12)) + "\n" + some(20) + "=="


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("is_ended", [True, False])
@pytest.mark.parametrize("breaks", ["\n", "\r\n", "\\n"])
def test_a_private_key_goes_as_a_whole(kind: str, is_ended: bool, breaks: str) -> None:
    """Also one that was pasted in half, or out of code."""
    block = f"-----BEGIN {kind}PRIVATE KEY-----\n{KEY_LINES}"
    if is_ended:
        block += f"\n-----END {kind}PRIVATE KEY-----"
    found = redact(f"before\n\n{block}\n\nand after".replace("\n", breaks))
    assert not any(row in found.text for row in KEY_LINES.split("\n")[:-1])
    assert "before" in found.text
    assert "and after" in found.text
    assert [(hit.kind, hit.count) for hit in found.hits] == [("private key", 1)]


def test_a_pgp_key_and_a_public_key() -> None:
    """The private one goes, the public one may stay."""
    private = (
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{KEY_LINES}\n-----END PGP PRIVATE KEY BLOCK-----"
    )
    assert redact(f"{private}\nx").text == "[redacted: private key]\nx"
    public = f"-----BEGIN PUBLIC KEY-----\n{KEY_LINES}\n-----END PUBLIC KEY-----"
    assert redact(public).text == public


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Authorization: Bearer {some(40)}", "Authorization: Bearer [redacted: bearer token]"),
        (f"curl -H 'authorization: bearer {some(24)}' x", "[redacted: bearer token]' x"),
        (f"Authorization: Basic {some(24)}==", "Authorization: Basic [redacted: password]"),
        ("postgres://ana:s3cr3t@db:5432/x", "postgres://ana:[redacted: password]@db:5432/x"),
        ("https://ana:p@ss:w0rd@host/path", "https://ana:[redacted: password]@host/path"),
        ("redis://:hunter2@localhost:6379/0", "redis://:[redacted: password]@localhost:6379/0"),
    ],
)
def test_tokens_and_passwords_in_addresses_go(text: str, left: str) -> None:
    """What stands before and behind them tells what they were for."""
    found = redact(text)
    assert found.text.endswith(left)
    assert len(found.hits) == 1
    assert redact(found.text).text == found.text


PROSE = [
    "commit 9f2c4e1b7a6d5c4b3a2f1e0d9c8b7a6f5e4d3c2b landed",
    "id 123e4567-e89b-12d3-a456-426614174000 and sha256:" + "0a1b" * 16,
    "The bearer of this letter is a friend; bearer bonds, Bearer authentication is needed.",
    "Use scikit-learn (sk-learn-something-quite-long-in-words) for the task-management-system.",
    "risk-adjusted-returns-of-the-portfolio2026 and desk-height-120cm-adjustable-white",
    "https://example.com:8443/a@b and mailto:ana@example.com and ssh://git@host:22/repo",
    "see http://localhost:8000/ then write to ana@example.com",
    "My password is not for you. Passwort: keines.",
    "ghp_short, AKIA1234, hf_hub_download, pypi-server, npm_config_registry, xoxo-hugs",
    "Věta česky, 日本語の文、и русский текст: ничего секретного.",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_hashes_and_ids_stay(text: str) -> None:
    """A false alarm would take away what somebody said."""
    assert redact(text).text == text
    assert redact(text).hits == ()


def test_several_secrets_are_counted_by_kind() -> None:
    """So that the person can be told."""
    text = f"{SECRETS[0]} {SECRETS[0]} {SECRETS[4]}"
    assert {hit.kind: hit.count for hit in redact(text).hits} == {
        "Anthropic key": 2,
        "GitHub token": 1,
    }


def test_large_and_hostile_texts_take_no_long() -> None:
    """The work grows with the text's length: a text made to go back and forth ends as well."""
    for text in (
        "-----BEGIN PRIVATE KEY-----" * 5_000,
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 500_000,
        "https://" + "a" * 300_000,
        "https://a:" * 30_000,
        "sk-" * 100_000,
        "bearer " * 50_000,
        "eyJ" + "a" * 200_000 + ".eyJ" + "b" * 200_000,
    ):
        assert len(redact(text).text) > 0
