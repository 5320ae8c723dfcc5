"""The ASGI application that uvicorn serves."""

import os

from django.core.asgi import get_asgi_application

from jenny.requestlog import RequestLog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jenny.settings")

application = RequestLog(get_asgi_application())
