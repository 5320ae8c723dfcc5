"""The token of the first run."""

from pathlib import Path

import pytest

from jenny.accounts.services import first_run
from jenny.env import DataFolder


def test_a_token_is_made_once_and_kept(tmp_path: Path) -> None:
    """The link printed at the first start is still right after a restart."""
    data = DataFolder(tmp_path)
    first = first_run.current_token(data, {})
    assert len(first) > 40
    assert first_run.current_token(data, {}) == first
    assert data.setup_token.stat().st_mode & 0o077 == 0


def test_the_operators_token_comes_first(tmp_path: Path) -> None:
    """JENNY_SETUP_TOKEN, or the file that it names, decides, and no other token is made."""
    data = DataFolder(tmp_path)
    assert first_run.current_token(data, {"JENNY_SETUP_TOKEN": "mine"}) == "mine"
    file = tmp_path / "given"
    file.write_text("from a file\n")
    assert first_run.current_token(data, {"JENNY_SETUP_TOKEN_FILE": str(file)}) == "from a file"
    assert not data.setup_token.exists()


@pytest.mark.parametrize(
    ("given", "is_right"),
    [
        ("token", True),
        (" token\n", True),
        ("Token", False),
        ("", False),
        ("tokén", False),
        ("token\0", False),
        ("\ud800", False),
        ("t" * 100_000, False),
    ],
)
def test_only_the_token_opens(given: str, is_right: bool) -> None:
    """Anything else is refused, whatever it holds; white space of pasting does not count."""
    assert first_run.matches_token(given, "token") is is_right


def test_the_link_leads_to_the_first_page() -> None:
    """A token with signs in it still makes a link that works."""
    link = first_run.setup_link("http://127.0.0.1:8000", "a b&c")
    assert link == "http://127.0.0.1:8000/setup/?token=a+b%26c"


def test_the_token_goes_when_there_is_an_owner(tmp_path: Path) -> None:
    """Nothing that opened the door is left lying about; twice is no fault."""
    data = DataFolder(tmp_path)
    first_run.current_token(data, {})
    first_run.forget_token(data)
    first_run.forget_token(data)
    assert not data.setup_token.exists()


def test_a_proof_is_worthless_for_another_token() -> None:
    """A session that proved an old token has to prove the new one."""
    assert first_run.token_proof("old") != first_run.token_proof("new")
