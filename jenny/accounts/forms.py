"""Forms of the first run, the login and the connection to a model."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import authenticate, password_validation
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from jenny.accounts import access, connection_test, connections, endpoints, vault
from jenny.accounts.endpoints import (
    ANTHROPIC,
    DEMO,
    ENVIRONMENT,
    PRESET_NAME,
    RESERVED,
    Environment,
    clean_base_url,
    clean_key,
    origin_of,
)
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.models import Account, ApiKey
from jenny.accounts.services import login, usage
from jenny.accounts.services.usage import RowMeter
from jenny.accounts.vault import UnsavedApiKey, Vault
from jenny.agent.preset import Endpoint, Meter, Preset
from jenny.workspace.config import PresetConfig


class SetupForm(forms.Form):
    """The first visitor's form: the token that proves who it is, a name and a password."""

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
        help_text="Letters, digits and @ . + - _, without spaces.",
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
        """*token_is_proved*: the session began with the right token; it is not asked again."""
        super().__init__(*args, **kwargs)
        if token_is_proved:
            del self.fields["token"]
        first = next(iter(self.fields.values()))
        first.widget.attrs["autofocus"] = True

    def clean(self) -> dict[str, Any]:
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


class CodeForm(forms.Form):
    code = forms.CharField(
        label="Code",
        max_length=40,
        help_text="Six digits from your authenticator app, or one of your recovery codes.",
        widget=forms.TextInput(
            attrs={
                "autocomplete": "one-time-code",
                "autocapitalize": "none",
                "spellcheck": "false",
                "autofocus": True,
            }
        ),
    )


class LoginForm(forms.Form):
    """A name and a password, with the same sentence for every error in them."""

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
        """*request* is for the authentication back ends, which count failures by its address."""
        super().__init__(*args, **kwargs)
        self.request = request
        self.account: Account | None = None
        # Above 0, the password was not checked: it may be tried again after so many seconds.
        self.wait_seconds = 0

    def clean(self) -> dict[str, Any]:
        """Find the account; the work is the same whether the name exists or not."""
        data = super().clean() or {}
        if "username" in data and "password" in data:
            self.wait_seconds = login.get_wait_seconds(self.request, data["username"])
            if self.wait_seconds:
                return data
            found = authenticate(self.request, username=data["username"], password=data["password"])
            if not isinstance(found, Account):
                message = "User name and password do not match. Check both and try again."
                raise ValidationError(message)
            self.account = found
        return data


