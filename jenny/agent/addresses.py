"""Addresses of models' servers, as people paste them and as they are asked."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from jenny.agent.errors import NoAddress

# As long as the settings let one be.
_LONGEST = 500
_DEFAULT_PORTS = {"http": 80, "https": 443}
# People copy the address from a server's own example, which goes on to the route.
_ROUTES = ("/v1/messages", "/v1")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
_WANTED = "An address looks like http://localhost:11434 or https://models.example.org."


@dataclass(frozen=True)
class _Address:
    """The parts of a base URL that may stay; ``host`` as it goes over the wire."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def origin(self) -> str:
        suffix = "" if self.port in {None, _DEFAULT_PORTS[self.scheme]} else f":{self.port}"
        return f"{self.scheme}://{self.host}{suffix}"


def clean(given: str) -> str:
    """The address of a server that speaks the Messages API, without the API's own route.

    :raises NoAddress: it is none, or holds what does not belong there.
    """
    address = _parse(given.strip())
    path = address.path.rstrip("/")
    for route in _ROUTES:
        path = path.removesuffix(route).rstrip("/")
    return address.origin + path


def origin(base_url: str) -> str:
    """Scheme, host and port of *base_url* in one spelling: what a key is bound to.

    :raises NoAddress:
    """
    return _parse(base_url).origin


def _parse(text: str) -> _Address:
    if len(text) > _LONGEST or not text.isprintable() or " " in text or "\\" in text:
        raise NoAddress(_WANTED)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:  # a port beyond 65535, half a bracket
        raise NoAddress(_WANTED) from error
    if parts.scheme not in _DEFAULT_PORTS or port == 0:
        raise NoAddress(_WANTED)
    _refuse_extras(parts)
    return _Address(parts.scheme, _host(parts.hostname or ""), port, parts.path)


def _refuse_extras(parts: SplitResult) -> None:
    if parts.username is not None or parts.password is not None:
        message = "Leave user names and passwords out of the address. Keys have their own field."
        raise NoAddress(message)
    if parts.query or parts.fragment:
        message = "The address ends before ? and #. Leave out what follows."
        raise NoAddress(message)


def _host(name: str) -> str:
    """The host as it goes over the wire: numbers in their usual form, names in IDNA."""
    try:
        number = ipaddress.ip_address(name)
    except ValueError:
        return _host_name(name)
    mapped = getattr(number, "ipv4_mapped", None) or number
    if mapped.is_link_local:
        # Where clouds hand credentials to whatever asks from the inside.
        message = "Addresses of the kind 169.254.… and fe80:… are not asked."
        raise NoAddress(message)
    return f"[{number}]" if number.version == 6 else str(number)  # noqa: PLR2004 - IPv6


def _host_name(name: str) -> str:
    try:
        host = name.encode("idna").decode().lower()
    except UnicodeError as error:
        raise NoAddress(_WANTED) from error
    # 2852039166 and 0x7f.1 are numbers in disguise to whatever resolves them.
    if not host or _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        raise NoAddress(_WANTED)
    return host
