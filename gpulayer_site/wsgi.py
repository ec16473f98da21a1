"""The WSGI application: what the web server runs."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpulayer_site.settings")

application = get_wsgi_application()
