"""Whatever a document holds, the answer is a value or a `DocumentError` that can be printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core import parsing_job, parsing_worker
from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job, parse_queue_entry, parse_worker

HOSTILE = st.sampled_from(
    [
        float("nan"), float("inf"), -float("inf"), -0.0, 1e308, 2**70, -(2**70), 10**4000, True, None, "", "\0",
        "\ud800", "\u202e", "9" * 400, "1e9999GB", ">=" + "1" * 600, "x" * 1_000_000, [], {}, [[]], {"": {}},
        {None: 1}, {1.5: 2}, "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1.0.dev" + "0" * 300,
        b"bytes", object(),
    ]
)  # fmt: skip
NAMES = sorted(
    {*parsing_job._FIELDS, *parsing_worker.FACT_FIELDS, *parsing_worker.STATE_FIELDS, *parsing_job.PER_DEVICE}
    | {
        "os",
        "gpus",
        "cpu_cores",
        "memory_gb",
        "worker_ids",
        "worker_labels",
        "num_workers",
        "max",
        "on",
        "index",
        "kind",
    }
    | {"spec", "job_id", "holders", "submitted_at", "failed_on", "environment", "cuda", "archs", "mig"}
)
SCALARS = st.one_of(HOSTILE, st.integers(), st.floats(), st.text(max_size=20), st.sampled_from(["local", "8.0", "1GB"]))
DOCUMENTS = st.recursive(
    SCALARS,
    lambda below: st.one_of(
        st.lists(below, max_size=3), st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(max_size=5)), below)
    ),
    max_leaves=25,
)


def parse_entry(document: object) -> object:
    return parse_queue_entry(document, position=1)


@pytest.mark.parametrize("parse", [parse_job, parse_entry, parse_worker])
@settings(deadline=None)
@given(document=DOCUMENTS)
def test_anything_at_all_is_answered(parse: Callable[[object], object], document: object) -> None:
    _answered(parse, document)


@pytest.mark.parametrize(
    ("parse", "fields", "least"),
    [
        pytest.param(parse_job, parsing_job._FIELDS, {"name": "a", "command": ["b"], "target": "local"}, id="job"),
        pytest.param(
            parse_worker, parsing_worker.FACT_FIELDS + parsing_worker.STATE_FIELDS, {"id": "a", "origin": "local"},
            id="worker",
        ),
    ],
)  # fmt: skip
@settings(deadline=None)
@given(data=st.data())
def test_any_value_in_any_field_is_answered(
    parse: Callable[[object], object], fields: tuple[str, ...], least: dict[str, Any], data: st.DataObject
) -> None:
    field = data.draw(st.sampled_from(fields))
    _answered(parse, least | {field: data.draw(DOCUMENTS)})


def test_a_document_nested_a_thousand_deep_is_answered() -> None:
    deep: object = "x"
    for _ in range(1_000):
        deep = {"resources": [deep]}
    _answered(parse_job, deep)


def _answered(parse: Callable[[object], object], document: object) -> None:
    told = _told(parse, document)
    assert told is None or 0 < len(told.encode("utf-8")) < 50_000


def _told(parse: Callable[[object], object], document: object) -> str | None:
    try:
        parse(document)
    except DocumentError as error:
        return str(error)
    return None
