"""Models behind TLS, and behind a proxy, as most of them are.

What is trusted, and which proxy is used, a process reads once from its environment: these tests
ask from processes of their own.
"""

import datetime as dt
import ipaddress
import os
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jenny.agent.errors import ProviderFault
from tests.agent.asking import ask, provider
from tests.model_server import ModelServer

NAME = "model.test"
ROOT = Path(__file__).parents[2]
ASK = """
import sys
from jenny.agent.errors import ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.messages import text_message
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.cancellation import CancellationToken

source = Provider(Endpoint(sys.argv[1], "the-key"), Preset(name="p", model="m"))
try:
    for _ in range(2):
        *_, end = source.stream(
            system=[], messages=[text_message("user", "x" * 300_000)], tools=[],
            watch=CancellationToken(), limits=Limits(),
        )
    print(end.parts[0].text)
except ProviderFault as fault:
    print(fault.kind)
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for this host and for ``NAME``, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    names = [x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


@pytest.fixture
def secure(certificate):
    """A model's server behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ModelServer(tls=context) as server:
        yield server


def _ask(url, **environment):
    """What a process of its own gets from *url*, asked twice."""
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", ASK, url],
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()


def test_a_model_behind_tls_is_asked_over_one_connection(secure, certificate):
    """TLS works in both directions, with requests larger than a record, and is set up once."""
    for _ in range(2):
        secure.script("many ", *["words "] * 500, "end")
    assert _ask(secure.url, SSL_CERT_FILE=str(certificate)).endswith("words end")
    assert secure.connections() == 1
    assert secure.requests[0].headers["authorization"] == "Bearer the-key"


def test_a_certificate_that_nobody_vouches_for_is_refused(secure):
    """The key is not given to whoever poses as the model's server."""
    with pytest.raises(ProviderFault) as caught:
        ask(provider(secure))
    assert (caught.value.kind, caught.value.retryable) == ("insecure", False)
    assert secure.requests == []


def test_a_proxy_that_the_environment_names_is_used_and_sees_no_key(secure, certificate):
    """Jenny works from behind a proxy, which carries bytes that it cannot read."""
    with _Proxy(secure) as proxy:
        secure.script("one")
        secure.script("two")
        values = {"SSL_CERT_FILE": str(certificate), "HTTPS_PROXY": proxy.url}
        assert _ask(f"https://{NAME}/", **values) == "two"
    assert proxy.asked_for == [f"{NAME}:443"]
    assert b"the-key" not in proxy.seen


def test_a_server_on_this_machine_is_asked_without_the_proxy(secure, certificate):
    """A local model does not become unreachable where there is a proxy."""
    with _Proxy(secure) as proxy:
        values = {"SSL_CERT_FILE": str(certificate), "HTTPS_PROXY": proxy.url}
        assert _ask(secure.url, **values) == "ok"
        plain = secure.url.replace("https:", "http:")
        assert _ask(plain, HTTP_PROXY=proxy.url, ALL_PROXY=proxy.url) in {"dropped", "unreachable"}
    assert proxy.asked_for == []


def test_a_proxy_that_is_not_there_is_a_fault(secure):
    """A wrong proxy ends in a sentence."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert _ask(f"https://{NAME}/", HTTPS_PROXY=f"http://127.0.0.1:{port}") == "unreachable"
    assert secure.requests == []


class _Proxy:
    """An HTTP proxy that carries every connection to one server, and keeps what it saw."""

    def __init__(self, server):
        self.asked_for = []
        self.seen = b""
        self._target = server.url.removeprefix("https://").split(":")
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        self.seen += head
        self.asked_for.append(head.split()[1].decode())
        server = socket.create_connection((self._target[0], int(self._target[1])))
        client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        back = threading.Thread(target=_carry, args=(server, client, lambda _: None), daemon=True)
        back.start()
        _carry(client, server, self._keep)

    def _keep(self, data):
        self.seen += data


def _carry(source, target, see):
    with source, target:
        try:
            while data := source.recv(65536):
                see(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
