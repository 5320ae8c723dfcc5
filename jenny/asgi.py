"""The ASGI application that uvicorn serves."""

import os
from typing import override

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from jenny.runtime.asgi_middleware import BodyLimit, RequestLog, StreamThreads

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jenny.settings")


class Handler(ASGIHandler):
    """Runs all middleware and the view of a request in one thread.

    Django's own handler lets the event loop call the views and each hook. No middleware here waits
    in an event loop, so each of these calls would only cost thread switches.
    """

    @override
    def load_middleware(self, is_async: bool = False) -> None:
        """Load the middleware as under WSGI; the event loop still runs asynchronous views."""
        del is_async
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Make the response in the request's thread."""
        return await sync_to_async(self.get_response)(request)


django.setup(set_prefix=False)
_pages = StreamThreads(Handler(), leave=connections.close_all)
application = RequestLog(BodyLimit(_pages, settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
