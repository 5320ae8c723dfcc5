"""Settings → Account → Two-factor: set-up, recovery codes, removal."""

from http import HTTPStatus
from typing import Any

import segno
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts import access, totp
from jenny.accounts.forms import CodeForm
from jenny.accounts.models import Account, RecoveryCode, TwoFactor
from settings_ui.forms import ProofForm

_PAGE = "settings_two_factor"


@require_safe
def two_factor_page(request: HttpRequest) -> HttpResponse:
    return _page(request, access.account(request))


@sensitive_post_parameters("password")
@require_POST
def begin_two_factor(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    if TwoFactor.of(person) is not None:
        messages.success(request, "Two-factor is on already.")
        return redirect(_PAGE)
    form = ProofForm(request.POST, request=request, person=person)
    if not form.is_valid():
        return _page(request, person, proof=form)
    TwoFactor.begin(person)
    return redirect(_PAGE)


@sensitive_post_parameters("code")
@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """Turn it on and show the recovery codes this once."""
    person = access.account(request)
    waiting = TwoFactor.objects.filter(account=person, confirmed_at=None).first()
    if waiting is None:
        return redirect(_PAGE)
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
        return _page(request, person, code=form)
    ended = person.end_sessions(keep=request.session.session_key or "")
    said = " One other session is ended." if ended == 1 else f" {ended} other sessions are ended."
    return _codes(request, codes, "Two-factor is on." + (said if ended else ""))


@sensitive_post_parameters("password", "code")
@require_POST
def renew(request: HttpRequest) -> HttpResponse:
    person = access.account(request)
    if TwoFactor.of(person) is None:
        return redirect(_PAGE)
    form = ProofForm(request.POST, request=request, person=person)
    if not form.is_valid():
        return _page(request, person, proof=form, asked="renew")
    return _codes(request, RecoveryCode.make(person.pk), "The old codes are worth nothing now.")


@sensitive_post_parameters("password", "code")
@require_POST
def end(request: HttpRequest) -> HttpResponse:
    """Turn it off, or delete an unconfirmed secret."""
    person = access.account(request)
    if TwoFactor.of(person) is not None:
        form = ProofForm(request.POST, request=request, person=person)
        if not form.is_valid():
            return _page(request, person, proof=form, asked="end")
        messages.success(request, "Two-factor is off. You log in with the password alone.")
    TwoFactor.objects.filter(account=person).delete()
    RecoveryCode.objects.filter(account=person).delete()
    return redirect(_PAGE)


def _codes(request: HttpRequest, codes: list[str], said: str) -> HttpResponse:
    """Render the page with the recovery codes, which is never shown again."""
    return render(request, "settings/recovery_codes.html", {"codes": codes, "said": said})


def _page(
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
