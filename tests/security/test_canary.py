"""A secret is put into a whole installation, printed by its job in every way, and looked for everywhere. (S20)

tests/api/test_secrets.py and tests/agent/test_shim_output.py try each part by itself.
"""

from __future__ import annotations

import base64
import gzip
import json
import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest
from redis import Redis

from gpulayer_site.data_folder import DATABASE, broker_socket
from tests.house.installation import Installation

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 60.0
MARK = f"mark{secrets.token_hex(8)}"
"""No secret: it shows that a place was really looked into."""
PIECES = tuple(f"canary{secrets.token_hex(8)}" for _ in range(4))
SECRETS = {"PLAIN": PIECES[0], "ODD": f'{PIECES[1]} "ä\\{PIECES[2]}\n{PIECES[3]}/and+more'}
PRINTS = f"""
import base64, json, os, sys, time, urllib.parse
print("{MARK}", os.getpid(), flush=True)
for name in ("PLAIN", "ODD"):
    value = os.environ[name]
    data = value.encode()
    print(value, json.dumps({{name: value}}), json.dumps(value, ensure_ascii=False), urllib.parse.quote_plus(value))
    print(value, file=sys.stderr)
    for before in (b"", b"a", b"ab"):
        print(base64.b64encode(before + data).decode(), base64.urlsafe_b64encode(before + data + b"x").decode())
    for part in (value[:7], value[7:]):
        print(part, end="", flush=True)
        time.sleep(0.01)
    print()
open("printed", "w").write(str(os.getpid()))
while not os.path.exists("go"):
    time.sleep(0.05)
"""


def traces(data: bytes) -> set[str]:
    """What of the secrets shows in it: as it is, in hex, or in base64, wherever in a longer text it began."""
    found = set()
    for number, piece in enumerate(map(str.encode, PIECES)):
        signs = {"plain": piece, "hex": piece.hex().encode()}
        signs |= {f"base64, {shift}": base64.b64encode(b" " * shift + piece)[4:-4] for shift in range(3)}
        found |= {f"{number}: {kind}" for kind, sign in signs.items() if sign in data}
    return found


def rows(data: Path) -> bytes:
    """Every cell of the database; what is packed, unpacked."""
    cells: list[bytes] = []
    with closing(sqlite3.connect(f"{(data / DATABASE).as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = bytes
        tables = [name.decode() for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                cells += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
    for cell in tuple(cells):
        with suppress(zlib.error):
            cells.append(zlib.decompress(cell))
    return b"\n".join(cells)


def messages(data: Path) -> bytes:
    """All that the broker keeps, and every command that it was ever given."""
    with closing(Redis(unix_socket_path=str(broker_socket(data)))) as broker:
        read = {b"string": broker.get, b"list": lambda key: broker.lrange(key, 0, -1), b"set": broker.smembers,
                b"hash": broker.hgetall, b"zset": lambda key: broker.zrange(key, 0, -1)}  # fmt: skip
        kinds = {key: broker.type(key) for key in broker.scan_iter()}
        kept = [f"{key!r} {read[kind](key)}".encode() for key, kind in kinds.items() if kind in read]
    said = [path.read_bytes() for path in (data / "broker").rglob("*") if path.is_file()]
    return b"\n".join(kept + said)


def files(*folders: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below, but for the static ones."""
    for path in (each for folder in folders for each in folder.rglob("*")):
        if path.is_file() and "static" not in path.parts:
            with suppress(FileNotFoundError):
                yield str(path), path.read_bytes()


def told(processes: list[psutil.Process]) -> bytes:
    """Words and variables of processes, as anybody with their rights sees them."""
    found: list[str] = []
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            found += [*each.cmdline(), *(f"{name}={value}" for name, value in each.environ().items())]
    return "\n".join(found).encode()


def ours(up: Installation) -> list[psutil.Process]:
    """The installation's own processes and the shims of its jobs, which are beside it."""
    beside = [
        each
        for each in psutil.process_iter(["cmdline"])
        if any(word.startswith(str(up.data)) for word in each.info["cmdline"] or ())
    ]
    return [*up.processes(), *beside]


def wait_for(path: Path, up: Installation) -> str:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline, f"nothing wrote {path}:\n{up.text}"
        time.sleep(0.05)
    return path.read_text()


def test_a_secret_is_nowhere_but_in_its_job(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    document = {
        "name": "tells all", "command": ["python3", "-c", PRINTS], "target": "local", "workdir": str(work),
        "env": {"MARK": MARK}, "secrets": SECRETS,
    }  # fmt: skip
    (tmp_path / "job.json").write_text(json.dumps(document))
    seen: dict[str, bytes] = {}
    with Installation(tmp_path) as up:
        up.ready().wait_for("registered as")
        submitted = up.run("job", "submit", str(tmp_path / "job.json"))
        job = psutil.Process(int(wait_for(work / "printed", up)))
        assert traces(told([job])) >= {f"{number}: plain" for number in range(len(PIECES))}, "it has them"
        seen["processes"] = told([each for each in ours(up) if each.pid != job.pid])
        (work / "go").touch()
        log = up.run("job", "logs", "j-1", "--follow")
        seen["log"] = (log.stdout + log.stderr).encode()
        assert up.run("backup", str(tmp_path / "backup.tar.gz")).returncode == 0
        seen["messages"] = messages(up.data)
    seen |= {"database": rows(up.data), "backup": gzip.decompress((tmp_path / "backup.tar.gz").read_bytes())}
    shown = (submitted.stdout + submitted.stderr + up.text).encode()
    found = {name: traces(data) for name, data in [*seen.items(), ("shown", shown), *files(up.data, up.home)]}
    assert {name: what for name, what in found.items() if what} == {}
    assert seen["log"].count(b"[secret]") >= 2 * 12
    assert [word for word in (b"GPULAYER_DATA", b"workers.agent.shim") if word not in seen["processes"]] == []
    assert b"scheduler.run_pass" in seen["messages"]
    assert {name for name in ("log", "database", "backup") if MARK.encode() not in seen[name]} == set()
