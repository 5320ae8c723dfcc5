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

from jenny.bodylimit import BodyLimit
from jenny.requestlog import RequestLog
from jenny.streamthreads import StreamThreads

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jenny.settings")


class Handler(ASGIHandler):
    """Django's, with all middleware and the view of a request in one go, in one thread.

    Django's own lets the event loop call the views and each hook for them. No middleware here
    waits for anything in an event loop, so that each of these calls would only be a way there
    and back.
    """

    @override
    def load_middleware(self, is_async: bool = False) -> None:
        """As under WSGI; an asynchronous view is still run by the event loop."""
        del is_async
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """The response, made in the request's thread."""
        return await sync_to_async(self.get_response)(request)


django.setup(set_prefix=False)
_pages = StreamThreads(Handler(), leave=connections.close_all)
application = RequestLog(BodyLimit(_pages, settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
