"""Addresses and keys as people paste them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.accounts.endpoints import clean_base_url, clean_key, origin_of
from jenny.accounts.errors import BadAddress, BadKey


@pytest.mark.parametrize(
    ("pasted", "clean"),
    [
        ("http://localhost:11434", "http://localhost:11434"),
        ("http://localhost:11434/v1/", "http://localhost:11434"),
        (" https://API.Anthropic.com:443/v1/messages ", "https://api.anthropic.com"),
        ("https://example.org/models/v1", "https://example.org/models"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("http://Bücher.example", "http://xn--bcher-kva.example"),
        ("http://192.168.1.20:8080", "http://192.168.1.20:8080"),
        ("http://100.101.102.103:11434", "http://100.101.102.103:11434"),
        ("http://[fd12:3456::7]:8080", "http://[fd12:3456::7]:8080"),
        ("http://[64:ff9b::808:808]", "http://[64:ff9b::808:808]"),
    ],
)
def test_an_address_is_taken_as_it_is_copied(pasted: str, clean: str) -> None:
    """With the API's route, capitals, a default port: it is the same server."""
    assert clean_base_url(pasted) == clean


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        "localhost",
        "//localhost",
        "ftp://host",
        "javascript:alert(1)",
        "http://",
        "http://:80",
        "http://host:99999",
        "http://host:0",
        "http://[::1",
        "http://ho st",
        "http://host\n.evil",
        "http://user@host",
        "http://user:pass@host",
        "http://@host",
        "http://host?x=1",
        "http://host#x",
        "http://good.example\\@evil.example",
        "http://" + "a" * 300,
        # What answers here hands out a cloud's credentials, in any spelling.
        "http://169.254.169.254/",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "http://0251.0376.0251.0376/",
        "http://0.0.0.0:11434",
        "http://[::]:11434",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://192.0.0.192/",
        "http://255.255.255.255/",
        "http://224.0.0.1/",
        "http://[fd00:ec2::254]/",
        "http://[fd20:ce::254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[64:ff9b:1::a9fe:a9fe]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[::169.254.169.254]/",
        "http://[2002:a9fe:a9fe::1]/",
        "http://[2001:0:a9fe:a9fe:0:0:0:0]/",
        "http://[2001:0:4136:e378:8000:63bf:5601:5601]/",
        "http://[::ffff:0.0.0.0]/",
        "http://0xa9fea9fe/",
        "http://169.254.43518/",
        "http://127.1./",
    ],
)
def test_what_is_no_address_is_refused_in_a_sentence(pasted: str) -> None:
    """Nothing else is ever asked, and the sentence ends with a full stop."""
    with pytest.raises(BadAddress) as caught:
        clean_base_url(pasted)
    assert caught.value.message.endswith(".")


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    """Any text is an address or refused, and a clean address stays as it is."""
    try:
        clean = clean_base_url(text)
    except BadAddress:
        return
    assert clean_base_url(clean) == clean


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.example", "https://A.example:443/x", True),
        ("https://a.example", "http://a.example", False),
        ("https://a.example", "https://a.example:444", False),
        ("https://a.example", "https://a.example.evil.example", False),
        ("http://[::1]", "http://[0:0::1]:80", True),
    ],
)
def test_an_origin_is_scheme_host_and_port(one: str, other: str, same: bool) -> None:
    """What a key is bound to does not hang on spelling, and nothing else shares it."""
    assert (origin_of(one) == origin_of(other)) is same


def test_a_key_loses_the_white_space_of_pasting() -> None:
    """A line end copied with the key does not make it wrong."""
    assert clean_key("  sk-ant-123\n") == "sk-ant-123"
    assert clean_key("") == ""


@pytest.mark.parametrize("key", ["sk ant", "sk\r\nX-Evil: 1", "schlüssel", "k" * 501, "a\0b"])
def test_what_could_not_be_a_header_is_no_key(key: str) -> None:
    """A key that would break the request, or add to it, is refused."""
    with pytest.raises(BadKey):
        clean_key(key)
