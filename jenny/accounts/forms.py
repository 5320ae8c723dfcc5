"""Forms of the first run, the login and the connection to a model."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib.auth import authenticate, password_validation
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from jenny.accounts import connections, model_names, slugs
from jenny.accounts.addresses import ANTHROPIC, clean_base_url, clean_key, origin
from jenny.accounts.endpoints import DEMO, ENVIRONMENT, PRESET_NAME, RESERVED, Environment
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.models import Account, ApiKey


class SetupForm(forms.Form):
    """The first visitor: the token that proves who it is, a name and a password."""

    token = forms.CharField(
        label="Setup token",
        max_length=200,
        help_text="Printed where Jenny was started, and kept in the file setup_token "
        "in the data folder.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    username = UsernameField(
        label="User name",
        max_length=150,
        validators=[
            UnicodeUsernameValidator(
                message="A user name has letters, digits and @ . + - _ only, and no spaces."
            )
        ],
        widget=forms.TextInput(
            attrs={
                "autocomplete": "username",
                "autocapitalize": "none",
                "spellcheck": "false",
            }
        ),
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        max_length=1000,
        help_text="At least 10 characters. A few words in a row are easy to keep.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    # Filled by static/js/zone.js.
    zone = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, token_is_proved: bool = False, **kwargs: Any) -> None:
        """*token_is_proved*: the session came with the right token; it is not asked again."""
        super().__init__(*args, **kwargs)
        if token_is_proved:
            del self.fields["token"]
        first = next(iter(self.fields.values()))
        first.widget.attrs["autofocus"] = True

    def clean(self) -> dict[str, Any]:
        """Judge the password with the name beside it."""
        data = super().clean() or {}
        password = data.get("password")
        if password:
            try:
                password_validation.validate_password(
                    password, Account(username=data.get("username", ""))
                )
            except ValidationError as error:
                self.add_error("password", error)
        return data


class LoginForm(forms.Form):
    """A name and a password. One sentence for every way in which they can be wrong."""

    username = UsernameField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "username",
                "autocapitalize": "none",
                "spellcheck": "false",
                "autofocus": True,
            }
        ),
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        """The request goes to the back ends, which count failures by its address."""
        super().__init__(*args, **kwargs)
        self.request = request
        self.account: Account | None = None

    def clean(self) -> dict[str, Any]:
        """Find the account; the work is the same whether the name exists or not."""
        data = super().clean() or {}
        if "username" in data and "password" in data:
            found = authenticate(self.request, username=data["username"], password=data["password"])
            if not isinstance(found, Account):
                message = "User name and password do not match. Check both and try again."
                raise ValidationError(message)
            self.account = found
        return data


class ModelForm(forms.Form):
    """Where a model is and how it is asked. Fields bear the names of the preset's keys in
    config.json; the key is stored apart."""

    baseUrl = forms.CharField(  # noqa: N815 - the name in config.json
        label="Address of the server",
        required=False,
        max_length=300,
        help_text="Any server that speaks the Messages API, such as http://localhost:11434.",
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false"}),
    )
    apiKey = forms.CharField(  # noqa: N815 - as above
        label="API key",
        required=False,
        max_length=600,
        help_text="Kept encrypted on this machine and sent to that server only.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    model = forms.CharField(
        label="Model",
        required=False,
        max_length=120,
        help_text="The name that the server knows it by.",
        widget=forms.TextInput(
            attrs={"list": "model-names", "autocomplete": "off", "spellcheck": "false"}
        ),
    )
    maxTokens = forms.IntegerField(  # noqa: N815 - as above
        label="Longest reply",
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text="In tokens. Empty: as for all models.",
    )

    @property
    def model_names(self) -> tuple[str, ...]:
        """Suggestions for the model's field."""
        return model_names.known()

    def clean_apiKey(self) -> str:  # noqa: N802 - Django's name for it
        """A key that can be sent, or none."""
        return _checked(clean_key, self.cleaned_data["apiKey"])

    def clean_baseUrl(self) -> str:  # noqa: N802 - as above
        """An address without what the client adds itself, or none."""
        given = self.cleaned_data["baseUrl"]
        return _checked(clean_base_url, given) if given.strip() else ""

    def values(self) -> dict[str, Any]:
        """The preset's keys in config.json; ``None``: the key goes."""
        data = self.cleaned_data
        return {
            "model": data["model"],
            "baseUrl": data["baseUrl"] or None,
            "maxTokens": data["maxTokens"],
        }

    def keep_key(self, person: Account, default_url: str) -> bool:
        """Store the key that was typed, bound to the address; whether there was one."""
        key = self.cleaned_data["apiKey"]
        if key:
            ApiKey.keep(person, origin(self.cleaned_data["baseUrl"] or default_url), key)
        return bool(key)


