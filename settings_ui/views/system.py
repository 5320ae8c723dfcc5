"""Settings → System: the version, and developer mode."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.accounts import access
from jenny.accounts.models import Account


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """Show it; by POST, save what was chosen."""
    person = access.account(request)
    if request.method == "POST":
        wants = request.POST.get("developer_mode") == "on"
        changed = Account.objects.filter(pk=person.pk, developer_mode=not wants).update(
            developer_mode=wants
        )
        state = "on" if wants else "off"
        said = f"Developer mode is {state} now." if changed else f"It was {state} already."
        messages.success(request, said)
        return redirect("settings_system")
    return render(request, "settings/system.html")
