"""Versions and specifiers (PEP 440) and distribution names (PEP 503)."""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

LONGEST_SPECIFIER = 500
LONGEST_VERSION = 200
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_BARE_CAPABILITY = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4})?")


@lru_cache(maxsize=4096)
def parse_version(text: str) -> Version | None:
    """The version, or None where the text is empty, too long or no PEP 440 version: it counts as unknown."""
    if len(text) > LONGEST_VERSION:
        return None
    try:
        return Version(text)
    except (InvalidVersion, ValueError):
        return None


@lru_cache(maxsize=4096)
def parse_specifier(text: str) -> SpecifierSet | None:
    """The specifier set, or None where the text is none; the empty text admits every version."""
    if len(text) > LONGEST_SPECIFIER:
        return None
    try:
        return SpecifierSet(text)
    except (InvalidSpecifier, ValueError):
        return None


@lru_cache(maxsize=65536)
def satisfies(version: str | None, specifier: str) -> bool | None:
    """Whether the version meets the specifier, pre-releases included; None where the version is unknown.

    The empty specifier asks for nothing, so it is met by any.
    """
    if not specifier.strip():
        return True
    known = parse_version(version) if version is not None else None
    if known is None:
        return None
    wanted = parse_specifier(specifier)
    return wanted is not None and wanted.contains(known, prereleases=True)


def only_its_tail_is_to_blame(version: str, specifier: str) -> bool:
    """Whether the release that this pre-release leads up to would satisfy what the pre-release itself does not."""
    known = parse_version(version)
    if known is None or not known.is_prerelease or satisfies(version, specifier):
        return False
    return bool(satisfies(known.base_version, specifier))


def normalised_name(text: str) -> str | None:
    """The distribution's name as it is compared, or None where the text is no such name."""
    return str(canonicalize_name(text)) if len(text) <= LONGEST_VERSION and _NAME.fullmatch(text) else None


def capability_specifier(text: str) -> str | None:
    """A specifier over compute capabilities: a bare `8.0` means `>=8.0`. None where the text is neither."""
    if _BARE_CAPABILITY.fullmatch(text):
        return f">={text}"
    return text if text and parse_specifier(text) is not None else None
