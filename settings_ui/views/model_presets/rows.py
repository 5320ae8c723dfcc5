from collections.abc import Iterable
from dataclasses import dataclass

from jenny.accounts import access, endpoints
from jenny.accounts.endpoints import ANTHROPIC, origin_of
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.models import ApiKey
from jenny.workspace.config import Config


@dataclass(frozen=True)
class Row:
    """A model in the list.

    ``key`` says where its key is; ``uses`` names its present uses; ``price`` is empty when
    unknown.
    """

    name: str
    model: str
    address: str
    key: str
    is_current: bool
    is_demo: bool
    can_change: bool
    uses: tuple[str, ...] = ()
    price: str = ""


def row_of(
    config: Config,
    choice: endpoints.Choice,
    stored: dict[str, ApiKey],
    *,
    current: str,
    uses: Iterable[str],
) -> Row:
    """Build the row of one model; *stored* holds the account's keys by origin."""
    return Row(
        name=choice.name,
        model=choice.preset.model,
        address=choice.preset.base_url,
        key="" if choice.is_demo else _key_in_words(choice, stored),
        is_current=choice.name == current,
        is_demo=choice.is_demo,
        can_change=choice.name in config.presets,
        uses=tuple(uses),
        price=_price(choice),
    )


def place_of(choice: endpoints.Choice) -> str:
    """Return the origin of the model's server; empty for an unusable address."""
    try:
        return origin_of(choice.preset.base_url)
    except ConnectionProblem:
        return ""


def _key_in_words(choice: endpoints.Choice, stored: dict[str, ApiKey]) -> str:
    environment = access.environment()
    if not (place := place_of(choice)):
        return "none: the address cannot be used"
    if place in stored:
        row = stored[place]
        return row.hint if row.reveal() is not None else "stored, but no longer readable"
    if environment.key and environment.origin == place:
        return "from the environment"
    return "missing" if place == ANTHROPIC else "none"


def _price(choice: endpoints.Choice) -> str:
    prices = choice.preset.prices
    if prices is None:
        return ""
    return f"${float(prices.input):,.6g} in, ${float(prices.output):,.6g} out a million tokens"
