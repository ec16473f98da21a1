"""The command line's way to the server: which one, as whom, and what its answers mean. No Django here."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep
from typing import Any, NoReturn

import click
import httpx

from gpulayer_site.data_folder import data_folder
from workers.agent.transport import ONCE, AddressError, RefusedError, Retry, Transport, UnreachableError

ROOT = "/api/v1/"
CONFIG = "cli.json"
PAGE = 100
FAILED, WRONG_DOCUMENT, NO_ACCESS = 1, 2, 3
"""Exit codes: the answer is no; document or usage are wrong; the server cannot be reached or does not allow it."""


class Failure(click.ClickException):
    """Ends a command with one readable message and an exit code of its own."""

    def __init__(self, message: str, exit_code: int = FAILED, *, code: str = "") -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]
        self.code = code
        """The server's stable word for it, where the server said it."""


@dataclass(frozen=True, slots=True)
class Config:
    """Where the server is and who asks. `data` is its data folder, where that is on this machine."""

    url: str
    token: str
    data: Path | None
    source: str
    ca: Path | None = None
    """The certificate that the server of `data` shows, where `gpulayer up` speaks TLS itself."""


class People:
    """The people's API. Every error is a Failure."""

    def __init__(self, config: Config) -> None:
        self.url = config.url
        self.data = config.data
        self.ca = config.ca or ca_file()
        self._source = config.source
        try:
            # What `gpulayer up` wrote beside its data is an address of this host: nothing leaves the machine.
            plain = allow_http() or (config.data is not None and (config.data / "up.lock").is_file())
            self._transport = Transport(config.url, config.token, allow_http=plain, ca_file=self.ca)
        except AddressError as error:
            raise Failure(f"{error} ({config.source})", NO_ACCESS) from error

    def get(self, path: str, **params: str | int | None) -> Any:
        """The document at this path; keys that are None are left out."""
        given = {key: value for key, value in params.items() if value is not None}
        # Reading again is harmless: ride out a restart of the server.
        return self._call("GET", path, params=given, retry=Retry(_wait, tries=4))

    def pages(self, path: str, *, limit: int, **params: str | None) -> list[dict[str, Any]]:
        """Up to `limit` items of a list, over as many of its pages as that takes."""
        items: list[dict[str, Any]] = []
        after: str | None = None
        while len(items) < limit:
            page = self.get(path, limit=min(PAGE, limit - len(items)), after=after, **params)
            items += page["items"]
            after = page.get("next")
            if not after:
                break
        return items

    def post(self, path: str, document: object = None, headers: Mapping[str, str] | None = None) -> Any:
        """The answer to a document."""
        return self._call("POST", path, document=document, headers=headers)

    def post_text(
        self, path: str, text: str, media_type: str, headers: Mapping[str, str], **params: str | None
    ) -> Any:  # fmt: skip
        """The answer to a text in this format; parameters that are None are left out.

        Sent again where no answer came: give an idempotency key.
        """
        return self._call(
            "POST", path, content=text.encode(), headers={"Content-Type": media_type, **headers},
            params={key: value for key, value in params.items() if value is not None}, retry=Retry(_wait, tries=4),
        )  # fmt: skip

    def put_bytes(self, path: str, data: bytes, **params: str | int) -> Any:
        """The answer to some bytes. Sent again where no answer came: only where the same bytes again are fine."""
        return self._call(
            "PUT", path, content=data, params=params, headers={"Content-Type": "application/octet-stream"},
            retry=Retry(_wait, tries=6),
        )  # fmt: skip

    def get_bytes(self, path: str, **params: str | int) -> bytes:
        """What is there, as it is."""
        return self._answer("GET", path, params=params, retry=Retry(_wait, tries=6)).content

    def response(self, path: str, **params: str | int | None) -> httpx.Response:
        """What is there, with its headers; keys that are None are left out."""
        given = {key: value for key, value in params.items() if value is not None}
        return self._answer("GET", path, params=given, retry=Retry(_wait, tries=6))

    def patch(self, path: str, document: object) -> Any:
        """The answer to a document that changes what is there."""
        return self._call("PATCH", path, document=document)

    def delete(self, path: str) -> Any:
        """The answer to a deletion."""
        return self._call("DELETE", path)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _call(self, method: str, path: str, **options: Any) -> Any:
        response = self._answer(method, path, **options)
        try:
            return response.json() if response.content else None
        except (ValueError, RecursionError) as error:
            raise Failure(f"{self.url} answered, but it is no gpulayer server", NO_ACCESS) from error

    def _answer(self, method: str, path: str, *, retry: Retry = ONCE, **options: Any) -> httpx.Response:
        try:
            return self._transport.call(method, ROOT + path, retry=retry, **options)
        except RefusedError as error:
            _fail(error, self._source)
        except UnreachableError as error:
            raise Failure(
                f"{error}\n\nhint: is it running? The address comes from {self._source}", NO_ACCESS
            ) from error


