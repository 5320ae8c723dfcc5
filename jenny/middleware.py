"""Middleware that tells browsers which abilities a page may use: the microphone, for dictation."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

# A frame within a page gets none of them.
POLICY = "microphone=(self), camera=(), geolocation=(), payment=(), usb=()"


class PermissionsPolicyMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", POLICY)
        return response
