"""A distributed job's part on one host: its variables, its launcher's line, its port."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.agent.conftest import HERE, Claims
from workers.agent import gangs
from workers.agent.command import argv_of, variables_of
from workers.agent.gangs import can_listen, pick_port
from workers.agent.messages import Gang

GANG = Gang(
    num_workers=2, procs_per_worker=4, node_rank=1, launcher="torchrun", comm_backend="nccl",
    master_address="10.0.0.7", master_port=20123,
)  # fmt: skip
LINE = (
    str(HERE.python), "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=4", "--node-rank=1",
    "--master-addr=10.0.0.7", "--master-port=20123", "--max-restarts=0",
)  # fmt: skip


@pytest.mark.parametrize(("written", "executed"), [
    pytest.param(("train.py", "--lr", "1"), ("train.py", "--lr", "1"), id="a script"),
    pytest.param(("python", "train.py"), ("--no-python", "python", "train.py"), id="python and a script"),
    pytest.param(("python", "-m", "pkg"), ("--no-python", "python", "-m", "pkg"), id="python and a module"),
    pytest.param(("./run.sh",), ("--no-python", "./run.sh"), id="any program"),
])  # fmt: skip
def test_torchrun_gets_the_plans_ranks_and_the_command_as_it_is_written(
    a_claim: Claims, written: tuple[str, ...], executed: tuple[str, ...]
) -> None:
    assert argv_of(a_claim(*written, gang=GANG), {"default": HERE}) == LINE + executed


@pytest.mark.parametrize("gang", [None, replace(GANG, launcher="none"), replace(GANG, launcher=None)])
def test_without_torchrun_a_command_is_executed_as_it_is(a_claim: Claims, gang: Gang | None) -> None:
    assert argv_of(a_claim("python", "train.py", gang=gang), {"default": HERE}) == ("python", "train.py")


def test_what_every_distributed_program_reads_is_set_and_not_the_jobs_to_change(a_claim: Claims) -> None:
    given = variables_of(a_claim("true", gang=GANG, env={"WORLD_SIZE": "1", "RANK": "9"}), {"default": HERE}, "t", {})
    assert {name: given[name] for name in gangs.variables_of_gang(GANG)} == {
        "MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "20123", "NODE_RANK": "1", "NNODES": "2", "NPROC_PER_NODE": "4",
        "WORLD_SIZE": "8",
    }  # fmt: skip
    assert given["RANK"] == "9"


def in_turn(*numbers: int) -> Callable[[object], int]:
    left = iter(numbers)
    return lambda _: next(left)


def test_a_port_is_chosen_that_nobody_listens_on_and_that_no_other_gang_here_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as listener, socket.socket(socket.AF_INET6) as other:
        listener.bind(("", 0))
        listener.listen(1)
        other.bind(("::1", 0))
        other.listen(1)
        taken, taken6 = listener.getsockname()[1], other.getsockname()[1]
        assert (can_listen(taken), can_listen(taken6)) == (False, False)
        first = pick_port(in_turn(taken, taken6, 20_000, 20_001))
        second = pick_port(in_turn(20_000, 20_001))
    assert first is not None
    assert second is not None
    assert (first.number, second.number) == (20_000, 20_001)
    first.close()
    again = pick_port(in_turn(20_000))
    assert again is not None
    again.close()
    second.close()


def test_where_no_port_is_free_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gangs, "can_listen", lambda _: False)
    assert pick_port(lambda _: 20_000) is None
