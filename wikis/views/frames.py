"""Show the content of a sandboxed frame: a diagram, or the preview of a page or picture."""

import re
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.csp import CSP
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.csp import csp_override

_SHUT_IN: dict[str, Any] = {
    "default-src": [CSP.NONE],
    "style-src": [CSP.UNSAFE_INLINE],
    "img-src": ["data:"],
    "font-src": ["data:"],
    "frame-ancestors": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.NONE],
}
# A preview runs no script, loads nothing, sends nothing and opens nothing.
PREVIEW: dict[str, Any] = {**_SHUT_IN, "sandbox": True}
# In a diagram's frame our own script draws, without access to anything, even its session.
DIAGRAM: dict[str, Any] = {
    **_SHUT_IN,
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "sandbox": ["allow-scripts"],
}

# They make a browser look up or connect to a host, which no policy covers. The other element may
# stand at the same places, has no end either, and does nothing.
_HEADER_TAG = re.compile(r"<(?:link|meta)(?=[\s/>])", re.IGNORECASE)
_WITHOUT_EFFECT = "<basefont"


def frame_page(request: HttpRequest, language: str, source: str) -> HttpResponseBase:
    """Return the page in a frame; the caller has checked access."""
    return _diagram(request, source) if language == "mermaid" else _preview(request, source)


@xframe_options_sameorigin
@csp_override(DIAGRAM)
def _diagram(request: HttpRequest, source: str) -> HttpResponse:
    """Return the page that draws a diagram; without script, it shows the source."""
    context = {"source": source, "library": settings.JENNY_MERMAID}
    return render(request, "wikis/diagram.html", context)


@xframe_options_sameorigin
@csp_override(PREVIEW)
def _preview(_request: HttpRequest, source: str) -> HttpResponse:
    shown = _HEADER_TAG.sub(_WITHOUT_EFFECT, source)
    response = HttpResponse(shown, content_type="text/html; charset=utf-8")
    # A name that a page mentions is not looked up.
    response["X-DNS-Prefetch-Control"] = "off"
    return response
