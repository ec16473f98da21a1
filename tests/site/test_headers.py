"""What every answer carries, and what nobody gets without signing in."""

import logging

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.converters import IntConverter

from gpulayer_site.redaction import RedactingFormatter, redact

pytestmark = pytest.mark.django_db

CSP = (
    "default-src 'none'; object-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Pages that a stranger may see: the door itself, and what its page is made of.
OPEN = {"signin", "signout", "theme"}


def directives(policy):
    return {part.strip() for part in policy.split(";") if part.strip()}


class TestHeaders:
    @pytest.mark.parametrize("path", ["/signin", "/profile", "/admin/", "/no/such/page", "/api/v1/jobs"])
    def test_the_content_security_policy_is_strict_everywhere(self, client, path):
        assert directives(client.get(path).headers["Content-Security-Policy"]) == directives(CSP)

    @pytest.mark.parametrize("path", ["/profile", "/admin/", "/", "/workers"])
    def test_also_for_an_administrator(self, admin_client, path):
        assert directives(admin_client.get(path, follow=True).headers["Content-Security-Policy"]) == directives(CSP)

    @pytest.mark.parametrize(
        ("header", "value"),
        [
            ("X-Frame-Options", "DENY"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
        ],
    )
    def test_the_secure_headers_are_there(self, client, header, value):
        assert client.get("/signin").headers[header] == value

    def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites(self, client):
        User.objects.create_user("mira", password="a long password")
        client.get("/signin")
        client.post("/signin", {"username": "mira", "password": "a long password"})
        assert {"gpulayer_session", "gpulayer_csrf"} <= set(client.cookies)
        for cookie in (client.cookies["gpulayer_session"], client.cookies["gpulayer_csrf"]):
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")

    def test_a_name_that_is_not_ours_is_refused(self, client):
        assert client.get("/signin", HTTP_HOST="elsewhere.example").status_code == 400


class TestDoors:
    def test_every_page_sends_a_stranger_to_the_sign_in_form(self, client):
        for name, path in _pages():
            answer = client.get(path)
            wanted = answer.status_code == 302 and answer.headers["Location"].startswith("/signin")
            assert wanted or answer.status_code == 405, f"{name} ({path}) answered {answer.status_code}"

    @pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/workers", "/api/v1/whoami", "/api/v1/jobs/j-1/log"])
    def test_the_api_asks_who_is_calling(self, client, path):
        answer = client.get(path)
        assert answer.status_code == 401
        assert answer.headers["Content-Type"].startswith("application/problem+json")


class TestLogs:
    @pytest.mark.parametrize("prefix", ["glu_", "gle_", "glw_"])
    def test_a_token_is_cut_short_wherever_it_stands(self, prefix):
        token = prefix + "Abc-_9" * 7
        assert redact(f"GET /x?token={token} by 'Bearer {token}', again {token}.").count("Abc") == 0
        assert prefix in redact(token)

    def test_a_bearer_of_any_kind_is_cut_short(self):
        assert redact("Authorization: Bearer something.else, x") == "Authorization: Bearer …, x"

    def test_a_password_in_an_address_is_cut_short(self):
        assert (
            redact("postgres://mira:geheim@db/x and redis://:p@r:1/0") == "postgres://mira:…@db/x and redis://:…@r:1/0"
        )

    def test_so_is_a_token_in_a_traceback(self):
        token = "glu_" + "x" * 43
        try:
            raise ValueError(token)
        except ValueError as error:
            record = logging.LogRecord(
                "x", logging.ERROR, "", 0, "it broke", None, (type(error), error, error.__traceback__)
            )
        assert token not in RedactingFormatter().format(record)

    def test_other_words_stay(self):
        text = "glue_code, gl_u and a glw_x: j-1 waits"
        assert redact(text) == text


def _pages():
    """Every named page without the admin and the APIs, with something put into its parameters."""
    for entry in _patterns(get_resolver().url_patterns):
        if entry.name and entry.name not in OPEN:
            parameters = dict.fromkeys(entry.pattern.regex.groupindex, "j-1")
            parameters |= {name: 1 for name, kind in entry.pattern.converters.items() if isinstance(kind, IntConverter)}
            yield entry.name, reverse(entry.name, kwargs=parameters)


def _patterns(entries):
    for entry in entries:
        if isinstance(entry, URLPattern):
            yield entry
        elif isinstance(entry, URLResolver) and str(entry.pattern) == "":
            yield from _patterns(entry.url_patterns)
