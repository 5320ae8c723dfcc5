"""Secrets are taken out of a text; hashes, ids and prose stay."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    f"sk-svcacct-{some(74)}T3BlbkFJ{some(74)}",
    f"sk-ant-oat01-{some(90)}-{some(6)}",
    f"AQ.Ab8{some(50)}",
    f"1//0g{some(60)}",
    f"ABSK{some(120)}",
    f"glpat-{some(27)}.01.{some(9)}",
    f"glrt-{some(20)}",
    f"xoxe.xoxp-1-{some(60)}",
    f"xoxd-{some(40)}%2B{some(20)}%3D",
    f"rk_live_{some(40)}",
    f"sk_{some(48, '0123456789abcdef').lower()}",
    f"SK{some(32, '0123456789abcdef').lower()}",
    f"nvapi-{some(64)}",
    f"pcsk_{some(60)}",
    f"ATATT3xFfGF0{some(180)}=1A2B3C4D",
    f"dckr_pat_{some(27)}",
    f"PMAK-{some(24, '0123456789abcdef').lower()}-{some(34, '0123456789abcdef').lower()}",
    f"figd_{some(40)}",
    f"sbp_{some(40, '0123456789abcdef').lower()}",
    f"hvs.{some(90)}",
    f"{some(32, '0123456789abcdef').lower()}-us14",
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
        (
            f"https://api.telegram.org/bot123456789:AA{some(33)}/getMe",
            "https://api.telegram.org/bot[redacted: Telegram token]/getMe",
        ),
        (
            "Server=db.example;Database=x;User Id=ana;Password=S3cr3t!x;Encrypt=true",
            ";Password=[redacted: password];Encrypt=true",
        ),
        ("host=db dbname=x user=ana password=hunter22", "password=[redacted: password]"),
        (
            f"AccountName=store;AccountKey={some(86)}==;EndpointSuffix=core.example",
            "AccountKey=[redacted: password];EndpointSuffix=core.example",
        ),
        (
            f"https://example.com/hook?a=1&access_token={some(20)}&b=2",
            "?a=1&access_token=[redacted: secret in an address]&b=2",
        ),
        (f"export MISTRAL_API_KEY='{some(32)}'", "MISTRAL_API_KEY='[redacted: secret]'"),
        (f"aws_secret_access_key = {some(40)}", "aws_secret_access_key = [redacted: AWS key]"),
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
    "Set OPENAI_API_KEY=sk-... or sk-xxxxxxxxxxxxxxxxxxxxxxxx, else sk-your-api-key-goes-here-2026",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and sk-ant-api03-your-key-here",
    "MAX_TOKENS=4096, TOKEN=${TOKEN}, API_KEY=os.environ['KEY'], next_token: string",
    "password=short words are discussed; the key = value form; monkey=1234567890123456",
    "https://example.com/search?key=word&q=token and https://example.com/?page=2&sort=key",
    "SKU SK1234, the M25 motorway, MD5 d41d8cd98f00b204e9800998ecf8427e, key-value-store",
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
        "eyJ-" * 100_000,
        "bearer" + " " * 300_000,
        "authorization: basic" + " " * 300_000,
        "password=" + ";password = " * 50_000 + "host=x",
        "SECRET_" * 80_000,
        "?key=" * 100_000,
        "Private-Lines: 9\n" + "AAAA\n" * 100_000 + "!",
        "SG." + "a-" * 200_000,
        "ghp_" + "a1" * 20 + "\n" + "a1" * 200_000,
    ):
        assert len(redact(text).text) > 0


@pytest.mark.parametrize("secret", [SECRETS[0], SECRETS[2], SECRETS[4], SECRETS[9]])
@pytest.mark.parametrize("break_", ["\n", "\r\n    "])
def test_a_key_that_was_wrapped_goes_with_its_rest(secret: str, break_: str) -> None:
    """A narrow window puts its end into the next line; words there stay."""
    head, rest = f"{secret}", f"9z{some(12)}"
    assert redact(f"key: {head}{break_}{rest}\nthanks").text.split("\n")[-1] == "thanks"
    assert rest not in redact(f"key: {head}{break_}{rest}\nthanks").text
    assert redact(f"{head}\nunderstood\n").text.endswith("]\nunderstood\n")
    assert sum(hit.count for hit in redact(f"{head}\n{secret}\n").hits) == 2


@given(st.text(max_size=300))
def test_what_has_no_secret_is_as_it_was(text: str) -> None:
    """Nothing is changed without being told, and nothing is changed twice."""
    found = redact(text)
    assert found.hits or found.text == text
    assert redact(found.text).text == found.text


@given(st.text(max_size=60), st.sampled_from(SECRETS), st.text(max_size=60))
def test_no_surroundings_save_a_key(before: str, secret: str, after: str) -> None:
    """Whatever is written around it."""
    found = redact(f"{before} {secret} {after}")
    assert secret not in found.text
    assert found.hits
