"""What a gang's processes run: one all-reduce whose result proves who took part, and then what the words say.

    member.py FOLDER [words]

Each process writes `FOLDER/RANK.json`. Words: `meet:FOLDER` (wait until another gang has begun there), `fail:RANK`
(that one ends with exit code 7), `stay` (the others sleep until they are stopped).
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

SAID = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "NNODES", "NPROC_PER_NODE", "MASTER_ADDR", "MASTER_PORT")
PATIENCE_SECONDS = 60.0


def main() -> int:
    """The exit code."""
    folder, *words = Path(sys.argv[1]), *sys.argv[2:]
    # Without a launcher there is one process on each worker, and its rank is its worker's.
    os.environ.setdefault("RANK", os.environ["NODE_RANK"])
    dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENCE_SECONDS))
    rank, world = dist.get_rank(), dist.get_world_size()
    # Each rank has a bit of its own: only all of them, each once, add up to 2 ** world - 1.
    total = torch.tensor([2**rank], dtype=torch.int64)
    dist.all_reduce(total)
    said = {name: os.environ.get(name) for name in SAID}
    write(
        folder / f"{rank}.json", {"rank": rank, "world": world, "total": int(total), "where": str(Path.cwd()), **said}
    )
    print(f"rank {rank} of {world} here", flush=True)
    for word in words:
        name, _, value = word.partition(":")
        if name == "meet":
            meet(Path(value))
        elif name == "fail" and int(value) == rank:
            return 7
        elif name == "stay":
            time.sleep(600)
    dist.barrier()
    dist.destroy_process_group()
    return 0


def write(path: Path, document: object) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(document))
    new.rename(path)


def meet(folder: Path) -> None:
    """Wait until the other gang has begun."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not list(folder.glob("*.json")):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody came to {folder}")
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