class ModelForm(forms.Form):
    """Address and parameters of a model.

    Fields have the names of the preset's keys in config.json; the API key is stored apart.
    """

    baseUrl = forms.CharField(  # noqa: N815 - the name in config.json
        label="Address of the server",
        required=False,
        max_length=300,
        help_text="Such as http://localhost:11434 for Ollama on this machine.",
        widget=forms.TextInput(
            attrs={"inputmode": "url", "spellcheck": "false", "list": "server-addresses"}
        ),
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
    # The second button, shown after a failed connection test.
    untried = forms.BooleanField(required=False)

    def __init__(
        self,
        *args: Any,
        environment: Environment,
        waiting: UnsavedApiKey | None = None,
        **kwargs: Any,
    ) -> None:
        """*waiting*: the key of an earlier test, since its field comes back empty."""
        super().__init__(*args, **kwargs)
        self.environment, self.waiting = environment, waiting
        # The reason of a failed test, in words.
        self.trouble = ""
        self.was_asked = True

    @property
    def products(self) -> tuple[connections.Product | connections.Service, ...]:
        """Return the servers that are known to work, for the list beside the address."""
        return connections.PRODUCTS + connections.SERVICES

    @property
    def model_names(self) -> tuple[str, ...]:
        return endpoints.known_models()

    def clean_apiKey(self) -> str:  # noqa: N802 - Django's name for it
        return _checked(clean_key, self.cleaned_data["apiKey"])

    def clean_baseUrl(self) -> str:  # noqa: N802 - as above
        """Return the address without the parts that the client adds itself."""
        given = self.cleaned_data["baseUrl"]
        return _checked(clean_base_url, given) if given.strip() else ""

    def values(self) -> dict[str, Any]:
        """Return the preset's keys in config.json; ``None``: the key is removed."""
        data = self.cleaned_data
        return {
            "model": data["model"],
            "baseUrl": data["baseUrl"] or None,
            "maxTokens": data["maxTokens"],
        }

    @property
    def base_url(self) -> str:
        """Return the address: the given one, the environment's, or Anthropic's."""
        return str(self.cleaned_data.get("baseUrl") or self.environment.base_url)

    @property
    def wants_trial(self) -> bool:
        """True when there is a connection to test and the person did not skip the test."""
        return not self.cleaned_data["untried"]

    def try_out(self, keys: Mapping[str, str], meter: Meter | None = None) -> bool:
        """Ask the model once with these parameters; True when it answers.

        *keys* are the stored ones by origin. Nothing is stored; a failure is described in
        ``trouble``.
        """
        place = origin_of(self.base_url)
        key = self.cleaned_data["apiKey"] or keys.get(place, "")
        if not key and place == self.environment.origin:
            key = self.environment.key
        model = self.cleaned_data["model"] or self.environment.model or endpoints.suggested_model()
        answer = connection_test.test_in_subprocess(
            Endpoint(self.base_url, key, meter=meter), Preset(name="trial", model=model)
        )
        self.trouble = "" if answer.ok else answer.message
        return answer.ok

    def keep_key(self, person: Account) -> bool:
        """Store the typed key, bound to the address. True when there was one."""
        key = self.cleaned_data["apiKey"]
        if key:
            ApiKey.keep(person, origin_of(self.base_url), key)
        return bool(key)

    def take_waiting(self, data: dict[str, Any]) -> None:
        place = origin_of(data.get("baseUrl") or self.environment.base_url)
        if data.get("apiKey") == "" and self.waiting and self.waiting.origin == place:
            data["apiKey"] = self.waiting.key


class ConnectionForm(ModelForm):
    """The choice of a model: the environment's, Anthropic's, another server's, or the demo's."""

    connection = forms.ChoiceField(label="Which model answers?", widget=forms.RadioSelect)
    name = forms.CharField(
        label="Name of this model in Jenny",
        required=False,
        max_length=40,
        help_text="What you type after /model. Empty: made from the model's name.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(
        self,
        *args: Any,
        taken: Mapping[str, PresetConfig],
        origins: Collection[str],
        **kwargs: Any,
    ) -> None:
        """*taken*: the existing presets by name; *origins*: those with a stored key."""
        super().__init__(*args, **kwargs)
        self.taken, self.origins = taken, origins
        environment = self.environment
        choices = [
            ("anthropic", "Claude, with an Anthropic API key"),
            ("endpoint", "Another: Ollama, LM Studio, llama.cpp, OpenRouter and others"),
            (DEMO, "The demo model: no language model, only rules to look around with"),
        ]
        if environment.is_set:
            said = environment.model or endpoints.suggested_model()
            label = f"What this machine is set up for: {said} at {environment.origin}"
            choices.insert(0, (ENVIRONMENT, label))
        # The stubs type a form's field as a Field, which has no choices.
        self.fields["connection"].choices = choices  # type: ignore[attr-defined]  # the stubs know only the base field
        self.initial.setdefault("connection", choices[0][0])
        self.fields["model"].help_text = (
            "The name that the server knows it by. "
            f"With Claude, empty means {endpoints.suggested_model()}."
        )

    def clean_name(self) -> str:
        """Return a name that can be typed after /model and is not taken."""
        name: str = self.cleaned_data["name"].strip()
        if name and (not PRESET_NAME.fullmatch(name) or name in RESERVED):
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
        """Require the fields that the chosen connection needs."""
        data = super().clean() or {}
        kind = data.get("connection")
        if kind == "anthropic":
            self.errors.pop("baseUrl", None)
            data["baseUrl"] = ANTHROPIC
            data["model"] = data.get("model") or endpoints.suggested_model()
            self.take_waiting(data)
            if "apiKey" in data and not data["apiKey"] and ANTHROPIC not in self.origins:
                self.add_error("apiKey", "Paste the key, which begins with “sk-ant-”.")
        elif kind == "endpoint":
            if "baseUrl" in data and not data["baseUrl"]:
                self.add_error("baseUrl", "Say where the server is.")
            if "model" in data and not data["model"]:
                self.add_error("model", "Say which of the server's models to ask.")
            if data.get("baseUrl"):
                self.take_waiting(data)
        elif kind:
            # Errors in the fields of another choice do not count.
            self.errors.clear()
        return data

    @property
    def wants_trial(self) -> bool:
        """False for the demo model, which always exists, and for the operator's environment."""
        return super().wants_trial and self.cleaned_data["connection"] not in RESERVED

    def preset_name(self) -> str:
        """Return the given name, that of the same connection, or a free one."""
        given = self.cleaned_data["name"]
        if given:
            return str(given)
        return connections.name_for(
            self.taken, self.cleaned_data["baseUrl"], self.cleaned_data["model"]
        )

    def save(self, person: Account, root: Path) -> str:
        """Store the choice, the key encrypted and the rest in config.json; return the preset's
        name.

        :raises WorkspaceError: config.json cannot be written; nothing was stored.
        """
        kind = self.cleaned_data["connection"]
        if kind in RESERVED:
            connections.choose(root, DEMO if kind == DEMO else "")
            return str(kind)
        name = self.preset_name()
        values = self.values()
        if name in self.taken:
            # The same connection: what was left empty stays as it is.
            values = {key: value for key, value in values.items() if value is not None}
        connections.save_preset(root, name, values, use=True)
        self.keep_key(person)
        return name


def _checked(clean: Callable[[str], str], given: str) -> str:
    """Return the result of *clean*, or attach its error to the field."""
    try:
        return clean(given)
    except ConnectionProblem as error:
        raise ValidationError(error.message) from error


def waiting_key(request: HttpRequest) -> vault.UnsavedApiKey | None:
    """Return the key of the previous test. A freshly opened page starts without one."""
    if request.method != "POST":
        if vault.UNSAVED_KEY in request.session:
            vault.forget_api_key(request.session)
        return None
    return vault.read_api_key(request.session, Vault(settings.SECRET_KEY))


def is_fit(request: HttpRequest, form: ModelForm, person: Account) -> bool:
    """True when the valid *form* may be saved: the model answers, or a person skips the test.

    Otherwise the form has the reason (``trouble``), and the typed key is kept for the next try.
    """
    current = access.current_workspace(request)
    waits = usage.why_calls_wait(current) if form.wants_trial and current is not None else ""
    if waits:
        form.was_asked = False
        form.trouble = f"{waits} So it was not asked."
    elif not form.wants_trial or form.try_out(person.keys(), RowMeter(person.pk, "test")):
        if vault.UNSAVED_KEY in request.session:
            vault.forget_api_key(request.session)
        return True
    if form.cleaned_data["apiKey"]:
        typed = vault.UnsavedApiKey(origin_of(form.base_url), form.cleaned_data["apiKey"])
        vault.keep_api_key(request.session, Vault(settings.SECRET_KEY), typed)
    return False
