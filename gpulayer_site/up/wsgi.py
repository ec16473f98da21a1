"""The WSGI application as the launcher runs it: the worker process ends with the server, however that ended."""

from gpulayer_site.up import linux
from gpulayer_site.wsgi import application

__all__ = ["application"]

linux.die_with_parent()
