"""From a claim to what a shim is told: everything that has to be there before a command can start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.agent import bundles
from workers.agent.accounts import Account, NoAccountError, account_of
from workers.agent.command import DeclinedError, Environment, StartFailedError, argv_of, variables_of
from workers.agent.folder import AgentFolder, TaskRecord
from workers.agent.messages import Claim
from workers.agent.reporting import Session
from workers.agent.rules import Rules
from workers.agent.shim import locks
from workers.agent.shim.clock import now
from workers.agent.transport import Retry

FETCH_TRIES = 8
"""How often a part of a job's files is asked for, with growing pauses, before its task is given back."""
WARNING_SECONDS = 10.0
"""How long before its lease is over a command is asked to end; a twentieth of a lease that is short."""


@dataclass(kw_only=True)
class Host:
    """What all tasks of this host share."""

    session: Session
    folder: AgentFolder
    environments: Mapping[str, Environment]
    rules: Rules = field(default_factory=Rules)
    devices: frozenset[str] | None = None
    """The UUIDs of those that this host has; None where that is not known."""


def prepared(host: Host, claim: Claim, record: TaskRecord, deadline: float | None) -> dict[str, Any]:
    """The shim's plan. `deadline`: when its lease is over, by the boot clock.

    Raises StartFailedError or DeclinedError.
    """
    _check_devices(host, claim)
    if claim.hold_seconds is not None:
        return _plan(host, claim, record, deadline) | {"hold_until": now() + claim.hold_seconds}
    account = _account(host.rules, claim)
    # Said before anything is fetched: what can never start is not waited for.
    variables = variables_of(
        claim, host.environments, record.tag, account=account, outputs=Path(record.outputs) if record.outputs else None
    )
    argv = argv_of(claim, host.environments)
    private = host.folder.make_work(record, account)
    if claim.files is not None:
        session = host.session
        retry = Retry(session.ending.wait, tries=FETCH_TRIES)
        bundles.unpack(session.client, claim, into=Path(record.workdir), cache=host.folder.root / "files", retry=retry)
    if account is not None:
        account.own(private)
    return _plan(host, claim, record, deadline) | {
        "argv": list(argv), "env": variables, "user": account.plan() if account else None,
        "cgroup": host.rules.cgroup(record.tag),
    }  # fmt: skip


def _plan(host: Host, claim: Claim, record: TaskRecord, deadline: float | None) -> dict[str, Any]:
    lease = claim.lease_seconds or 0.0
    return {
        "tag": record.tag, "argv": None, "env": {}, "folder": record.workdir,
        "secrets": list(claim.secrets.values()), "timeout_s": claim.timeout_s,
        "locks": {f"device {index}": locks.path_of(uuid) for index, uuid in claim.devices if uuid},
        "limits": host.rules.limits(), "cgroup": None, "log_bytes": host.rules.log_bytes, "deadline": deadline,
        "warning_s": min(WARNING_SECONDS, lease / 20), "hold_until": None, "quarantine_s": host.rules.quarantine_s,
        "user": None,
    }  # fmt: skip


def _check_devices(host: Host, claim: Claim) -> None:
    """A server that gives away what this host does not have is not followed."""
    for index, uuid in claim.devices:
        if uuid and host.devices is not None and uuid not in host.devices:
            raise DeclinedError("device_unknown", f"it has no device {uuid} (for the server: number {index})")


def _account(rules: Rules, claim: Claim) -> Account | None:
    if not rules.run_as_submitter:
        return None
    try:
        return account_of(claim.run_as, claim.submitter)
    except NoAccountError as error:
        raise StartFailedError("no_unix_account", str(error)) from error
