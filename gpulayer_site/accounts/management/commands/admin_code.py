"""`manage.py admin_code`: a one-time code for the sign-in form."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gpulayer_site.accounts import services
from workers.caller import on_the_server


class Command(BaseCommand):
    help = "Print a one-time code (10 minutes, one use) that signs the administrator in."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", help="whom it signs in (default: the first administrator, made when missing)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = services.active_user(options["user"])
        except User.DoesNotExist:
            raise CommandError(f"there is no active user `{options['user']}`") from None
        with on_the_server():
            code = services.create_sign_in_code(user=user, now=timezone.now())
        self.stdout.write(code)
