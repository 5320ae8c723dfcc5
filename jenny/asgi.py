"""The ASGI application that uvicorn serves."""

import os

from django.core.asgi import get_asgi_application

from jenny import celery as queue
from jenny.requestlog import RequestLog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jenny.settings")

# Imported so that tasks sent by views go to this app.
queue_app = queue.app
application = RequestLog(get_asgi_application())
