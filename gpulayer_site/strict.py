"""What an operator may give, and what is refused at the start because it would protect nothing."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from workers.agent.trust import is_loopback

SHORTEST_KEY = 32
FEWEST_CHARACTERS = 10
"""So many different ones: `aaaa…` is long and still guessed."""
_BROKERS_AFAR = ("redis", "rediss")
_BROKERS = (*_BROKERS_AFAR, "redis+socket", "memory")
_KNOWN = ("django-insecure-", "change-me", "changeme", "secret-key", "your-secret")


def checked_secret_key(key: str) -> str:
    """The key that signs sessions. Raises ImproperlyConfigured, which does not show it."""
    if len(key) < SHORTEST_KEY:
        raise ImproperlyConfigured(
            f"SECRET_KEY needs at least {SHORTEST_KEY} characters, better 50; unset: one is made"
        )
    if len(set(key)) < FEWEST_CHARACTERS:
        raise ImproperlyConfigured(
            f"SECRET_KEY needs {FEWEST_CHARACTERS} different characters, it has {len(set(key))}; unset: one is made"
        )
    if key.lower().startswith(_KNOWN):
        raise ImproperlyConfigured("SECRET_KEY is an example that everybody knows; unset: one is made")
    return key


def checked_broker(urls: str) -> str:
    """The broker's address, or several with `;` between them. Raises ImproperlyConfigured, which shows no password.

    Refused: one that anybody in the network could write to, and one of a kind that has no such check.
    """
    for url in filter(None, urls.split(";")):
        parts = urlsplit(url)
        if parts.scheme not in _BROKERS:
            found = f"`{parts.scheme}://…`" if "://" in url else "no `://`"
            raise ImproperlyConfigured(
                f"GPULAYER_BROKER_URL is redis://…, rediss://… or redis+socket://…; found {found}"
            )
        if parts.scheme in _BROKERS_AFAR and not parts.password and not is_loopback(url):
            raise ImproperlyConfigured(
                f"GPULAYER_BROKER_URL: the broker at {parts.hostname} takes messages without a password from everybody "
                f"who reaches it; set one there (requirepass) and write {parts.scheme}://:PASSWORD@{parts.hostname}/…"
            )
    return urls
