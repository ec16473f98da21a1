"""Makes guessing slow: after too many failures the next try has to wait."""

from datetime import datetime, timedelta

from gpulayer_site.accounts.models import FailedSignIn

WINDOW = timedelta(minutes=5)
TRIES_PER_NAME = 5
TRIES_PER_ADDRESS = 30


def may_try(*, username: str, address: str, now: datetime) -> bool:
    """Whether `address` may try to sign in as `username` (empty: with a code) now.

    Names are counted per address, so that a stranger cannot lock a person out from elsewhere.
    """
    recent = FailedSignIn.objects.filter(address=address, at__gt=now - WINDOW)
    return recent.count() < TRIES_PER_ADDRESS and recent.filter(username=username).count() < TRIES_PER_NAME


def note_failure(*, username: str, address: str, now: datetime) -> None:
    """Remember a failure, and forget those that no longer count."""
    FailedSignIn.objects.filter(at__lte=now - WINDOW).delete()
    FailedSignIn.objects.create(username=username, address=address, at=now)


def forget(*, username: str, address: str) -> None:
    """A success: the failures before it no longer count."""
    FailedSignIn.objects.filter(username=username, address=address).delete()
