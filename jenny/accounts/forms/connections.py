"""Forms of the connection to a model."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.exceptions import ValidationError

from jenny.accounts import connections, model_names, probe, slugs
from jenny.accounts.addresses import ANTHROPIC, clean_base_url, clean_key, origin
from jenny.accounts.endpoints import DEMO, ENVIRONMENT, PRESET_NAME, RESERVED, Environment
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.models import Account, ApiKey
from jenny.accounts.waiting import Waiting
from jenny.agent.preset import Endpoint, Meter, Preset


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
    # The second button of a form whose connection was tried in vain.
    untried = forms.BooleanField(required=False)

    def __init__(
        self, *args: Any, environment: Environment, waiting: Waiting | None = None, **kwargs: Any
    ) -> None:
        """*waiting*: the key of an earlier try, whose field came back empty."""
        super().__init__(*args, **kwargs)
        self.environment, self.waiting = environment, waiting
        # What came of a try that failed, in words.
        self.trouble = ""
        self.was_asked = True

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

    @property
    def base_url(self) -> str:
        """The address that is meant: the environment's, or Anthropic's, where none was given."""
        return str(self.cleaned_data.get("baseUrl") or self.environment.base_url)

    @property
    def wants_trial(self) -> bool:
        """Whether there is something to try, and nobody said that it may stay untried."""
        return not self.cleaned_data["untried"]

    def try_out(self, keys: Mapping[str, str], meter: Meter | None = None) -> bool:
        """Ask the model once, as it would be asked; whether it answers. *keys* are the stored
        ones by origin. What went wrong is then in ``trouble``, and nothing is stored."""
        place = origin(self.base_url)
        key = self.cleaned_data["apiKey"] or keys.get(place, "")
        if not key and place == self.environment.origin:
            key = self.environment.key
        model = self.cleaned_data["model"] or self.environment.model or model_names.suggested()
        answer = probe.ask_apart(
            Endpoint(self.base_url, key, meter=meter), Preset(name="trial", model=model)
        )
        self.trouble = "" if answer.ok else answer.sentence
        return answer.ok

    def keep_key(self, person: Account) -> bool:
        """Store the key that was typed, bound to the address; whether there was one."""
        key = self.cleaned_data["apiKey"]
        if key:
            ApiKey.keep(person, origin(self.base_url), key)
        return bool(key)

    def take_waiting(self, data: dict[str, Any]) -> None:
        """Where no key was typed, take the one that waits for this address."""
        place = origin(data.get("baseUrl") or self.environment.base_url)
        if data.get("apiKey") == "" and self.waiting and self.waiting.origin == place:
            data["apiKey"] = self.waiting.key


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
        **kwargs: Any,
    ) -> None:
        """*taken*: names of presets that are there; *origins*: those with a stored key."""
        super().__init__(*args, **kwargs)
        self.taken, self.origins = taken, origins
        environment = self.environment
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
        self.fields["connection"].choices = choices  # type: ignore[attr-defined]  # the stubs know only the base field
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
            # What stands in the fields of another choice does not count.
            self.errors.clear()
        return data

    @property
    def wants_trial(self) -> bool:
        """The demo model is there in any case, and what the operator set up is theirs."""
        return super().wants_trial and self.cleaned_data["connection"] not in RESERVED

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
        self.keep_key(person)
        return name


def _checked(clean: Callable[[str], str], given: str) -> str:
    """*clean*'s answer, or its sentence at the field."""
    try:
        return clean(given)
    except ConnectionProblem as error:
        raise ValidationError(error.sentence) from error
