"""The WSGI application: what the web server runs."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from gpulayer_site.arrival import patiently

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpulayer_site.settings")

application = patiently(get_wsgi_application(), threads=settings.GPULAYER_WEB_THREADS)
