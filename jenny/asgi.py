"""The ASGI application that uvicorn serves."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.db import connections

from jenny.bodylimit import BodyLimit
from jenny.requestlog import RequestLog
from jenny.streamthreads import StreamThreads

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jenny.settings")

_pages = StreamThreads(get_asgi_application(), leave=connections.close_all)
application = RequestLog(BodyLimit(_pages, settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
