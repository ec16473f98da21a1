"""What a probe finds in an environment with real torch, asked by that environment's own Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.core.parsing import parse_worker_facts
from tests.agent.nvml_double import NvmlDouble
from tests.gangs.torch_environment import TORCH, torch_python
from workers.agent.environments import environments
from workers.agent.nvml import Nvml
from workers.agent.probe import Identity, Probe

pytestmark = pytest.mark.slow


def test_torch_says_of_itself_what_it_was_built_for(tmp_path: Path) -> None:
    known = environments({"train": torch_python()}, tmp_path)
    nvml = Nvml(NvmlDouble(), pci_devices=lambda: 0)
    probed = Probe(Identity(name="w", origin="local"), known, tmp_path, nvml).read()
    train = dict(parse_worker_facts(probed.document).environments)["train"]
    assert "environments.train" not in probed.unknown
    assert str(dict(train.frameworks or ())["torch"]).partition("+")[0] == TORCH
    assert train.launchers is not None
    assert "torchrun" in train.launchers
    assert train.comm_backends is not None
    assert "gloo" in train.comm_backends
    assert "mpi" not in train.comm_backends, "no wheel has it"
    cuda = train.torch_build.cuda if train.torch_build else None
    assert (cuda is None) == ("nccl" not in train.comm_backends)
