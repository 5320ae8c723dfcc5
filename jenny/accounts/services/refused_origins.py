"""Says why a form's origin was refused, and what the operator sets when it is Jenny's own."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.middleware import csrf

_PLACE = "docs/deploy.md, Behind TLS"
# Each is a template of Django's; the text before the placeholder tells them apart.
_ORIGIN_REASONS = tuple(
    reason.partition("%s")[0]
    for reason in (
        csrf.REASON_BAD_ORIGIN,
        csrf.REASON_BAD_REFERER,
        csrf.REASON_NO_REFERER,
        csrf.REASON_MALFORMED_REFERER,
        csrf.REASON_INSECURE_REFERER,
    )
)


def get_origin_problem(request: HttpRequest, reason: str) -> str:
    """Return a sentence when Django refused the request's origin, else an empty text."""
    if not reason.startswith(_ORIGIN_REASONS):
        return ""
    origin = _get_origin(request)
    if not origin:
        return (
            "Nothing was done: your browser did not say which page sent this. Allow it to send "
            "the origin or referrer to this address (some privacy add-ons take it away), then "
            "repeat."
        )
    if not _may_be_own(request, origin):
        return (
            f"Nothing was done: this was sent by a page of another site, {origin}. Open Jenny at "
            "her own address and repeat it there if it was you."
        )
    trusted = [*settings.CSRF_TRUSTED_ORIGINS, origin]
    return (
        f"Nothing was done: it was sent by a page at {origin}, and Jenny does not know that as her "
        "own address. If it is the address in your browser's bar, whoever runs Jenny sets "
        f"JENNY_TRUSTED_ORIGINS={','.join(trusted)} and JENNY_ALLOWED_HOSTS="
        f"{urlsplit(origin).hostname}, and starts her again ({_PLACE})."
    )


def _get_origin(request: HttpRequest) -> str:
    """Return scheme, host and port of the page that sent the request; empty when unknown."""
    parts = urlsplit("")
    for given in (request.headers.get("Origin", ""), request.headers.get("Referer", "")):
        try:
            parts = urlsplit(given)
            _ = parts.port
        except ValueError:
            continue
        if parts.scheme in {"http", "https"} and parts.hostname and parts.netloc.isprintable():
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return ""


def _may_be_own(request: HttpRequest, origin: str) -> bool:
    """True when the page may be Jenny's own, behind a proxy that she does not know of.

    False for a page that the browser, or its host's name, calls another site: nobody is advised to
    trust it.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    hosts = {request.get_host(), request.headers.get("X-Forwarded-Host", "")}
    names = {urlsplit(f"//{host}").hostname for host in hosts if host}
    return urlsplit(origin).hostname in names
