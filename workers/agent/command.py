"""What a task's command is given: its words, its environment, its devices; and what makes that impossible."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workers.agent.accounts import Account
from workers.agent.gangs import torchrun, variables_of_gang
from workers.agent.messages import Cause, Claim
from workers.agent.shim.causes import cause
from workers.agent.shim.sweep import TAG

__all__ = ["PASSED_ON", "TAG", "DeclinedError", "Environment", "StartFailedError", "argv_of", "variables_of"]

PASSED_ON = frozenset({
    "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
})  # fmt: skip
"""What a command gets of the agent's own environment, beside `PATH` and `LC_…`. Nothing that could hold a secret."""
RESERVED = "GPULAYER_"
"""Variables of this name are the agent's to set, never the job's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A Python of this host under a name."""

    name: str
    python: Path
    path: str
    """What comes first in PATH: the folder of `python`, after one that adds the name `python` where it lacks it."""


class StartFailedError(Exception):
    """The command cannot be started, and that is the job's to put right."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.error = Cause(**cause(code, detail))


class DeclinedError(Exception):
    """The task cannot be started here and now, through no fault of its job: it goes back to the queue."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.why = Cause(**cause(code, detail))


def argv_of(claim: Claim, environments: Mapping[str, Environment]) -> tuple[str, ...]:
    """The words that are executed: the job's own, or those of a launcher that executes them once for each process."""
    if claim.gang is not None and claim.gang.launcher == "torchrun":
        return torchrun(claim.argv, claim.gang, str(_environment(claim, environments).python))
    return claim.argv


def variables_of(
    claim: Claim, environments: Mapping[str, Environment], tag: str, own: Mapping[str, str] = os.environ, *,
    account: Account | None = None, outputs: Path | None = None,
) -> dict[str, str]:  # fmt: skip
    """The command's whole environment: a little of the agent's, the job's own, and what only the agent may say.

    `account`: whom it runs as, where that is not the agent's own user. `outputs`: where it may leave its results.
    """
    environment = _environment(claim, environments)
    passed = {key: value for key, value in own.items() if key in PASSED_ON or key.startswith("LC_")}
    if account is not None:
        passed |= {"HOME": account.home, "USER": account.name, "LOGNAME": account.name}
    asked = {key: value for key, value in {**claim.env, **claim.secrets}.items() if not key.startswith(RESERVED)}
    path = asked.get("PATH") or own.get("PATH") or os.defpath
    return {
        **passed,
        "PYTHONUNBUFFERED": "1",
        **asked,
        **variables_of_gang(claim.gang),
        "PATH": f"{environment.path}{os.pathsep}{path}",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(_uuids(claim)),
        "GPULAYER_JOB_ID": claim.job_id,
        **({"GPULAYER_OUTPUT_DIR": str(outputs)} if outputs else {}),
        TAG: tag,
    }


def _environment(claim: Claim, environments: Mapping[str, Environment]) -> Environment:
    environment = environments.get(claim.environment)
    if environment is None:
        known = ", ".join(sorted(environments))
        raise StartFailedError("environment_missing", f"no environment {claim.environment!r}; there is: {known}")
    return environment


def _uuids(claim: Claim) -> list[str]:
    """By UUID: an index may mean another device to the program than it does to the agent."""
    for index, uuid in claim.devices:
        if not uuid:
            raise StartFailedError("device_unknown", f"device {index} has no UUID by which it could be handed over")
    return [uuid for _, uuid in claim.devices if uuid]
