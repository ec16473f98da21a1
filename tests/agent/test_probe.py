"""A host as its agent reports it: environments by their own Python, hosts by what they may use."""

from __future__ import annotations

import platform
import sys
import venv
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest

from scheduler.core.parsing import parse_worker_facts
from tests.agent.nvml_double import BROKEN, H100, NvmlDouble
from workers.agent.environments import NoPythonError, environments, inspect
from workers.agent.host import _cores, _memory, boot_id, machine_id
from workers.agent.nvml import Nvml
from workers.agent.probe import Identity, Probe

TORCH = """
class version: cuda, hip = {cuda!r}, {hip!r}
class cuda:
    @staticmethod
    def get_arch_list(): return {archs!r}
"""
DISTRIBUTED = """
def is_available(): return {available!r}
def is_nccl_available(): return True
def is_gloo_available(): return True
def is_mpi_available(): return False
"""


class Python:
    """A virtual environment with what is put into it."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.path = folder / "bin" / "python"
        self._site = next((folder / "lib").glob("python*")) / "site-packages"

    def install(self, name: str, version: str) -> None:
        info = self._site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    def install_torch(
        self, version: str, *, cuda: str | None = None, hip: str | None = None, archs: tuple[str, ...] = (),
        available: bool = True, noise: str = "",
    ) -> None:  # fmt: skip
        self.install("torch", version)
        self.package("torch", noise + TORCH.format(cuda=cuda, hip=hip, archs=list(archs)))
        self.package("torch/distributed", DISTRIBUTED.format(available=available))

    def package(self, name: str, source: str) -> None:
        (self._site / name).mkdir()
        (self._site / name / "__init__.py").write_text(source)


@pytest.fixture
def python(tmp_path: Path) -> Python:
    return Python(tmp_path / "venv")


def found_in(python: Python, tmp_path: Path) -> tuple[dict[str, object], str]:
    facts, problem = inspect(environments({"default": python.path}, tmp_path)["default"])
    return facts, problem


def test_an_empty_environment_has_nothing_and_that_is_known(python: Python, tmp_path: Path) -> None:
    assert found_in(python, tmp_path) == ({
        "python": platform.python_version(), "frameworks": {}, "torch_build": None, "launchers": [],
        "comm_backends": [],
    }, "")  # fmt: skip


@pytest.mark.parametrize(("torch", "build"), [
    ({"cuda": "12.4", "archs": ("sm_80", "sm_90")}, {"cuda": "12.4", "archs": ["sm_80", "sm_90"]}),
    ({"cuda": "12.4"}, {"cuda": "12.4"}),
    ({"hip": "6.2.4"}, {"hip": "6.2.4"}),
    ({}, {}),
])  # fmt: skip
def test_torch_speaks_for_itself(
    python: Python, tmp_path: Path, torch: dict[str, object], build: dict[str, object]
) -> None:
    python.install_torch("2.6.0+cu124", **torch)  # type: ignore[arg-type]
    python.install("numpy", "1.26.4")
    python.package("accelerate", "")
    facts, problem = found_in(python, tmp_path)
    assert problem == ""
    assert facts["frameworks"] == {"numpy": "1.26.4", "torch": "2.6.0+cu124"}
    assert facts["torch_build"] == build
    assert facts["launchers"] == ["torchrun", "accelerate"]
    assert facts["comm_backends"] == ["nccl", "gloo"]


def test_a_torch_without_distributed_launches_nothing(python: Python, tmp_path: Path) -> None:
    python.install_torch("2.6.0", available=False)
    facts, _ = found_in(python, tmp_path)
    assert (facts["launchers"], facts["comm_backends"]) == ([], [])


def test_a_torch_that_cannot_be_imported_is_there_and_otherwise_unknown(python: Python, tmp_path: Path) -> None:
    python.install("torch", "2.6.0")
    python.package("torch", "raise OSError('libcudart.so.12: cannot open shared object file')")
    facts, problem = found_in(python, tmp_path)
    assert facts["frameworks"] == {"torch": "2.6.0"}
    assert (facts["torch_build"], facts["launchers"], facts["comm_backends"]) == (None, None, None)
    assert "libcudart.so.12" in problem


def test_what_an_import_prints_is_not_mistaken_for_the_answer(python: Python, tmp_path: Path) -> None:
    python.install_torch("2.6.0", noise="print('{}')")
    facts, problem = found_in(python, tmp_path)
    assert (facts["frameworks"], problem) == ({"torch": "2.6.0"}, "")


def test_a_python_that_does_not_work_leaves_everything_unknown(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no luck >&2; exit 9\n")
    broken.chmod(0o755)
    facts, problem = inspect(environments({"default": broken}, tmp_path)["default"])
    assert set(facts.values()) == {None}
    assert problem.endswith("ended with 9: no luck")


@pytest.mark.parametrize("path", ["missing", "."])
def test_an_environment_has_to_be_a_python(tmp_path: Path, path: str) -> None:
    with pytest.raises(NoPythonError, match=r"environment train: .* is no Python that can be run"):
        environments({"train": tmp_path / path}, tmp_path)


def test_the_default_is_the_hosts_python_not_the_agents_virtual_environment(tmp_path: Path) -> None:
    default = environments({}, tmp_path)["default"]
    assert default.python == Path(sys._base_executable)  # type: ignore[attr-defined]


def test_a_python_by_another_name_answers_to_python_too(python: Python, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "python3.99").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    made = environments({"train": alone / "python3.99"}, tmp_path / "data")["train"]
    first, second = made.path.split(":")
    assert Path(first, "python").resolve() == Path(first, "python3").resolve() == Path(sys.executable).resolve()
    assert second == str(alone)


def test_a_probe_is_a_worker_document_with_every_environment(python: Python, tmp_path: Path) -> None:
    python.install("numpy", "1.26.4")
    identity = Identity(
        name="gpu-07", origin="remote", provider="aws", region="eu-west-1", labels=(("rack", "r1"),),
        advertise_address="10.0.0.7", max_concurrent_tasks=3,
    )  # fmt: skip
    known = environments({"default": python.path, "train": python.path}, tmp_path)
    nvml = Nvml(NvmlDouble(H100, H100 | {"uuid": "GPU-b"}), pci_devices=lambda: 2)
    probed = Probe(identity, known, tmp_path, nvml).read()
    facts = parse_worker_facts(probed.document)
    assert (facts.id, facts.origin, facts.provider, facts.region) == ("gpu-07", "remote", "aws", "eu-west-1")
    assert (facts.labels, facts.advertise_address, facts.max_concurrent_tasks) == ((("rack", "r1"),), "10.0.0.7", 3)
    assert (facts.os, facts.arch, facts.driver) == ("linux", platform.machine(), "590.48.01")
    assert [name for name, _ in facts.environments] == ["default", "train"]
    assert facts.environments[1][1].frameworks == (("numpy", "1.26.4"),)
    assert facts.devices is not None
    assert [(each.uuid, each.memory_bytes, each.healthy) for each in facts.devices] == [
        ("GPU-h100", 81559 * 2**20, True), ("GPU-b", 81559 * 2**20, True),
    ]  # fmt: skip
    assert facts.cpu_millicores
    assert facts.memory_bytes
    assert facts.disk_bytes
    assert probed.unknown == {}


def test_what_could_not_be_found_out_is_said_with_its_place(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    known = environments({"default": broken}, tmp_path)
    nvml = Nvml(NvmlDouble(init=BROKEN), pci_devices=lambda: 1)
    probed = Probe(Identity(name="w", origin="local", advertise_address="::1"), known, tmp_path, nvml).read()
    assert probed.document["devices"] is None
    assert parse_worker_facts(probed.document).devices is None
    assert probed.unknown == {
        "environments.default": f"{broken} ended with 1: ",
        "devices": "NVML cannot tell which there are: unknown error", "driver": "unknown error",
    }  # fmt: skip
    assert probed.notes[-1] == "driver: unknown error"


def test_an_environment_that_failed_is_asked_again(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    nvml = Nvml(NvmlDouble(), pci_devices=lambda: 0)
    probe = Probe(Identity(name="w", origin="local"), environments({"default": python}, tmp_path), tmp_path, nvml)
    assert probe.read().document["python"] is None
    python.write_text("""#!/bin/sh\necho '--gpulayer--{"python": "3.11.9"}'\n""")
    assert probe.read().document["python"] == "3.11.9"


