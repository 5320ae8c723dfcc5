"""Model servers on this machine, looked for only when somebody asks.

A few usual ports on loopback are asked which models they have (``GET /v1/models``, which all of
these servers answer) and whether they know the Messages API: an empty request to
``/v1/messages`` is refused by a server that knows it, and not found by one that does not. No model
is loaded or asked anything, no redirect is followed, no key is sent.
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
    """A program that serves models, its usual port, and what to do when it is too old."""

    name: str
    port: int
    cure: str = "Update it: newer versions know the Messages API."


PRODUCTS = (
    Product("Ollama", 11434, "Update Ollama: newer versions know the Messages API."),
    Product("LM Studio", 1234, "Update LM Studio: newer versions know the Messages API."),
    Product("llama.cpp", 8080, "Update llama.cpp: its server knows the Messages API since 2026."),
    Product("vLLM", 8000, "Update vLLM: newer versions know the Messages API."),
    Product("SGLang", 30000),
    Product("LiteLLM", 4000),
    Product("Jan", 1337),
)
# What servers say of whom their models belong to.
_OWNERS = {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "sglang": "SGLang"}


@dataclass(frozen=True, slots=True)
class Found:
    """A server that answered. *missing*: what it lacks to be used, empty when nothing."""

    product: str
    url: str
    models: tuple[str, ...] = ()
    missing: str = ""


def look(products: Sequence[Product] = PRODUCTS, *, own_port: int = 0) -> list[Found]:
    """The servers that answer on the usual ports, all asked at once; never Jenny's own port."""
    asked = [row for row in products if row.port != own_port]
    with ThreadPoolExecutor(max_workers=len(asked) or 1) as pool:
        return [found for found in pool.map(_asked, asked) if found is not None]


def is_one(url: str, products: Sequence[Product] = PRODUCTS) -> bool:
    """Whether that is an address that ``look`` would have given."""
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
        # Something else has the port; it is nobody's business here.
        return None
    rows = [row for row in rows if isinstance(row, dict)]
    models = tuple(_names(rows))
    name = next(
        (_OWNERS[str(row["owned_by"])] for row in rows if str(row.get("owned_by")) in _OWNERS),
        product.name,
    )
    if not _knows_messages(product.port):
        missing = f"It does not know the Messages API, which Jenny speaks. {product.cure}"
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
    """Status and JSON (``None``: it is none); ``None``: nobody answers there."""
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
    """What the server calls its models, as far as that can be a model's name."""
    found: list[str] = []
    for row in rows:
        name = row.get("id")
        is_name = isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()
        if is_name and name not in found:
            found.append(str(name))
    return found[:_MOST_MODELS]


def _url(port: int) -> str:
    return f"http://{HOST}:{port}"
