"""Every code has its page in the handbook, and the handbook its page in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.core.handbook import HANDBOOK
from scheduler.core.labels import code_label
from scheduler.core.reasons import CODES, Code

REASONS = (Path(__file__).parents[2] / "docs" / "reasons.md").read_text(encoding="utf-8")


def test_every_code_has_its_page() -> None:
    assert list(HANDBOOK) == list(Code)


@pytest.mark.parametrize("code", CODES)
def test_its_page_is_in_the_documentation_as_written(code: str) -> None:
    page = HANDBOOK[CODES[code]]
    assert f"### `{code}`: {code_label(code)}\n\n{page.meaning}\n" in REASONS
    assert f"- What to do: {page.remedy}\n" in REASONS
