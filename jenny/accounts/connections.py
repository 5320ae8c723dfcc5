"""Creates, changes, removes and selects presets in ``config.json``, through its store."""

import http.client
import itertools
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny import text_normalisation
from jenny.accounts.endpoints import ANTHROPIC, RESERVED
from jenny.workspace import config
from jenny.workspace.config import PresetConfig
from jenny.workspace.errors import ConfigRefused

# Search for model servers on this machine: on the set-up page, and on request in the settings.
#
# The usual ports on loopback are asked for their models (``GET /v1/models``) and for the Messages
# API: an empty request to ``/v1/messages`` is refused by a server that has it, and answered with
# 404 by one that has not. No model is loaded or asked, no redirect is followed, no key is sent.


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


PRESETS = "modelPresets"
_OVERRIDE = "modelOverride"
# Leaves room for a number, so that the name can be typed after /model.
_LONGEST_STEM = 36


@dataclass(frozen=True)
class Removed:
    """A removed preset, to be restored as it was, unknown keys included."""

    name: str
    values: dict[str, Any]
    was_default: bool
    was_dreams: bool = False


def save_preset(root: Path, name: str, values: Mapping[str, Any], *, use: bool) -> bool:
    """Create the preset *name*, or change its keys in *values* (``None``: the key is removed).

    *use*: it becomes the default. True when the file changed.

    :raises ConfigRefused: a value is of the wrong kind or range.
    """

    def mutate(data: dict[str, Any]) -> None:
        preset = _section(_section(data, PRESETS), name)
        for key, value in values.items():
            if value is None:
                preset.pop(key, None)
            else:
                preset[key] = value
        if use:
            _defaults(data)["model"] = name

    return config.change_config(root, mutate)


def name_for(presets: Mapping[str, PresetConfig], base_url: str, model: str) -> str:
    """Return the name of the preset with this address and model, or a free one: Claude, or made
    from the model's name."""
    for preset in presets.values():
        if (preset.base_url.rstrip("/"), preset.model) == (base_url.rstrip("/"), model):
            return preset.name
    stem = "claude" if base_url == ANTHROPIC else model.rsplit("/", 1)[-1]
    names = text_normalisation.slug_candidates(stem)
    return next(name for name in names if name not in presets and name not in RESERVED)


def choose(root: Path, name: str) -> bool:
    """Make *name* the default (a preset, ``demo``, or empty: the environment's model)."""

    def mutate(data: dict[str, Any]) -> None:
        _set_default(data, name)

    return config.change_config(root, mutate)


def remove(root: Path, name: str) -> Removed | None:
    """Remove the preset *name*; ``None`` when there is none.

    Where it was the default, the environment's model becomes the default; where it was Dream's,
    Dream uses the default.
    """
    found: list[Removed] = []

    def mutate(data: dict[str, Any]) -> None:
        found.clear()
        values = _section(data, PRESETS).pop(name, None) if PRESETS in data else None
        if values is None:
            return
        was_default = _defaults(data).get("model") == name
        if was_default:
            _set_default(data, "")
        was_dreams = _named(data, "dream", _OVERRIDE) == name
        if was_dreams:
            _dream(data).pop(_OVERRIDE)
        found.append(Removed(name, values, was_default, was_dreams))

    config.change_config(root, mutate)
    return found[0] if found else None


def put_back(root: Path, removed: Removed) -> bool:
    """Undo ``remove``, unless a preset of that name was created meanwhile. True when undone."""
    done: list[bool] = []

    def mutate(data: dict[str, Any]) -> None:
        presets = _section(data, PRESETS)
        done[:] = [removed.name not in presets]
        if not done[0]:
            return
        presets[removed.name] = dict(removed.values)
        if removed.was_default:
            _set_default(data, removed.name)
        if removed.was_dreams:
            _dream(data)[_OVERRIDE] = removed.name

    config.change_config(root, mutate)
    return done[0]


def give_name(root: Path, name: str, new: str) -> bool:
    """Rename the preset to *new*, in its place in the file, and wherever the settings name it.

    ``False``: it no longer exists, or there is one called *new*.

    :raises ConfigRefused: *new* is not allowed as a name.
    """
    done: list[bool] = []

    def mutate(data: dict[str, Any]) -> None:
        presets = _section(data, PRESETS)
        done[:] = [name in presets and new not in presets]
        if not done[0]:
            return
        rows = [(new if key == name else key, values) for key, values in presets.items()]
        presets.clear()
        presets.update(rows)
        if _named(data, "model") == name:
            _set_default(data, new)
        if _named(data, "dream", _OVERRIDE) == name:
            _dream(data)[_OVERRIDE] = new

    config.change_config(root, mutate)
    return done[0]


def copy(root: Path, name: str) -> str:
    """Copy a preset under a new name, which is returned; empty when there is none to copy."""
    made: list[str] = []

    def mutate(data: dict[str, Any]) -> None:
        presets = _section(data, PRESETS)
        made.clear()
        if name not in presets:
            return
        stem = name[:_LONGEST_STEM]
        new = next(
            one for number in itertools.count(2) if (one := f"{stem}-{number}") not in presets
        )
        presets[new] = dict(presets[name])
        made.append(new)

    config.change_config(root, mutate)
    return made[0] if made else ""


def assign(root: Path, model: str, dreams: str) -> bool:
    """Set the default model (empty: the environment's) and Dream's (empty: the default).

    True when the file changed.
    """

    def mutate(data: dict[str, Any]) -> None:
        _set_default(data, model)
        if dreams:
            _dream(data)[_OVERRIDE] = dreams
        elif _named(data, "dream", _OVERRIDE) is not None:
            _dream(data).pop(_OVERRIDE)

    return config.change_config(root, mutate)


def _dream(data: dict[str, Any]) -> dict[str, Any]:
    return _section(_defaults(data), "dream")


def _defaults(data: dict[str, Any]) -> dict[str, Any]:
    return _section(_section(data, "agents"), "defaults")


def _named(data: dict[str, Any], *keys: str) -> Any:
    """Return the value below ``agents.defaults``, without creating missing objects."""
    found: Any = data
    for key in ("agents", "defaults", *keys):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _section(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object called *name*, created when missing; another value is not replaced."""
    section = data.setdefault(name, {})
    if not isinstance(section, dict):
        message = (
            f"config.json has something else than an object at {name}, which is left as it is. "
            "Repair the file first."
        )
        raise ConfigRefused(message)
    return section


def _set_default(data: dict[str, Any], name: str) -> None:
    if name:
        _defaults(data)["model"] = name
    elif _named(data, "model") is not None:
        _defaults(data).pop("model", None)
