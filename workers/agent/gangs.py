"""A distributed job's part on one host: its variables, its launcher's line, and the port of its first member."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from workers.agent.messages import Gang
from workers.agent.shim import locks

PORTS = range(20_000, 30_000)
"""Below the ports that the system gives to outgoing connections: nothing takes one by accident."""
PORT_TRIES = 200


def variables_of_gang(gang: Gang | None) -> dict[str, str]:
    """What every distributed program reads, whatever launches it."""
    if gang is None:
        return {}
    world = gang.num_workers * gang.procs_per_worker
    values = {
        "MASTER_ADDR": gang.master_address, "MASTER_PORT": gang.master_port, "NODE_RANK": gang.node_rank,
        "NNODES": gang.num_workers, "NPROC_PER_NODE": gang.procs_per_worker, "WORLD_SIZE": world,
    }  # fmt: skip
    return {name: str(value) for name, value in values.items() if value is not None}


def torchrun(argv: Sequence[str], gang: Gang, python: str) -> tuple[str, ...]:
    """The job's command under torchrun: static rendezvous, so that its ranks are those of the plan.

    A command that begins with a `.py` file is run by the environment's Python; any other is executed as it is
    written, once for each process. torchrun itself is not to be written: its line is made here.
    """
    options = (
        f"--nnodes={gang.num_workers}", f"--nproc-per-node={gang.procs_per_worker}", f"--node-rank={gang.node_rank}",
        f"--master-addr={gang.master_address}", f"--master-port={gang.master_port}", "--max-restarts=0",
    )  # fmt: skip
    as_written = () if argv[0].endswith(".py") else ("--no-python",)
    return python, "-m", "torch.distributed.run", *options, *as_written, *argv


class Port:
    """A port of this host for one gang, which no other agent here will choose while it is held."""

    def __init__(self, number: int, lock: int) -> None:
        self.number = number
        self._lock = lock

    def is_free(self) -> bool:
        """Whether one could listen on it right now."""
        return can_listen(self.number)

    def close(self) -> None:
        """Let it go."""
        with suppress(OSError):
            os.close(self._lock)


def pick_port(chance: Callable[[Sequence[int]], int] = random.choice) -> Port | None:
    """A port that one can listen on; none where two hundred tries found none."""
    for _ in range(PORT_TRIES):
        number = chance(PORTS)
        try:
            lock = locks.hold(locks.path_of(f"port-{number}"))
        except (locks.BusyError, OSError):
            continue
        if can_listen(number):
            return Port(number, lock)
        os.close(lock)
    return None


def can_listen(port: int) -> bool:
    """Whether nothing of this host listens on it, over IPv4 or IPv6."""
    for family, address in ((socket.AF_INET, ""), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind((address, port))
                # Binding alone succeeds beside a listener that shares its port; listening does not.
                probe.listen(1)
        except OSError:
            if family == socket.AF_INET or (socket.has_ipv6 and _speaks_ipv6()):
                return False
    return True


def _speaks_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
