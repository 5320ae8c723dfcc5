"""Where a link may lead, and which pictures may be shown without asking anyone for them."""

import binascii
import re
from base64 import b64decode
from urllib.parse import urlsplit

from jenny.markdown import limits

SCHEMES = frozenset({"http", "https", "mailto", "tel"})

_PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+={0,2})\Z")
_FIRST_BYTES = {"png": b"\x89PNG\r\n", "jpeg": b"\xff\xd8\xff", "gif": b"GIF8", "webp": b"RIFF"}
# What browsers drop from an address before they read its scheme ("java\tscript:").
_INVISIBLE = re.compile(
    "[\x00-\x20\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]"
)


def safe_address(address: str) -> str | None:
    """*address* when a link may lead there: a scheme on the list, or a page of this app."""
    if _INVISIBLE.search(address):
        return None
    if address.startswith("/") and not address.startswith(("//", "/\\")):
        return address
    scheme, colon, rest = address.partition(":")
    return address if colon and rest and scheme.lower() in SCHEMES else None


def leads_outside(address: str) -> bool:
    """Whether *address* is a page of another site."""
    return address[:8].lower().startswith(("http://", "https://"))


def host(address: str) -> str:
    """The host that *address* names, "" when it names none."""
    if not leads_outside(address):
        return ""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def is_picture(address: str) -> bool:
    """Whether *address* holds a picture itself: no script in its format, and of bounded size."""
    if len(address) > limits.IMAGE:
        return False
    found = _PICTURE.match(address)
    if found is None:
        return False
    try:
        start = b64decode(found[2][:16])
    except (binascii.Error, ValueError):
        return False
    return start.startswith(_FIRST_BYTES[found[1]])
