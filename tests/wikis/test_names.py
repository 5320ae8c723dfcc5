"""What a new wiki may be called, and which names are the same."""

import pytest

from wikis import names
from wikis.errors import NameRefused


@pytest.mark.parametrize("name", ["bees", "B2", "my.project", "a_b-c", "9lives", "x" * 64])
def test_plain_names_are_taken(name: str) -> None:
    """Letters, digits, dots, dashes and underscores, up to 64."""
    assert names.checked(f" {name} ", ["other"]) == name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Moving house", "moving-house"),
        ("Zahrádka", "zahradka"),
        ("Ärger & Café", "arger-cafe"),
        ("日本語の庭", "日本語の庭"),
        ("हिन्दी बाग", "हिन्दी-बाग"),
        ("мой сад", "мой-сад"),
        ("بستان", "بستان"),
        ("a\n", "a"),
        ("../evil", "evil"),
        ("a/b", "a-b"),
        ("a\0b", "a-b"),
        ("-a", "a"),
        ("Long " * 40, "-".join(["long"] * 13)),
    ],
)
def test_a_title_in_any_script_names_a_folder(title: str, name: str) -> None:
    """It keeps the letters of the script and nothing that leads elsewhere."""
    assert names.checked(title) == name


@pytest.mark.parametrize("title", ["", ".", "..", "🌱", "CON", "nul.md", "x" * 65, "a."])
def test_others_are_refused_with_the_reason(title: str) -> None:
    """Whatever is reserved somewhere, too long, or has no letter."""
    with pytest.raises(NameRefused) as caught:
        names.checked(title)
    assert "Nothing was made" in caught.value.message
    assert caught.value.field == "name"


@pytest.mark.parametrize(
    ("name", "taken"), [("bees", "Bees"), ("cafe", "Café"), ("my-wiki", "my_wiki"), ("a.b", "A b")]
)
def test_a_name_that_means_the_same_is_taken(name: str, taken: str) -> None:
    """Case, accents, dashes and spaces part no two wikis."""
    with pytest.raises(NameRefused, match="which exists"):
        names.checked(name, ["zoo", taken])


def test_a_scope_is_one_line_of_some_length() -> None:
    """Line breaks become spaces; nothing, and more than 500 characters, is refused."""
    assert names.checked_scope(" Our\n hives ") == "Our hives"
    for scope in ("", "  \n", "x" * 501):
        with pytest.raises(NameRefused) as caught:
            names.checked_scope(scope)
        assert caught.value.field == "scope"


def test_slugs_join_what_people_write_and_what_files_are_called() -> None:
    """``[[Bee Hives]]`` finds ``bee-hives.md``; folders stay folders."""
    assert names.slug("Bee Hives") == names.slug("bee_hives") == names.slug("BEE-HIVES!")
    assert names.slug("Concepts/Königin") == "concepts/konigin"
