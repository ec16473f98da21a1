"""Settings, all from the environment; what is unset is safe. docs/configuration.md lists them for operators."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from gpulayer_site.data_folder import DATABASE, broker_url, data_folder, make_private, secret_key, secrets_key
from gpulayer_site.keeping import Keep, keep, read_count, read_size
from gpulayer_site.keys import checked_keys
from gpulayer_site.paces import MISSES, check_lease, read_seconds
from gpulayer_site.proxies import LOOPBACK, read_proxies
from gpulayer_site.strict import checked_broker, checked_secret_key

env = environ.Env()

PACKAGE = Path(__file__).resolve().parent
# In a checkout the templates and static files lie beside the packages; the wheel packs them into this one.
ROOT = PACKAGE if (PACKAGE / "templates").is_dir() else PACKAGE.parent

# --- this installation ---------------------------------------------------------------------------------------------

GPULAYER_DATA: Path = data_folder()
GPULAYER_URL: str = env.str("GPULAYER_URL", default="").rstrip("/")
_PUBLIC = urlsplit(GPULAYER_URL)

DEBUG: bool = env.bool("DEBUG", default=False)
SECRET_KEY: str = checked_secret_key(env.str("SECRET_KEY", default="") or secret_key(GPULAYER_DATA))
# The first encrypts; the others only open what was encrypted before them.
GPULAYER_SECRETS_KEYS: tuple[str, ...] = checked_keys(
    env.list("GPULAYER_SECRETS_KEY", default=[]) or [secrets_key(GPULAYER_DATA)]
)

# This host always reaches itself: its agent and its commands call the server by these names.
_LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS: list[str] = [*env.list("ALLOWED_HOSTS", default=[]), *_LOOPBACK]
if _PUBLIC.hostname and _PUBLIC.hostname not in ALLOWED_HOSTS:
    ALLOWED_HOSTS.append(_PUBLIC.hostname)

# --- what runs -----------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "gpulayer_site.admin_site.AdminApp",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "ninja",
    "axes",
    "gpulayer_site.apps.SiteConfig",
    "gpulayer_site.accounts",
    "workers",
    "scheduler",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "gpulayer_site.unchanged.UnchangedMiddleware",
    "csp.middleware.CSPMiddleware",
    "gpulayer_site.audit.middleware.CallerMiddleware",
    "gpulayer_site.no_store.NoStoreMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "gpulayer_site.problems.ProblemMiddleware",
    "gpulayer_site.tokens_in_addresses.TokenInAddressMiddleware",
    "gpulayer_site.bodies.BodyMiddleware",
    "gpulayer_site.problems_of_values.ValueMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "gpulayer_site.accounts.middleware.PeopleMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "gpulayer_site.access.middleware.AccessMiddleware",
]

ROOT_URLCONF = "gpulayer_site.urls"
WSGI_APPLICATION = "gpulayer_site.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "gpulayer_site.accounts.context.may",
            ],
        },
    },
]

# --- database ------------------------------------------------------------------------------------------------------

# Every atomic() takes SQLite's write lock at its start: without IMMEDIATE a reader that turns writer fails at once.
# For the same reason requests are not wrapped in transactions; services open their own.
if env.str("DATABASE_URL", default=""):
    _DATABASE = env.db_url("DATABASE_URL")
    if "ENGINE" not in _DATABASE:
        raise ImproperlyConfigured("DATABASE_URL is no address of a database; write postgres://user:password@host/name")
else:
    _DATABASE = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(make_private(GPULAYER_DATA) / DATABASE)}
DATABASES = {"default": _DATABASE}
_DATABASE["CONN_MAX_AGE"] = env.int("CONN_MAX_AGE", default=60)
_DATABASE["CONN_HEALTH_CHECKS"] = True
if _DATABASE["ENGINE"] == "django.db.backends.sqlite3":
    _DATABASE["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL",
    }

# --- broker and tasks ----------------------------------------------------------------------------------------------

RUN_PASS_EVERY_SECONDS = 2.0

CELERY_BROKER_URL: str = checked_broker(env.str("GPULAYER_BROKER_URL", default="")) or broker_url(GPULAYER_DATA)
CELERY_ACCEPT_CONTENT = ["json"]  # never a pickle, whoever put it there
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2}
CELERY_TASK_IGNORE_RESULT = True
# A nudge that cannot be sent is dropped at once: beat asks again two seconds later.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(GPULAYER_DATA / "beat-schedule")
CELERY_BEAT_SCHEDULE = {
    "run-pass": {
        "task": "scheduler.run_pass",
        "schedule": RUN_PASS_EVERY_SECONDS,
        # A worker that stalled does not work through a backlog of passes.
        "options": {"expires": RUN_PASS_EVERY_SECONDS},
    },
}

# --- what is kept ---------------------------------------------------------------------------------------------------

# No log grows beyond this; of what a program writes after it nothing is kept.
GPULAYER_LOG_LIMIT_BYTES: int = read_size(env, "GPULAYER_LOG_LIMIT", "1GiB")
# What a person may upload for one job, and what a task may leave in its output folder and have brought here.
GPULAYER_FILES_LIMIT_BYTES: int = read_size(env, "GPULAYER_FILES_LIMIT", "200MB")
GPULAYER_OUTPUTS_LIMIT_BYTES: int = read_size(env, "GPULAYER_OUTPUTS_LIMIT", "1GiB")
# Logs and files are refused before the disk is full: the database may lie on the same one.
GPULAYER_KEEP_FREE_BYTES: int = read_size(env, "GPULAYER_KEEP_FREE", "256MiB")
GPULAYER_KEEP: dict[str, Keep] = keep(env)
# No event younger than this is removed, however many there are.
GPULAYER_AUDIT_DAYS: int = read_count(env, "GPULAYER_AUDIT_DAYS", "90")
GPULAYER_KEEP_SECRETS_DAYS: int = read_count(env, "GPULAYER_KEEP_SECRETS_DAYS", "30")
RETENTION_EVERY_SECONDS = 600.0
CELERY_BEAT_SCHEDULE["retention"] = {
    "task": "scheduler.retention",
    "schedule": RETENTION_EVERY_SECONDS,
    "options": {"expires": RETENTION_EVERY_SECONDS},
}

SEAL_EVERY_SECONDS = 300.0
CELERY_BEAT_SCHEDULE["seal-trail"] = {
    "task": "workers.seal_trail",
    "schedule": SEAL_EVERY_SECONDS,
    "options": {"expires": SEAL_EVERY_SECONDS},
}

# --- who sees what --------------------------------------------------------------------------------------------------

# Whether people see jobs that are neither theirs nor their teams': `visible` or `hidden`. Operators see all.
GPULAYER_OTHERS_JOBS: str = env.str("GPULAYER_OTHERS_JOBS", default="visible")
if GPULAYER_OTHERS_JOBS not in ("visible", "hidden"):
    raise ImproperlyConfigured(f"GPULAYER_OTHERS_JOBS is visible or hidden; found `{GPULAYER_OTHERS_JOBS}`")

# --- clocks of execution --------------------------------------------------------------------------------------------

# docs/execution.md says what each of them promises; tests make them short.
HEARTBEATS_MISSED = MISSES
GPULAYER_HEARTBEAT_SECONDS = read_seconds(env, "GPULAYER_HEARTBEAT_SECONDS", 15)
GPULAYER_LEASE_SECONDS = read_seconds(env, "GPULAYER_LEASE_SECONDS", 1800, least=1)
GPULAYER_LEASE_MARGIN_SECONDS = read_seconds(env, "GPULAYER_LEASE_MARGIN_SECONDS", 30, least=1)
GPULAYER_LOST_AFTER_SECONDS = read_seconds(env, "GPULAYER_LOST_AFTER_SECONDS", 300)
GPULAYER_CLAIM_SECONDS = read_seconds(env, "GPULAYER_CLAIM_SECONDS", 60)
GPULAYER_OVERDUE_SECONDS = read_seconds(env, "GPULAYER_OVERDUE_SECONDS", 60)
GPULAYER_WATCH_SECONDS = read_seconds(env, "GPULAYER_WATCH_SECONDS", 5)
# So long before a reservation begins no job without a time limit is started on what it is for.
GPULAYER_RESERVATION_NOTICE_SECONDS = read_seconds(env, "GPULAYER_RESERVATION_NOTICE", 24 * 3600)
check_lease(lease=GPULAYER_LEASE_SECONDS, heartbeat=GPULAYER_HEARTBEAT_SECONDS)
CELERY_BEAT_SCHEDULE["watch"] = {
    "task": "scheduler.watch",
    "schedule": GPULAYER_WATCH_SECONDS,
    "options": {"expires": GPULAYER_WATCH_SECONDS},
}
# The web server's threads; half of them at most wait for work on behalf of agents.
GPULAYER_WEB_THREADS: int = read_count(env, "GPULAYER_WEB_THREADS", "16")

# Whether anything has happened is looked at this often, however many pages are left open (see unchanged.py); None:
# every piece is made at every look.
UNCHANGED_LOOK_SECONDS: float | None = 0.25

# --- signing in and cookies ----------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = ["gpulayer_site.accounts.backends.Door"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "signin"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "signin"

_HTTPS = _PUBLIC.scheme == "https"
# Behind a TLS proxy everybody seems to come from there; it says from where (accounts/address.py) and whether over TLS
# (proxies.py). A server that speaks TLS itself has no proxy, unless one is named.
_ON_THIS_HOST = LOOPBACK if _HTTPS and not env.str("GPULAYER_TLS_CERT", default="") else ()
GPULAYER_TRUSTED_PROXIES = read_proxies(env.list("GPULAYER_TRUSTED_PROXIES", default=[])) or _ON_THIS_HOST
GPULAYER_HTTPS = _HTTPS
SECURE_SSL_REDIRECT = _HTTPS
SECURE_SSL_HOST = _PUBLIC.netloc or None
# Browsers take a cookie of this prefix from this very host alone, and only over TLS.
_PREFIX = "__Host-" if _HTTPS else ""
SESSION_COOKIE_NAME = f"{_PREFIX}gpulayer_session"
SESSION_ENGINE = "gpulayer_site.accounts.sessions"
# A session ends this long after its person did something for the last time, and this long after its beginning.
GPULAYER_SESSION_IDLE_SECONDS = 3600 * read_seconds(env, "GPULAYER_SESSION_IDLE_HOURS", 12)
SESSION_COOKIE_AGE = int(24 * 3600 * read_seconds(env, "GPULAYER_SESSION_DAYS", 14, least=0.01))
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = _HTTPS
CSRF_COOKIE_NAME = f"{_PREFIX}gpulayer_csrf"
CSRF_COOKIE_HTTPONLY = True  # pages carry the token in the form or in hx-headers
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = _HTTPS
CSRF_TRUSTED_ORIGINS = [f"{_PUBLIC.scheme}://{_PUBLIC.netloc}"] if _PUBLIC.netloc else []

# --- sign-ins that fail --------------------------------------------------------------------------------------------

# So many failures lock a name for one address, a name for everybody, an address for every name (accounts/lockout.py).
AXES_FAILURE_LIMIT = read_count(env, "GPULAYER_SIGN_IN_TRIES", "5") or 1
GPULAYER_SIGN_IN_TRIES_BY_NAME = read_count(env, "GPULAYER_SIGN_IN_TRIES_BY_NAME", "20") or 1
GPULAYER_SIGN_IN_TRIES_BY_ADDRESS = read_count(env, "GPULAYER_SIGN_IN_TRIES_BY_ADDRESS", "30") or 1
AXES_HANDLER = "gpulayer_site.accounts.lockout.Lock"
AXES_LOCKOUT_PARAMETERS = "gpulayer_site.accounts.lockout.parameters"
AXES_LOCKOUT_CALLABLE = "gpulayer_site.accounts.views.locked_out"
AXES_COOLOFF_TIME = timedelta(minutes=read_seconds(env, "GPULAYER_SIGN_IN_COOL_OFF_MINUTES", 15))
AXES_CLIENT_IP_CALLABLE = "gpulayer_site.accounts.lockout.address_of"
AXES_RESET_ON_SUCCESS = True
# Tries during a lock neither lengthen it nor are kept.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "password", "code", "next", "csrfmiddlewaretoken"]
AXES_DISABLE_ACCESS_LOG = True  # the trail of events has it
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# --- headers -------------------------------------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "object-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# It binds browsers for that long: a month where this is served over TLS. Other hosts of the domain are not ours.
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=30 * 24 * 3600 if _HTTPS else 0)
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # subdomains and the preload list, for that reason

DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024  # one log chunk is 1 MiB, a document 256 KiB

# --- static files --------------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = GPULAYER_DATA / "static"
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- language and time ---------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = False
DATE_FORMAT, DATETIME_FORMAT = "Y-m-d", "Y-m-d H:i:s"  # where a template says no other, as in the administration
TIME_ZONE = "UTC"
USE_TZ = True

# --- logging -------------------------------------------------------------------------------------------------------

LOG_LEVEL: str = env.str("LOG_LEVEL", default="INFO").upper()
if LOG_LEVEL not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
    raise ImproperlyConfigured(f"LOG_LEVEL is DEBUG, INFO, WARNING, ERROR or CRITICAL; found `{LOG_LEVEL}`")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "gpulayer_site.redaction.RedactingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
    },
    "filters": {"reference": {"()": "gpulayer_site.references.WithReference"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["reference"]}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.request": {"level": "ERROR"},  # a refused request is the caller's business
        "django.server": {"handlers": [], "level": "WARNING", "propagate": True},
        "httpx": {"level": "WARNING"},
        "axes": {"level": "ERROR"},  # the trail of events has it
        "celery.app.trace": {"level": "WARNING"},  # a line for each pass would be thirty a minute
        "celery.beat": {"level": "WARNING"},
    },
}
