"""Names of workspace folders."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.text_normalisation import folder_slug, slug_candidates


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ana", "ana"),
        ("Åsa Öberg", "asa-oberg"),
        ("ana@home.example", "ana-home-example"),
        ("安娜", "workspace"),
        ("..", "workspace"),
        ("../../etc", "etc"),
        ("", "workspace"),
        ("x" * 100, "x" * 40),
        ("a" * 39 + "-b", "a" * 39),
    ],
)
def test_a_name_becomes_a_plain_folder_name(name: str, expected: str) -> None:
    """Whatever somebody is called, the folder has a name that every system takes."""
    assert folder_slug(name) == expected


@given(st.text())
def test_no_name_escapes(name: str) -> None:
    """A slug is letters, digits and single hyphens, whatever was typed."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", folder_slug(name))
    assert len(folder_slug(name)) <= 40


def test_candidates_go_on() -> None:
    """A name that is taken gets a number."""
    assert list(itertools.islice(slug_candidates("Ana"), 3)) == ["ana", "ana-2", "ana-3"]
