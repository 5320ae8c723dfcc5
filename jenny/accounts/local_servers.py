"""Search for model servers on this machine: on the set-up page, and on request in the settings.

The usual ports on loopback are asked for their models (``GET /v1/models``) and for the Messages
API: an empty request to ``/v1/messages`` is refused by a server that has it, and answered with
404 by one that has not. No model is loaded or asked, no redirect is followed, no key is sent.
"""

import http.client
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

HOST = "127.0.0.1"
SECONDS = 2.0
_MOST_BYTES = 1_000_000
_MOST_MODELS = 40
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Product:
    """A program that serves models: its usual port, and what it needs to work with Jenny."""

    name: str
    port: int
    need: str = "a version that answers under /v1/messages"

    @property
    def url(self) -> str:
        return _url(self.port)


PRODUCTS = (
    Product("Ollama", 11434, "version 0.14 or newer, and a model that you pulled; no key"),
    Product("LM Studio", 1234, "version 0.4.1 or newer with its server switched on; no key"),
    Product("llama.cpp", 8080, "llama-server of 2026 or newer, started with a model; no key"),
    Product("vLLM", 8000, "a version of 2026, started with a model"),
    Product("SGLang", 30000),
    Product("LiteLLM", 4000, "its proxy with your models; the key that you gave it"),
    Product("Jan", 1337),
)


@dataclass(frozen=True, slots=True)
class Service:
    """A service on the internet that works with Jenny."""

    name: str
    url: str
    need: str


SERVICES = (
    Service("OpenRouter", "https://openrouter.ai/api", "a key from openrouter.ai/keys, and credit"),
    Service("DeepSeek", "https://api.deepseek.com/anthropic", "a key from platform.deepseek.com"),
    Service("Kimi", "https://api.moonshot.ai/anthropic", "a key from platform.moonshot.ai"),
    Service("Z.ai", "https://api.z.ai/api/anthropic", "a key from z.ai"),
)
_OWNERS = {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "sglang": "SGLang"}


@dataclass(frozen=True, slots=True)
class Found:
    """A server that answered. *missing* names what it lacks, empty when it can be used."""

    product: str
    url: str
    models: tuple[str, ...] = ()
    missing: str = ""


def find_servers(products: Sequence[Product] = PRODUCTS, *, own_port: int = 0) -> list[Found]:
    """Ask the usual ports in parallel and return the servers that answer, without Jenny's own."""
    asked = [row for row in products if row.port != own_port]
    with ThreadPoolExecutor(max_workers=len(asked) or 1) as pool:
        return [found for found in pool.map(_asked, asked) if found is not None]


def is_one(url: str, products: Sequence[Product] = PRODUCTS) -> bool:
    """True for an address that ``find_servers`` can return."""
    return url in {_url(row.port) for row in products}


def _asked(product: Product) -> Found | None:
    answer = _request(product.port, "GET", "/v1/models")
    if answer is None:
        return None
    status, body = answer
    url = _url(product.port)
    if status in {401, 403}:
        missing = "It wants a key: connect it below, with its key."
        return Found(product.name, url, missing=missing)
    rows = body.get("data") if isinstance(body, dict) else None
    if status != http.HTTPStatus.OK or not isinstance(rows, list):
        # Another program has the port.
        return None
    rows = [row for row in rows if isinstance(row, dict)]
    models = tuple(_names(rows))
    name = next(
        (_OWNERS[str(row["owned_by"])] for row in rows if str(row.get("owned_by")) in _OWNERS),
        product.name,
    )
    if not _knows_messages(product.port):
        missing = f"This version does not work with Jenny. She needs {product.need}."
        return Found(name, url, models, missing)
    if not models:
        return Found(name, url, missing="It has no model yet. Load one there, then look again.")
    return Found(name, url, models)


def _knows_messages(port: int) -> bool:
    answer = _request(port, "POST", "/v1/messages", b"{}")
    unknown = {http.HTTPStatus.NOT_FOUND, http.HTTPStatus.METHOD_NOT_ALLOWED}
    return answer is not None and answer[0] not in {*unknown, http.HTTPStatus.NOT_IMPLEMENTED}


def _request(
    port: int, method: str, path: str, body: bytes | None = None
) -> tuple[int, Any] | None:
    """Return status and JSON (``None`` when the body is none), or ``None`` when nobody answers."""
    connection = http.client.HTTPConnection(HOST, port, timeout=SECONDS)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read(_MOST_BYTES)
        status = answer.status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    try:
        return status, json.loads(data)
    except (ValueError, RecursionError):
        return status, None


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    for row in rows:
        name = row.get("id")
        is_name = isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()
        if is_name and name not in found:
            found.append(str(name))
    return found[:_MOST_MODELS]


def _url(port: int) -> str:
    return f"http://{HOST}:{port}"
