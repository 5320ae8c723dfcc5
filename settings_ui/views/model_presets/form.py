"""The form of an existing preset."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from jenny.accounts.endpoints import PRESET_NAME, RESERVED
from jenny.accounts.forms import ModelForm
from jenny.workspace.config import PRESET_FIELDS, PresetConfig, Value

PRICES = ("inputPrice", "outputPrice", "cacheReadPrice", "cacheWritePrice")
_CHOICES = ("thinking", "pictures")
_MORE = ("temperature", *_CHOICES, *PRICES)
_HELP = {
    "inputPrice": "As the provider's price list says it.",
    "outputPrice": "Both this and the price of input are needed before a cost can be shown.",
    "cacheReadPrice": "Empty: a tenth of the price of input, which is what Anthropic takes.",
    "cacheWritePrice": "Empty: one and a quarter of the price of input, as with Anthropic.",
}


class PresetForm(ModelForm):
    name = forms.CharField(
        label="Name",
        required=False,
        max_length=64,
        help_text="What you type after /model. Conversations that chose it follow a new name.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    temperature = forms.CharField(label="Temperature", required=False, max_length=20)
    thinking = forms.ChoiceField(label="Thinking", required=False)
    pictures = forms.ChoiceField(label="Pictures", required=False)
    inputPrice = forms.CharField(required=False, max_length=20)  # noqa: N815 - as in config.json
    outputPrice = forms.CharField(required=False, max_length=20)  # noqa: N815 - as above
    cacheReadPrice = forms.CharField(required=False, max_length=20)  # noqa: N815 - as above
    cacheWritePrice = forms.CharField(required=False, max_length=20)  # noqa: N815 - as above

    def __init__(
        self, *args: Any, row: PresetConfig, taken: Collection[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.row, self.taken = row, taken
        self.initial = {
            "name": row.name,
            "model": row.model,
            "baseUrl": row.base_url,
            "maxTokens": row.max_tokens,
            "temperature": _text(row.temperature),
            "thinking": row.thinking,
            "pictures": row.pictures,
            "inputPrice": _text(row.input_price),
            "outputPrice": _text(row.output_price),
            "cacheReadPrice": _text(row.cache_read_price),
            "cacheWritePrice": _text(row.cache_write_price),
        }
        self.fields["baseUrl"].help_text = "Empty: the environment's address, or Anthropic's."
        self.fields[
            "apiKey"
        ].help_text = (
            "Empty: the stored key stays. A key is sent only to the address it was entered for."
        )
        for name in _CHOICES:
            self.fields[name].choices = (  # type: ignore[attr-defined]  # the stubs know only the base field
                PRESET_FIELDS[name].choices
            )
            self.fields[name].help_text = PRESET_FIELDS[name].help
        self.fields["temperature"].help_text = "From 0 to 2. Empty: as for all models."
        for name in ("temperature", *PRICES):
            field = self.fields[name]
            field.widget.attrs |= {"inputmode": "decimal", "autocomplete": "off"}
            if name in PRICES:
                field.label = PRESET_FIELDS[name].label
                field.help_text = _HELP[name]

    @property
    def was(self) -> list[tuple[str, object]]:
        """Return the initial values, which the form sends along: untouched fields do not revert
        what others saved since."""
        return [(name, "" if value is None else value) for name, value in self.initial.items()]

    @property
    def prices(self) -> list[forms.BoundField]:
        return [self[name] for name in PRICES]

    @property
    def has_prices(self) -> bool:
        return any(self[name].value() for name in PRICES)

    @property
    def wants_trial(self) -> bool:
        """True when model, address or key changed: only these need a test call."""
        named = ("model", "baseUrl")
        is_changed = any((self.initial[one] or "") != self.cleaned_data[one] for one in named)
        return super().wants_trial and (is_changed or bool(self.cleaned_data["apiKey"]))

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip() or self.row.name
        if name in (self.row.name, self.data.get("was.name")):
            return self.row.name
        if not PRESET_NAME.fullmatch(name) or name in RESERVED:
            message = (
                "A name is one word of letters, digits, dots and hyphens, "
                f"and none of {', '.join(sorted(RESERVED))}."
            )
            raise ValidationError(message)
        if name in self.taken:
            message = f"There is a model called {name} already. Choose another name."
            raise ValidationError(message)
        return name

    def clean(self) -> dict[str, Any]:
        """Convert numbers; prices come in pairs. An empty key field means the key of the last
        test, if any."""
        data = super().clean() or {}
        for name in ("model", "baseUrl"):
            if (
                name in data
                and name in self.data
                and self.data[name] == self.data.get(f"was.{name}")
            ):
                data[name] = self.initial[name] or ""
        if "baseUrl" in data:
            self.take_waiting(data)
        for name in _MORE:
            if name in data and name not in _CHOICES:
                data[name] = self._number(name, data[name])
        one, other = (data.get(name) for name in PRICES[:2])
        has_one = any(data.get(name) is not None for name in PRICES)
        if has_one and (one is None or other is None) and not self.errors:
            missing = PRICES[0] if one is None else PRICES[1]
            message = "A cost needs both prices, of input and of output. Give this one, too."
            self.add_error(missing, message)
        return data

    def values(self) -> dict[str, Any]:
        """Return the preset's keys for config.json; ``None`` removes the key. Fields that a
        script did not send stay."""
        sent = {name: self.cleaned_data[name] for name in _MORE if name in self.data}
        sent |= {name: None for name in _CHOICES if sent.get(name) == ""}
        return {
            name: value
            for name, value in (super().values() | sent).items()
            if self.data.get(name, "") != self.data.get(f"was.{name}")
        }

    def _number(self, name: str, given: object) -> Value:
        if not isinstance(given, str):
            return None
        try:
            return PRESET_FIELDS[name].from_text(given.strip().lstrip("$").replace(",", ""))
        except ValueError as error:
            self.add_error(name, f"This {error}.")
            return None


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.10g}"
