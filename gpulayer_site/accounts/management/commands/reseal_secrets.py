"""`manage.py reseal_secrets`: after a change of key, everything encrypted with the first one."""

from typing import Any

from cryptography.fernet import InvalidToken
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from scheduler.services.sealing import seal_anew


class Command(BaseCommand):
    help = "Encrypt the secrets of all jobs with the first of the keys in GPULAYER_SECRETS_KEY."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = seal_anew(now=timezone.now())
        except InvalidToken:
            raise CommandError(
                "some secrets are encrypted with a key that GPULAYER_SECRETS_KEY does not have: add it behind the first"
            ) from None
        self.stdout.write(f"the secrets of {count} job{'' if count == 1 else 's'} are encrypted with the first key")
