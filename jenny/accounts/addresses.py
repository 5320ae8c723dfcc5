"""Base URLs and keys as people paste them, made fit to use."""

from jenny.accounts.errors import BadAddress, BadKey
from jenny.agent import addresses
from jenny.agent.errors import NoAddress

ANTHROPIC = "https://api.anthropic.com"
_LONGEST_KEY = 500


def clean_base_url(given: str) -> str:
    """The address of a server that speaks the Messages API, without the API's own route.

    :raises BadAddress: it is none, or holds what does not belong there.
    """
    try:
        return addresses.clean(given)
    except NoAddress as error:
        raise BadAddress(error.sentence) from error


def origin(base_url: str) -> str:
    """Scheme, host and port of *base_url* in one spelling: what a key is bound to.

    :raises BadAddress: it is none.
    """
    try:
        return addresses.origin(base_url)
    except NoAddress as error:
        raise BadAddress(error.sentence) from error


def clean_key(given: str) -> str:
    """An API key without the white space that pasting brings; may be empty.

    :raises BadKey: it could not be sent as a header.
    """
    key = given.strip()
    if len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        message = (
            "This does not look like an API key: a key is one word of plain letters, digits "
            "and signs. Copy it again."
        )
        raise BadKey(message)
    return key
