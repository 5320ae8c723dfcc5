from collections.abc import Collection, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.contrib.auth import authenticate, password_validation
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from jenny.accounts.endpoints import PRESET_NAME, RESERVED
from jenny.accounts.forms import ModelForm
from jenny.accounts.models import Account, TwoFactor
from jenny.workspace.config import PRESET_FIELDS, PresetConfig, Value


class PasswordForm(forms.Form):
    old_password = forms.CharField(
        label="Current password",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new_password = forms.CharField(
        label="New password",
        strip=False,
        max_length=1000,
        help_text="At least 10 characters. All other sessions are ended.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, person: Account, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request, self.person = request, person

    def clean_old_password(self) -> str:
        """Check the password through the login backend, so that guessing is throttled here as
        well."""
        given: str = self.cleaned_data["old_password"]
        found = authenticate(self.request, username=self.person.username, password=given)
        if found != self.person:
            raise ValidationError("This is not your password.")
        return given

    def clean_new_password(self) -> str:
        given: str = self.cleaned_data["new_password"]
        password_validation.validate_password(given, self.person)
        return given


class ProofForm(forms.Form):
    """Confirm the identity by the password and, with two-factor on, a code."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    code = forms.CharField(
        label="Code",
        max_length=40,
        help_text="From your authenticator app, or a recovery code.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, person: Account, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request, self.person = request, person
        self.factor = TwoFactor.of(person)
        if self.factor is None:
            del self.fields["code"]

    def clean(self) -> dict[str, Any]:
        """Check the password first, and the code only after it."""
        data = super().clean() or {}
        if not data.get("password") or self.errors:
            return data
        found = authenticate(self.request, username=self.person.username, password=data["password"])
        if found != self.person:
            self.add_error("password", "This is not your password.")
        elif self.factor is not None and not self.factor.try_code(data["code"]):
            self.factor.refresh_from_db()
            minutes = self.factor.minutes_to_wait
            self.add_error(
                "code",
                f"Too many wrong codes. Try again in {minutes} minutes."
                if minutes
                else "This code is not right, or was used before.",
            )
        return data


class ClosingForm(ProofForm):
    """Confirm the deletion of an account. An owner names the next owner when others exist."""

    successor = forms.ModelChoiceField(
        label="Who is the owner then?",
        queryset=Account.objects.none(),
        help_text="The owner runs this instance: Settings → System and the operator's pages.",
    )

    def __init__(self, *args: Any, others: Sequence[Account], **kwargs: Any) -> None:
        """*others* may become owner instead; when it is empty, nobody is asked for."""
        super().__init__(*args, **kwargs)
        if not others:
            del self.fields["successor"]
            return
        rows = Account.objects.filter(pk__in=[one.pk for one in others]).order_by("username")
        # The stubs know a form's field as a Field, which has no queryset.
        self.fields["successor"].queryset = rows  # type: ignore[attr-defined]  # the stubs know only the base field
        self.order_fields(["successor", "password", "code"])


class CapsForm(forms.Form):
    """Daily limits for all runs together. An empty field or 0 is no limit."""

    maxTokensPerDay = forms.CharField(  # noqa: N815 - named as settings are
        label="Tokens a day",
        required=False,
        max_length=30,
        help_text="Input, output and cache together. Empty: no limit.",
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    maxCostPerDay = forms.CharField(  # noqa: N815 - as above
        label="Money a day, in US dollars",
        required=False,
        max_length=30,
        help_text="By the prices in Settings → Models; what has no price cannot count. "
        "Empty: no limit.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )

    def clean_maxTokensPerDay(self) -> int | None:  # noqa: N802 - Django's name for it
        number = self._number("maxTokensPerDay", most=10**15)
        if number is not None and number != int(number):
            message = "This takes a whole number, such as 2,000,000."
            raise ValidationError(message)
        return None if number is None else int(number)

    def clean_maxCostPerDay(self) -> Decimal | None:  # noqa: N802 - as above
        number = self._number("maxCostPerDay", most=10**9)
        if number is not None and number < Decimal("0.01"):
            message = "The least is one cent: 0.01."
            raise ValidationError(message)
        return None if number is None else number.quantize(Decimal("0.01"))

    def _number(self, name: str, *, most: int) -> Decimal | None:
        given = str(self.cleaned_data[name]).strip().lstrip("$").strip()
        plain = given.replace(",", "").replace("_", "").replace(" ", "")
        if not plain:
            return None
        try:
            number = Decimal(plain)
        except InvalidOperation as error:
            message = f"“{given[:30]}” is no number."
            raise ValidationError(message) from error
        if not number.is_finite() or not 0 <= number <= most:
            message = f"This takes a number from 0 to {most:,}."
            raise ValidationError(message)
        return number or None


# The form of an existing preset.


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
