"""People, and what they come in with: sessions, tokens, one-time codes. Secrets are kept only as hashes."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q

from workers.roles import Role, Scope


def every_scope() -> list[str]:
    """What a token without narrower scopes is for."""
    return list(Scope.values)


class Person(models.Model):
    """What this site knows of a user beyond the name: the role, and what follows from it.

    `User.is_staff` and `is_superuser` say the same of operators and administrators, for Django's admin: one signal
    keeps them equal.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="person")
    role = models.CharField(max_length=15, choices=Role.choices, default=Role.SUBMITTER)
    epoch = models.PositiveIntegerField(default=1)
    """Sessions of an earlier epoch are over: it grows when role, teams or password change."""
    must_change_password = models.BooleanField(default=False)
    """The password was set by an administrator: it is good for one sign-in, and for choosing another."""
    temporary_until = models.DateTimeField(null=True, blank=True)
    """Until when such a password signs in; empty for one of the person's own."""
    time_zone = models.CharField(max_length=64, blank=True)
    """An IANA name; empty: as the browser says."""

    class Meta:
        verbose_name_plural = "people"
        constraints = [models.CheckConstraint(condition=Q(role__in=Role.values), name="person_role")]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class ApiToken(models.Model):
    """A person's token for the command line and scripts; it may do what its owner may, or less."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    hash = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField("starts with", max_length=12, editable=False)
    note = models.CharField(max_length=100, blank=True)
    role = models.CharField(max_length=15, choices=Role.choices, default=Role.ADMINISTRATOR)
    """The most it may do; its owner's role where that is less."""
    scopes = models.JSONField(default=every_scope)
    """What it is for: see `workers.roles.Scope`."""
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_from = models.CharField(max_length=45, blank=True)
    """The address that it came from then."""
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.user}"

    def is_live(self, now: datetime) -> bool:
        """Whether it still opens the door."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class SignInCode(models.Model):
    """A code that signs one person in, once, for a few minutes."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_codes")
    hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"code of {self.user} until {self.expires_at:%H:%M:%S}"


class BrowserSession(AbstractBaseSession):
    """One browser's session, with whose it is: Django's own table doesn't know that."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="browser_sessions"
    )
    since = models.DateTimeField(null=True)
    """When its person signed in."""
    seen_at = models.DateTimeField(null=True)
    """When its person last did something, to some minutes."""
    address = models.CharField(max_length=45, blank=True)
    browser = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return f"session of {self.user or 'nobody'} until {self.expire_date:%Y-%m-%d %H:%M}"

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        """The engine that keeps these rows."""
        from gpulayer_site.accounts.sessions import SessionStore

        return SessionStore


class UnixAccount(models.Model):
    """The account on the hosts that a person's jobs run as, where an agent runs them as their submitter."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="unix_account")
    name = models.CharField(max_length=32)

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(name=""), name="unix_account_has_a_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
