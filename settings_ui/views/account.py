"""Settings → Account: password, time zone, sessions."""

from http import HTTPStatus

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.accounts import access
from jenny.accounts.models import Account, LoginSession, TwoFactor
from settings_ui.errors import AccountRefused
from settings_ui.forms import ClosingForm, PasswordForm
from settings_ui.services import delete_account

_PAGE = "settings_account"


@require_safe
def account_page(request: HttpRequest) -> HttpResponse:
    return _page(request, access.account(request))


@sensitive_post_parameters("old_password", "new_password")
@require_POST
def password(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    form = PasswordForm(request.POST, request=request, person=person)
    if not form.is_valid():
        return _page(request, person, password_form=form)
    person.set_password(form.cleaned_data["new_password"])
    person.save(update_fields=["password"])
    # The session gets a new key, which is listed; the old one ends with the others.
    update_session_auth_hash(request, person)
    LoginSession.begin(request, person, access.client_address(request))
    ended = person.end_sessions(keep=request.session.session_key or "")
    messages.success(request, f"Your password is changed. {_ended(ended)}")
    return redirect(_PAGE)


@require_POST
def end_session(request: HttpRequest, session_id: int) -> HttpResponse:
    person = access.account(request)
    row = person.login_sessions.filter(pk=session_id).first()
    if row is None:
        raise Http404
    if row.session_key == request.session.session_key:
        logout(request)
        return redirect("login")
    row.end()
    messages.success(request, f"The session on {row.device} is ended.")
    return redirect(_PAGE)


@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    ended = person.end_sessions(keep=request.session.session_key or "")
    messages.success(request, _ended(ended))
    return redirect(_PAGE)


def _page(
    request: HttpRequest,
    person: Account,
    *,
    password_form: PasswordForm | None = None,
) -> HttpResponse:
    own = request.session.session_key
    context = {
        "password_form": password_form or PasswordForm(request=request, person=person),
        "has_factor": TwoFactor.of(person) is not None,
        "sessions": [
            {"row": row, "is_own": row.session_key == own}
            for row in person.login_sessions.order_by("-seen_at")
        ],
    }
    is_wrong = password_form is not None
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, "settings/account.html", context, status=status)


def _ended(count: int) -> str:
    if count == 0:
        return "There was no other session."
    return "One other session is ended." if count == 1 else f"{count} other sessions are ended."


@sensitive_post_parameters("password", "code")
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    """Show what would be deleted; a POST with the password (and a code) deletes the account."""
    person = access.account(request)
    form = _form(request, person)
    if request.method == "POST" and form.is_valid():
        try:
            delete_account.delete(person, form.cleaned_data.get("successor"))
        except AccountRefused as error:
            form.add_error(None, error.message)
        else:
            name = person.username
            logout(request)
            messages.success(request, f"The account “{name}” is deleted, with all that it had.")
            return redirect(settings.LOGIN_URL)
    context = {
        "form": form,
        "goes": delete_account.deletion_summary(person),
        "is_last": person.is_superuser and not delete_account.others(person),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else HTTPStatus.OK
    return render(request, "settings/account_delete.html", context, status=status)


def _form(request: HttpRequest, person: Account) -> forms.Form:
    return ClosingForm(
        request.POST if request.method == "POST" else None,
        request=request,
        person=person,
        others=delete_account.others(person),
    )