class ConnectionForm(ModelForm):
    """Which model answers: the environment's, Anthropic's, another server's, or the demo model."""

    connection = forms.ChoiceField(label="Which model answers?", widget=forms.RadioSelect)
    name = forms.CharField(
        label="Name of this preset",
        required=False,
        max_length=40,
        help_text="What you type after /model. Empty: made from the address.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(
        self,
        *args: Any,
        taken: Collection[str],
        origins: Collection[str],
        environment: Environment,
        **kwargs: Any,
    ) -> None:
        """*taken*: names of presets that are there; *origins*: those with a stored key."""
        super().__init__(*args, **kwargs)
        self.taken, self.origins = taken, origins
        choices = [
            ("anthropic", "Claude, with an Anthropic API key"),
            ("endpoint", "Another server that speaks the Messages API"),
            (DEMO, "The demo model: no language model, only rules to look around with"),
        ]
        if environment.is_set:
            said = environment.model or model_names.suggested()
            label = f"What this machine is set up for: {said} at {environment.origin}"
            choices.insert(0, (ENVIRONMENT, label))
        # The stubs know a form's field as a Field, which has no choices.
        self.fields["connection"].choices = choices  # type: ignore[attr-defined]
        self.initial.setdefault("connection", choices[0][0])
        self.fields["model"].help_text = (
            "The name that the server knows it by. "
            f"With Claude, empty means {model_names.suggested()}."
        )

    def clean_name(self) -> str:
        """A name that can be typed after /model and is not taken."""
        name: str = self.cleaned_data["name"].strip()
        if name and (not PRESET_NAME.fullmatch(name) or name in RESERVED):
            message = (
                "A name is one word of letters, digits, dots and hyphens, "
                f"and none of {', '.join(sorted(RESERVED))}."
            )
            raise ValidationError(message)
        if name in self.taken:
            message = f"There is a preset called {name} already. Choose another name."
            raise ValidationError(message)
        return name

    def clean(self) -> dict[str, Any]:
        """Ask for what the chosen connection cannot do without."""
        data = super().clean() or {}
        kind = data.get("connection")
        if kind == "anthropic":
            self.errors.pop("baseUrl", None)
            data["baseUrl"] = ANTHROPIC
            data["model"] = data.get("model") or model_names.suggested()
            if "apiKey" in data and not data["apiKey"] and ANTHROPIC not in self.origins:
                self.add_error("apiKey", "Paste the key, which begins with “sk-ant-”.")
        elif kind == "endpoint":
            if "baseUrl" in data and not data["baseUrl"]:
                self.add_error("baseUrl", "Say where the server is.")
            if "model" in data and not data["model"]:
                self.add_error("model", "Say which of the server's models to ask.")
        elif kind:
            # What stands in the fields of another choice does not count.
            self.errors.clear()
        return data

    def preset_name(self) -> str:
        """The name given, or one made from the address that is not taken."""
        given = self.cleaned_data["name"]
        if given:
            return str(given)
        host = urlsplit(self.cleaned_data["baseUrl"]).hostname or ""
        made = "claude" if self.cleaned_data["connection"] == "anthropic" else slugs.slug(host)
        names = (name for name in slugs.candidates(made) if name not in self.taken)
        return next(name for name in names if name not in RESERVED)

    def save(self, person: Account, root: Path) -> str:
        """Store the choice: the key encrypted, the rest in config.json. The preset's name.

        :raises WorkspaceError: config.json cannot take it; nothing was stored.
        """
        kind = self.cleaned_data["connection"]
        if kind in RESERVED:
            connections.choose(root, DEMO if kind == DEMO else "")
            return str(kind)
        name = self.preset_name()
        connections.put(root, name, self.values(), use=True)
        self.keep_key(person, ANTHROPIC)
        return name


def _checked(clean: Callable[[str], str], given: str) -> str:
    """*clean*'s answer, or its sentence at the field."""
    try:
        return clean(given)
    except ConnectionProblem as error:
        raise ValidationError(error.sentence) from error
