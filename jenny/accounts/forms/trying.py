"""A connection is tried before it is accepted."""

from django.conf import settings
from django.http import HttpRequest

from jenny.accounts import access, waiting
from jenny.accounts.addresses import origin
from jenny.accounts.forms.connections import ModelForm
from jenny.accounts.management import gate
from jenny.accounts.management.metering import RowMeter
from jenny.accounts.models import Account
from jenny.accounts.vault import Vault


def waiting_key(request: HttpRequest) -> waiting.Waiting | None:
    """The key of the try before this one. Whoever opens the page anew begins anew."""
    if request.method != "POST":
        if waiting.KEY in request.session:
            waiting.forget(request.session)
        return None
    return waiting.read(request.session, Vault(settings.SECRET_KEY))


def is_fit(request: HttpRequest, form: ModelForm, person: Account) -> bool:
    """Whether the valid *form* may be saved: the model answers, or somebody wants it saved
    untried. If not, the form says why (``trouble``), and the key that was typed waits."""
    current = access.current_workspace(request)
    waits = gate.why_calls_wait(current) if form.wants_trial and current is not None else ""
    if waits:
        form.was_asked = False
        form.trouble = f"{waits} So it was not asked."
    elif not form.wants_trial or form.try_out(person.keys(), RowMeter(person.pk, "test")):
        if waiting.KEY in request.session:
            waiting.forget(request.session)
        return True
    if form.cleaned_data["apiKey"]:
        typed = waiting.Waiting(origin(form.base_url), form.cleaned_data["apiKey"])
        waiting.keep(request.session, Vault(settings.SECRET_KEY), typed)
    return False
