"""The WSGI application: what the web server runs."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from gpulayer_site.arrival import patiently
from gpulayer_site.proxies import behind

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpulayer_site.settings")

_waiting = patiently(get_wsgi_application(), threads=settings.GPULAYER_WEB_THREADS)
application = behind(_waiting, settings.GPULAYER_TRUSTED_PROXIES, https=settings.GPULAYER_HTTPS)