def connect() -> People:
    """The server to talk to, closed when the command ends. Raises Failure where none is configured."""
    people = People(find_config())
    if context := click.get_current_context(silent=True):
        context.call_on_close(people.close)
    return people


def find_config(environ: Mapping[str, str] = os.environ) -> Config:
    """From `GPULAYER_URL` and `GPULAYER_TOKEN`, else from the first configuration file that there is.

    A token alone is for the server of that file. Raises Failure for an address alone: no token goes to a server that
    it was not made for.
    """
    url, token = environ.get("GPULAYER_URL", ""), environ.get("GPULAYER_TOKEN", "")
    if url and token:
        return Config(url, token, None, "GPULAYER_URL")
    found = next((path for path in config_files(environ) if path.is_file()), None)
    if found is None or url:
        missing = "GPULAYER_TOKEN is not set" if url else "GPULAYER_URL is not set" if token else "no server is known"
        raise Failure(
            f"{missing}\n\nhint: on the server's machine run this in the folder where `gpulayer up` runs; "
            "elsewhere set GPULAYER_URL and GPULAYER_TOKEN (made with `gpulayer token create`)", NO_ACCESS,
        )  # fmt: skip
    config = _read(found)
    return replace(config, token=token, source=f"GPULAYER_TOKEN and {found}") if token else config


def config_files(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Where a configuration may lie, nearest first."""
    home = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return data_folder(dict(environ)) / CONFIG, Path(".data").absolute() / CONFIG, home / "gpulayer" / CONFIG


def allow_http(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a token may travel unencrypted to another machine."""
    return environ.get("GPULAYER_ALLOW_HTTP", "") not in ("", "0")


def ca_file(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The authorities of one's own that servers' certificates are checked against; None for those of everybody."""
    named = environ.get("GPULAYER_CA_FILE", "")
    return Path(named) if named else None


def _read(path: Path) -> Config:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        data = Path(document["data"]) if document.get("data") else path.parent
        ca = Path(document["ca"]) if document.get("ca") else None
        return Config(str(document["url"]), str(document["token"]), data, str(path), ca)
    except PermissionError as error:
        raise Failure(f"{path} belongs to another user", NO_ACCESS) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"{path} is damaged: start `gpulayer up` once more, which writes it anew", NO_ACCESS) from error


def refusal_text(error: RefusedError) -> str:
    """What the server refuses, with every problem and every way out that it names."""
    problems = [_problem(each) for each in error.body.get("problems") or () if isinstance(each, dict)]
    ways_out = [f"  possible: {each.get('text')}" for each in error.body.get("fixes") or () if isinstance(each, dict)]
    return "\n".join((error.detail, *problems, *ways_out))


def _fail(error: RefusedError, source: str) -> NoReturn:
    if error.status == 401:
        raise Failure(f"the server does not accept the token from {source}: {error.detail}", NO_ACCESS) from error
    if error.status == 403:
        raise Failure(f"not allowed: {error.detail}", NO_ACCESS) from error
    exit_code = WRONG_DOCUMENT if error.status in (400, 413, 415, 422) else FAILED
    raise Failure(refusal_text(error), exit_code, code=error.code) from error


def _problem(each: Mapping[str, Any]) -> str:
    return f"  {each.get('path') or 'document'}: found {each.get('found')}; expected {each.get('expected')}"


def _wait(seconds: float) -> bool:
    sleep(seconds)
    return False
