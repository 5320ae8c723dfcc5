"""The ASGI application that uvicorn serves."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from jenny.bodylimit import BodyLimit
from jenny.requestlog import RequestLog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jenny.settings")

application = RequestLog(BodyLimit(get_asgi_application(), settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
