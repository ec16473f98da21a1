"""Versions are compared by PEP 440 as the table says: parsed first, then with pre-releases as what they are."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from scheduler.core.versions import parse_specifier, satisfies

TABLE = Path(__file__).parent / "versions.csv"
ANSWERS = {"satisfied": True, "not satisfied": False, "unknown": None}


def rows() -> list[tuple[str, str, str]]:
    with TABLE.open(newline="") as table:
        return [(row["version"], row["specifier"], row["answer"]) for row in csv.DictReader(table)]


def test_the_table_is_whole() -> None:
    assert len(rows()) == 91


@pytest.mark.parametrize(("version", "specifier", "answer"), rows())
def test_the_answer_is_the_tables(version: str, specifier: str, answer: str) -> None:
    if answer == "invalid":
        assert parse_specifier(specifier) is None
    else:
        assert satisfies(version, specifier) is ANSWERS[answer]
