"""The ASGI application, for installations that need one; WSGI is faster for these synchronous pages."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpulayer_site.settings")

application = get_asgi_application()