def test_an_environment_has_a_time_limit_and_leaves_nothing_running(tmp_path: Path) -> None:
    slow, mark = tmp_path / "python", tmp_path / "pid"
    slow.write_text(f"#!/bin/sh\nsleep 600 & echo $! > {mark}; wait\n")
    slow.chmod(0o755)
    facts, problem = inspect(environments({"default": slow}, tmp_path)["default"], seconds=0.5)
    assert (set(facts.values()), problem) == ({None}, f"{slow} did not answer within 0.5 s")
    child = psutil.Process(int(mark.read_text())) if psutil.pid_exists(int(mark.read_text())) else None
    assert child is None or child.status() == psutil.STATUS_ZOMBIE or not psutil.wait_procs([child], 5)[1]


def test_the_hosts_way_out_is_its_address_unless_told_otherwise(tmp_path: Path) -> None:
    nvml = Nvml(NvmlDouble(), pci_devices=lambda: 0)
    probed = Probe(Identity(name="w", origin="local"), environments({}, tmp_path), tmp_path, nvml).read()
    address = probed.document["advertise_address"]
    assert (address is None) == ("advertise_address" in probed.unknown)
    assert address is None or ip_address(address)


@pytest.mark.parametrize(("text", "cores"), [("max 100000", None), ("150000 100000", 1.5), ("", None)])
def test_a_containers_processor_quota_counts(tmp_path: Path, text: str, cores: float | None) -> None:
    (tmp_path / "cpu.max").write_text(text)
    unlimited = _cores(tmp_path / "none")
    assert _cores(tmp_path) == (min(unlimited, cores) if cores else unlimited)


@pytest.mark.parametrize(("text", "limited"), [("max", False), ("1048576", True)])
def test_a_containers_memory_limit_counts(tmp_path: Path, text: str, limited: bool) -> None:
    (tmp_path / "memory.max").write_text(text)
    assert _memory(tmp_path) == (1048576 if limited else _memory(tmp_path / "none"))


def test_host_and_boot_are_known_again() -> None:
    assert boot_id() == boot_id()
    assert machine_id() == machine_id()
    assert len(machine_id()) == 32
