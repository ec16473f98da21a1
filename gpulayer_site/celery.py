"""The Celery application: a doorbell for scheduling passes. Losing or doubling a message changes nothing."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpulayer_site.settings")

app = Celery("gpulayer")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
