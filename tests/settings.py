"""The real settings over a data folder of the tests' own; `DATABASE_URL` chooses PostgreSQL instead of SQLite."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_DATA = tempfile.mkdtemp(prefix="gpulayer-tests-")
atexit.register(shutil.rmtree, _DATA, ignore_errors=True)
os.environ["GPULAYER_DATA"] = _DATA
os.environ["SECRET_KEY"] = "only for tests, and long enough for what is asked of it"
os.environ.pop("ALLOWED_HOSTS", None)
os.environ.pop("GPULAYER_URL", None)

from gpulayer_site.settings import *  # noqa: E402, F403
from gpulayer_site.settings import ALLOWED_HOSTS, DATABASES, INSTALLED_APPS, STORAGES  # noqa: E402

ALLOWED_HOSTS += ["testserver"]
# A file, not memory: live servers and races need several connections to one database.
DATABASES["default"]["TEST"] = {"NAME": None}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["TEST"] = {"NAME": str(Path(_DATA) / "test.sqlite3")}
DATABASES["default"]["CONN_MAX_AGE"] = 0
CELERY_BROKER_URL = "memory://"
# Tests change rows without the events that tell of it.
UNCHANGED_LOOK_SECONDS = None
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# The manifest of hashed names exists only after collectstatic; tests/site checks that one on an installed wheel.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
# Emptying the database between tests removes events, which nothing else but retention may.
INSTALLED_APPS += ["tests.emptied"]
