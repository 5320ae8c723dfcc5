from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.contrib.auth import authenticate, password_validation
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from jenny.accounts.models import Account, TwoFactor


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
