"""The token that the first visitor needs, so that nobody else becomes the owner.

It is ``JENNY_SETUP_TOKEN``, or is made once and kept in the data folder
(``07-contract``: first run).
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from urllib.parse import urlencode

from jenny import env


def current(data: env.DataFolder, environment: Mapping[str, str] = os.environ) -> str:
    """The token that counts now; made when there is none."""
    return env.secret("JENNY_SETUP_TOKEN", environment) or env.kept_secret(data.setup_token)


def matches(given: str, token: str) -> bool:
    """Whether *given* is the token. Takes the same time wherever they differ."""
    # Digests, since compare_digest gives the length away and refuses text beyond ASCII.
    return hmac.compare_digest(proof(given.strip()), proof(token))


def proof(token: str) -> str:
    """What a session keeps of a token that was right; worthless once the token is another."""
    return hashlib.sha256(b"jenny setup\0" + token.encode(errors="replace")).hexdigest()


def link(base: str, token: str) -> str:
    """The ready link for the terminal; *base* is like ``http://127.0.0.1:8000``."""
    return f"{base}/setup/?{urlencode({'token': token})}"


def forget(data: env.DataFolder) -> None:
    """Remove the kept token: an owner exists."""
    data.setup_token.unlink(missing_ok=True)
