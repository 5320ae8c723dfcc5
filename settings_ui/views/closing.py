"""Settings → Account → Delete."""

from http import HTTPStatus

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from jenny.accounts import access
from jenny.accounts.models import Account
from settings_ui.errors import AccountRefused
from settings_ui.forms import ClosingForm
from settings_ui.management import closing


@sensitive_post_parameters("password", "code")
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    """Ask, with what goes; by POST with the password (and a code), delete the account."""
    person = access.account(request)
    form = _form(request, person)
    if request.method == "POST" and form.is_valid():
        try:
            closing.delete(person, form.cleaned_data.get("successor"))
        except AccountRefused as error:
            form.add_error(None, error.sentence)
        else:
            name = person.username
            logout(request)
            messages.success(request, f"The account “{name}” is deleted, with all that it had.")
            return redirect(settings.LOGIN_URL)
    context = {
        "form": form,
        "goes": closing.goes(person),
        "is_last": person.is_superuser and not closing.others(person),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else HTTPStatus.OK
    return render(request, "settings/account_delete.html", context, status=status)


def _form(request: HttpRequest, person: Account) -> forms.Form:
    return ClosingForm(
        request.POST if request.method == "POST" else None,
        request=request,
        person=person,
        others=closing.others(person),
    )
