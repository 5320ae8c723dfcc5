"""Forms of the first run and the login."""

from typing import Any

from django import forms
from django.contrib.auth import authenticate, password_validation
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from jenny.accounts.models import Account


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


class CodeForm(forms.Form):
    """The second step of a login."""

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
