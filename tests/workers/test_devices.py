"""Devices as they are drawn and counted."""

from __future__ import annotations

import pytest

from tests.core.builders import a_worker
from workers.devices import device_boxes, free_count


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"online": False}, "offline"),
        ({"draining": True}, "draining"),
        ({"unhealthy": True}, "the worker is unhealthy"),
        ({"online": False, "draining": True, "unhealthy": True}, "offline"),
    ],
)
def test_no_device_is_free_where_the_worker_takes_no_jobs(state: dict[str, bool], words: str) -> None:
    boxes = device_boxes(a_worker(gpus="2xA100", busy=[0], **state))
    assert [box.words for box in boxes] == ["in use by j-0", words]
    assert free_count(boxes) == 0
