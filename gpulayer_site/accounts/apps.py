"""The app that knows who is calling."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """People's tokens and one-time sign-in codes."""

    name = "gpulayer_site.accounts"
    label = "accounts"
