"""An agent in a process of its own, for tests that kill it."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from tests.agent.nvml_double import H100, NvmlDouble
from workers.agent.client import AgentClient
from workers.agent.command import Environment
from workers.agent.credentials import Credentials
from workers.agent.folder import AgentFolder
from workers.agent.loop import Agent
from workers.agent.nvml import Nvml
from workers.agent.preparing import Host
from workers.agent.probe import Identity, Probe
from workers.agent.reporting import Session
from workers.agent.transport import Transport
from workers.cli_start import log_to_stderr, on_signals

HERE = Environment(name="default", python=Path(sys.executable), path=str(Path(sys.executable).parent))


def main(url: str, root: str, on_stop: str) -> None:
    folder = AgentFolder(Path(root))
    with closing(folder.lock()), closing(Transport(url, "glw_secret")) as transport:
        host = Host(session=Session(AgentClient(transport)), folder=folder, environments={"default": HERE})
        nvml = Nvml(NvmlDouble(H100 | {"uuid": "GPU-a"}), pci_devices=lambda: 1)
        probe = Probe(Identity(name="here", origin="local"), {"default": HERE}, folder.root, nvml)
        credentials = Credentials(folder, transport, "here")
        agent = Agent(host, "here", probe, credentials, on_stop="leave" if on_stop == "leave" else "end")
        on_signals(agent.stop)
        log_to_stderr()
        agent.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
