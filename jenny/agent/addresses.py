"""Check addresses of model servers: as people paste them, and the numbers they resolve to.

Private networks are allowed, since local model servers are there. Refused are addresses that no
model server has: cloud metadata services, which give credentials to any client inside, and
addresses that mean no single other machine.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from jenny.agent.errors import NoAddress

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_REFUSED_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",  # this machine; valid for listening only
        "169.254.0.0/16",  # link-local; metadata of AWS, Google, Azure and others
        "100.100.100.200/32",  # metadata of Alibaba Cloud
        "168.63.129.16/32",  # host agent of Azure
        "192.0.0.0/24",  # protocol assignments; metadata of Oracle Cloud
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "::/128",
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local, deprecated
        "fd00:ec2::/112",  # metadata of AWS
        "fd20:ce::/112",  # metadata of Google Cloud
        "fd00:42::42/128",  # metadata of Scaleway
        "ff00::/8",  # multicast
    )
)
# The last 32 bits are an IPv4 address: IPv4-compatible, and both prefixes of NAT64.
_EMBEDDING = tuple(
    ipaddress.ip_network(network) for network in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
_LOW_32_BITS = 0xFFFF_FFFF


def is_refused_number(address: Address) -> bool:
    """True when that address is never asked, in whatever form it is embedded."""
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        address = ipaddress.IPv6Address(int(address))
    if any(address in network for network in _REFUSED_NETWORKS):
        return True
    if isinstance(address, ipaddress.IPv4Address) or address.is_loopback:
        return False
    if address.ipv4_mapped is not None:
        return is_refused_number(address.ipv4_mapped)
    # No server on this machine is reached through a translator.
    return any(one.is_loopback or is_refused_number(one) for one in _embedded(address))


def _embedded(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 addresses that a translated or tunnelled one leads to."""
    found = list(address.teredo or ())
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    if any(address in network for network in _EMBEDDING):
        found.append(ipaddress.IPv4Address(int(address) & _LOW_32_BITS))
    return found


# The limit of the settings.
_LONGEST = 500
_DEFAULT_PORTS = {"http": 80, "https": 443}
# People copy the address from a server's own example, which includes the route.
_ROUTES = ("/v1/messages", "/v1")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
_REFUSED = (
    "This number is never asked: it is no model server's. Link-local addresses (169.254.…, fe80:…) "
    "and those where clouds hand out credentials are refused, and 0.0.0.0 names no machine: a "
    "server on this one is at 127.0.0.1."
)
_WANTED = "An address looks like http://localhost:11434 or https://models.example.org."


@dataclass(frozen=True)
class _Address:
    """The allowed parts of a base URL; ``host`` in the form of the wire."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def origin(self) -> str:
        suffix = "" if self.port in {None, _DEFAULT_PORTS[self.scheme]} else f":{self.port}"
        return f"{self.scheme}://{self.host}{suffix}"


def clean(given: str) -> str:
    """Return the address of a server of the Messages API, without the API's own route.

    :raises NoAddress: it is no address, or has parts that do not belong there.
    """
    address = _parse(given.strip())
    path = address.path.rstrip("/")
    for route in _ROUTES:
        path = path.removesuffix(route).rstrip("/")
    return address.origin + path


def origin(base_url: str) -> str:
    """Return scheme, host and port of *base_url* in one spelling: a key is bound to them.

    :raises NoAddress: it is no address.
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
    """Return the host for the wire: numbers in their usual form, names in IDNA."""
    try:
        number = ipaddress.ip_address(name)
    except ValueError:
        return _host_name(name)
    if is_refused_number(number):
        raise NoAddress(_REFUSED)
    return f"[{number}]" if number.version == 6 else str(number)  # noqa: PLR2004 - IPv6


def _host_name(name: str) -> str:
    try:
        host = name.encode("idna").decode().lower()
    except UnicodeError as error:
        raise NoAddress(_WANTED) from error
    # Resolvers take 2852039166 and 0x7f.1 for IPv4 addresses.
    if not host or _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        raise NoAddress(_WANTED)
    return host
