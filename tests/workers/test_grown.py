"""Facts that never shrink by themselves, as a table of what was accepted, what is read now, and what counts."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.core.parsing import parse_worker_facts
from tests.factories import worker_document
from workers.services.differences import differences
from workers.services.facts import kept_document
from workers.services.grown import MISSING, Grown, grown

BEFORE = worker_document("w", gpus="2xA100", memory="512GiB", cpu_cores=64)


def read(**differs: Any) -> Grown:
    """What comes of `BEFORE` and then a reading that differs in this."""
    return grown(parse_worker_facts(BEFORE), parse_worker_facts({**BEFORE, **differs}))


def devices(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    """A device per argument: those of `BEFORE` in turn, and more like the first, with these changes."""
    return [
        {**(BEFORE["devices"][place] if place < 2 else BEFORE["devices"][0]), **change}
        for place, change in enumerate(changes)
    ]


def seen(result: Grown) -> list[tuple[int, str | None, bool]]:
    """Index, uuid, and whether it was found."""
    return [(each.index, each.uuid, each.index not in result.missing) for each in result.kept.devices or ()]


@pytest.mark.parametrize(
    ("now", "kept", "less"),
    [
        pytest.param(devices({}, {}), [(0, "GPU-w-0", True), (1, "GPU-w-1", True)], False, id="the same"),
        pytest.param(devices({}), [(0, "GPU-w-0", True), (1, "GPU-w-1", False)], True, id="fewer"),
        pytest.param([], [(0, "GPU-w-0", False), (1, "GPU-w-1", False)], True, id="none"),
        pytest.param(
            devices({}, {}, {"index": 2, "uuid": "GPU-c"}),
            [(0, "GPU-w-0", True), (1, "GPU-w-1", True), (2, "GPU-c", True)], False, id="more",
        ),
        pytest.param(
            devices({"index": 1}, {"index": 0}), [(0, "GPU-w-1", True), (1, "GPU-w-0", True)], False, id="renumbered"
        ),
        pytest.param(
            [devices({}, {})[1] | {"index": 0}], [(0, "GPU-w-1", True), (1, "GPU-w-0", False)], True,
            id="the first one gone, the second in its place",
        ),
        pytest.param(
            devices({"uuid": "GPU-x"}, {"uuid": "GPU-y"}),
            [(0, "GPU-x", True), (1, "GPU-y", True), (2, "GPU-w-0", False), (3, "GPU-w-1", False)], True,
            id="others in their places",
        ),
        pytest.param(
            devices({}, {"uuid": None, "model": None, "memory": None, "health": "unhealthy", "health_note": "lost"}),
            [(0, "GPU-w-0", True), (1, "GPU-w-1", True)], False, id="one that no longer says which it is",
        ),
        pytest.param(None, [(0, "GPU-w-0", False), (1, "GPU-w-1", False)], False, id="nobody can say"),
    ],
)  # fmt: skip
def test_devices(now: Any, kept: list[tuple[int, str | None, bool]], less: bool) -> None:
    result = read(devices=now)
    assert seen(result) == kept
    assert result.is_less is less
    assert {each.health_note for each in result.kept.devices or () if each.index in result.missing} <= {MISSING}


def test_a_device_that_no_longer_says_what_it_is_is_what_it_was_and_unhealthy() -> None:
    lost = {"uuid": None, "model": None, "memory": None, "compute_capability": None, "health": "unhealthy",
            "health_note": "gpu is lost"}  # fmt: skip
    device = (read(devices=devices(lost, {})).kept.devices or ())[0]
    assert (device.uuid, device.model, device.compute_capability) == ("GPU-w-0", "NVIDIA A100-SXM4-80GB", "8.0")
    assert (device.memory_bytes, device.healthy, device.health_note) == (81920 * 2**20, False, "gpu is lost")


@pytest.mark.parametrize(
    ("name", "now", "kept"),
    [
        pytest.param("memory", None, "512GiB", id="RAM unread"),
        pytest.param("memory", "511GiB", "511GiB", id="a kernel that keeps a little more for itself"),
        pytest.param("memory", "256GiB", "512GiB", id="half the RAM"),
        pytest.param("memory", "1TiB", "1TiB", id="more RAM"),
        pytest.param("cpu_cores", 8, 64, id="fewer cores"),
        pytest.param("driver", None, "550.54.15", id="driver unread"),
        pytest.param("driver", "535.1", "535.1", id="an older driver: it was read"),
        pytest.param("disk", "1GB", "1GB", id="disk: what is free now"),
        pytest.param("advertise_address", None, "10.0.0.1", id="no way out"),
    ],
)
def test_the_host(name: str, now: Any, kept: Any) -> None:
    assert (
        kept_document(read(**{name: now}).kept)[name] == kept_document(parse_worker_facts({**BEFORE, name: kept}))[name]
    )


def test_a_host_that_is_smaller_needs_a_decision() -> None:
    assert read(memory="256GiB").lacks_size
    assert not read(memory="511GiB").lacks_size
    assert not read(devices=[]).lacks_size


UNREAD = {"python": None, "frameworks": None, "launchers": None, "comm_backends": None}


def test_an_environment_that_could_not_be_asked_is_what_it_was() -> None:
    default = dict(read(**UNREAD).kept.environments)["default"]
    assert (default.python, default.frameworks) == ("3.11.9", (("torch", "2.6.0+cu124"),))


def test_software_that_is_gone_is_gone() -> None:
    result = read(frameworks={}, launchers=[], comm_backends=[])
    assert dict(result.kept.environments)["default"].frameworks == ()
    assert not result.is_less


def test_what_is_less_is_told_in_words() -> None:
    result = read(devices=devices({}), memory="256GiB", cpu_cores=8)
    assert differences(kept_document(result.kept), kept_document(result.read)) == [
        "device 1, NVIDIA A100-SXM4-80GB (GPU-w-1): not found", "CPU cores: 8 instead of 64",
        "RAM: 274.9 GB instead of 549.8 GB",
    ]  # fmt: skip
