"""The app that knows who is calling."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """People: their roles, teams, tokens and sign-ins."""

    name = "gpulayer_site.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Listen for users being saved, for people coming in and for those who are kept out."""
        from gpulayer_site.accounts import signals  # noqa: F401
