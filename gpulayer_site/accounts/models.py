"""Tokens, one-time codes and failed attempts. Secrets are kept only as hashes."""

from datetime import datetime

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A person's token for the command line and scripts; it may do what its owner may."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    hash = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField("starts with", max_length=12, editable=False)
    note = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
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


class FailedSignIn(models.Model):
    """A sign-in that failed; too many from one place or for one name make the next one wait."""

    username = models.CharField(max_length=150, blank=True)
    address = models.CharField(max_length=45)
    at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["address", "at"], name="failed_sign_in_by_address"),)

    def __str__(self) -> str:
        return f"{self.username or 'code'} from {self.address}"


class UnixAccount(models.Model):
    """The account on the hosts that a person's jobs run as, where an agent runs them as their submitter."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="unix_account")
    name = models.CharField(max_length=32)

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(name=""), name="unix_account_has_a_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
