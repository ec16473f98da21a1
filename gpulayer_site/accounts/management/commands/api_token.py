"""`manage.py api_token`: a token for the command line, made on the server's own host."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gpulayer_site.accounts import services
from gpulayer_site.accounts.tokens import create_token
from workers.caller import on_the_server


class Command(BaseCommand):
    help = "Print a new API token; it is shown only now."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", help="whose it is (default: the first administrator, made when missing)")
        parser.add_argument("--note", default="", help="where it will live")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = services.active_user(options["user"])
        except User.DoesNotExist:
            raise CommandError(f"there is no active user `{options['user']}`") from None
        with on_the_server():
            _, secret = create_token(user=user, note=options["note"], now=timezone.now())
        self.stdout.write(secret)
