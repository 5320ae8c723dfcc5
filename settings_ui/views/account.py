"""Settings → Account: password, time zone, sessions."""

from http import HTTPStatus
from typing import Any

import segno
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.accounts import access, totp
from jenny.accounts.forms import CodeForm
from jenny.accounts.models import Account, LoginSession, RecoveryCode, TwoFactor
from settings_ui.errors import AccountRefused
from settings_ui.forms import ClosingForm, PasswordForm, ProofForm
from settings_ui.services import accounts

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
            accounts.delete_account(person, form.cleaned_data.get("successor"))
        except AccountRefused as error:
            form.add_error(None, error.message)
        else:
            name = person.username
            logout(request)
            messages.success(request, f"The account “{name}” is deleted, with all that it had.")
            return redirect(settings.LOGIN_URL)
    context = {
        "form": form,
        "goes": accounts.deletion_summary(person),
        "is_last": person.is_superuser and not accounts.others(person),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else HTTPStatus.OK
    return render(request, "settings/account_delete.html", context, status=status)


def _form(request: HttpRequest, person: Account) -> forms.Form:
    return ClosingForm(
        request.POST if request.method == "POST" else None,
        request=request,
        person=person,
        others=accounts.others(person),
    )


# Settings → Account → Two-factor: set-up, recovery codes, removal.


_TWO_FACTOR_PAGE = "settings_two_factor"


@require_safe
def two_factor_page(request: HttpRequest) -> HttpResponse:
    return _two_factor_response(request, access.account(request))


@sensitive_post_parameters("password")
@require_POST
def begin_two_factor(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    if TwoFactor.of(person) is not None:
        messages.success(request, "Two-factor is on already.")
        return redirect(_TWO_FACTOR_PAGE)
    form = ProofForm(request.POST, request=request, person=person)
    if not form.is_valid():
        return _two_factor_response(request, person, proof=form)
    TwoFactor.begin(person)
    return redirect(_TWO_FACTOR_PAGE)


@sensitive_post_parameters("code")
@require_POST
def confirm_two_factor(request: HttpRequest) -> HttpResponse:
    """Turn it on and show the recovery codes this once."""
    person = access.account(request)
    waiting = TwoFactor.objects.filter(account=person, confirmed_at=None).first()
    if waiting is None:
        return redirect(_TWO_FACTOR_PAGE)
    form = CodeForm(request.POST)
    codes = waiting.confirm(form.cleaned_data["code"]) if form.is_valid() else None
    if codes is None:
        waiting.refresh_from_db()
        minutes = waiting.minutes_to_wait
        form.add_error(
            "code",
            f"Too many wrong codes. Try again in {minutes} minutes."
            if minutes
            else "This is not the code that the app shows now. See whether its clock is right.",
        )
        return _two_factor_response(request, person, code=form)
    ended = person.end_sessions(keep=request.session.session_key or "")
    said = " One other session is ended." if ended == 1 else f" {ended} other sessions are ended."
    return _codes(request, codes, "Two-factor is on." + (said if ended else ""))


@sensitive_post_parameters("password", "code")
@require_POST
def renew_recovery_codes(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    if TwoFactor.of(person) is None:
        return redirect(_TWO_FACTOR_PAGE)
    form = ProofForm(request.POST, request=request, person=person)
    if not form.is_valid():
        return _two_factor_response(request, person, proof=form, asked="renew")
    return _codes(request, RecoveryCode.make(person.pk), "The old codes are worth nothing now.")


@sensitive_post_parameters("password", "code")
@require_POST
def end_two_factor(request: HttpRequest) -> HttpResponse:
    """Turn it off, or delete an unconfirmed secret."""
    person = access.account(request)
    if TwoFactor.of(person) is not None:
        form = ProofForm(request.POST, request=request, person=person)
        if not form.is_valid():
            return _two_factor_response(request, person, proof=form, asked="end")
        messages.success(request, "Two-factor is off. You log in with the password alone.")
    TwoFactor.objects.filter(account=person).delete()
    RecoveryCode.objects.filter(account=person).delete()
    return redirect(_TWO_FACTOR_PAGE)


def _codes(request: HttpRequest, codes: list[str], said: str) -> HttpResponse:
    """Render the page with the recovery codes, which is never shown again."""
    return render(request, "settings/recovery_codes.html", {"codes": codes, "said": said})


def _two_factor_response(
    request: HttpRequest,
    person: Account,
    *,
    proof: ProofForm | None = None,
    code: CodeForm | None = None,
    asked: str = "",
) -> HttpResponse:
    row = TwoFactor.objects.filter(account=person).first()
    secret = row.reveal() if row else None
    context: dict[str, Any] = {
        "row": row,
        "is_on": row is not None and row.confirmed_at is not None,
        "is_readable": secret is not None,
        "left": RecoveryCode.left(person),
        "proof": proof or ProofForm(request=request, person=person),
        "asked": asked,
    }
    if row is not None and row.confirmed_at is None and secret is not None:
        uri = totp.uri(secret, person.username)
        context |= {
            "code": code or CodeForm(),
            "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
            "qr": _qr(uri),
            "uri": uri,
        }
    is_wrong = proof is not None or code is not None
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, "settings/two_factor.html", context, status=status)


def _qr(uri: str) -> SafeString:
    """Draw the QR code as SVG here, so that no other host learns the secret."""
    made = segno.make(uri, error="m", micro=False)
    return mark_safe(  # noqa: S308 - segno draws numbers; nothing of the text is in it
        made.svg_inline(border=0, svgclass=None, lineclass=None, omitsize=True)
    )
