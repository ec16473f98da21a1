"""What must not be in the sources: secrets, shells, unescaped text, pickles, SQL made of strings. (S38, S40, S41)

ruff's S rules are on for everything but the tests; here is what they do not see, and the list of what was allowed.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from kombu.exceptions import ContentDisallowed
from kombu.serialization import loads

ROOT = Path(__file__).resolve().parents[2]
CODE = ("gpulayer_site", "scheduler", "workers", "benchmarks", "docs", "deploy", "requirements", "manage.py")

BANNED = {
    "a shell": r"shell\s*=\s*True|os\.system\(|os\.popen\(|subprocess\.getoutput",
    "unescaped text": r"\|safe\b|safeseq|autoescape\s+off|mark_safe\(|SafeString\((?![\"'])|format_html\(f[\"']",
    "unsafe YAML": r"yaml\.(?:load|load_all|unsafe_load|full_load)\(|yaml\.(?:Unsafe|Full)?Loader\b",
    "pickles": r"\b(?:pickle|cPickle|dill|shelve|marshal)\b(?!s\b)(?!\.\")",
    "code made of text": r"(?<![\w.])(?:eval|exec)\(|__import__\(",
    "SQL made of text": r"\.raw\(|\.extra\(|RawSQL|execute(?:many)?\(\s*f[\"']|execute\([^)]*[\"']\s*(?:%|\+)\s*\w",
    "no CSRF check": r"csrf_exempt",
    "certificates that nobody checks": r"verify\s*=\s*False|CERT_NONE|_create_unverified",
    "weak hashes": r"hashlib\.(?:md5|sha1)\(",
    "temporary names": r"tempfile\.mktemp\(",
    "scripts in templates": r"<script(?![^>]*\bsrc=)|\son[a-z]+\s*=\s*[\"']|javascript:|\bhx-on\b|\bstyle=[\"']",
}
ALLOWED = {
    ("unescaped text", "workers/live.py"): "what a template rendered, with its own tag put in",
    ("SQL made of text", "benchmarks/sizes.py"): "names of our own tables",
    ("certificates that nobody checks", "gpulayer_site/up/parts.py"): "asks its own port whether it answers",
    ("no CSRF check", "gpulayer_site/api.py"): "an address under /api/ that is none: nothing is done there",
}
"""Each was looked at; another one of its kind has to be too."""


def sources(*kinds: str) -> Iterator[tuple[str, str]]:
    """Path and text of our own files of these kinds."""
    tracked = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.splitlines()  # fmt: skip
    names = tracked or [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*")
        if not path.relative_to(ROOT).parts[0].startswith((".", "build", "dist"))
    ]
    for name in sorted(names):
        path = ROOT / name
        if path.suffix in kinds and path.is_file() and not name.startswith(("static/vendor", "tests/browser/vendor")):
            yield name, path.read_text(errors="replace")


@pytest.mark.parametrize("kind", BANNED)
def test_nowhere_is(kind: str) -> None:
    pattern, found = re.compile(BANNED[kind]), set()
    for name, text in sources(".py", ".html", ".js", ".sh"):
        if not name.startswith((*CODE, "templates", "static")) or "/migrations/" in name:
            continue
        if kind == "scripts in templates" and not name.endswith(".html"):
            continue
        lines = (line.split("#")[0] if name.endswith(".py") else line for line in text.splitlines())
        if any(pattern.search(line) for line in lines if not line.lstrip().startswith("from ")):
            found.add((kind, name))
    assert found - set(ALLOWED) == set()


EXAMPLES = {
    "a shell": "subprocess.run(x, shell=True)", "unescaped text": "{{ job.name|safe }}",
    "unsafe YAML": "yaml.load(text)", "pickles": "import pickle", "code made of text": "eval(text)",
    "SQL made of text": 'cursor.execute(f"SELECT {x}")', "no CSRF check": "@csrf_exempt",
    "certificates that nobody checks": "httpx.get(url, verify=False)", "weak hashes": "hashlib.md5(x)",
    "temporary names": "tempfile.mktemp()", "scripts in templates": "<b onclick='x()'>",
}  # fmt: skip


def test_each_of_them_would_be_seen() -> None:
    assert {kind for kind, text in EXAMPLES.items() if re.search(BANNED[kind], text)} == set(BANNED)


def test_what_is_allowed_is_there() -> None:
    assert {name for _, name in ALLOWED if not (ROOT / name).exists()} == set()


def test_the_linters_security_rules_are_on_for_all_that_runs() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    assert {rule for rule in lint["ignore"] if rule.startswith("S")} <= {
        "S101", "S105", "S106", "S404", "S603", "S607", "SIM", "SLF",
    }  # fmt: skip
    ignored = {path for path, rules in lint["per-file-ignores"].items() if "S" in rules}
    assert ignored == {"tests/**"}


# --- secrets ---------------------------------------------------------------------------------------------------------

SECRETS = re.compile(
    r"""(?x)
      \bgl[ewu]_[A-Za-z0-9_-]{43}\b
    | \bAKIA[0-9A-Z]{16}\b | \bgh[pousr]_[A-Za-z0-9]{36}\b | \bgithub_pat_\w{60,} | \bglpat-[\w-]{20}
    | \bhf_[A-Za-z0-9]{34}\b | \bsk-[A-Za-z0-9_-]{32,} | \bxox[abprs]-[\w-]{20,} | \bAIza[\w-]{35}
    | -----BEGIN\ (?:[A-Z]+\ )?PRIVATE\ KEY-----\s*\n\s*[A-Za-z0-9+/=]{20}
    | \beyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{15,}
    """
)
ASSIGNED = re.compile(
    r"(?i)\b\w*(?:secret|passw(?:or)?d|api_?key|token|credential|fernet)\w*[\"']?\s*[:=]\s*[\"']([A-Za-z0-9+/_=-]{24,})[\"']"
)
RANDOM_BITS = 4.2
"""Bits a character: words and names have fewer. Of short texts a part of what they could have."""


SHOWN = {"glu_Zk3v8QmW1rTf"}
"""Examples that stood in the documents; they open nothing."""


def is_random(text: str) -> bool:
    """Whether chance made it, by Shannon's entropy of one character; the alphabet in its order is none."""
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
    return bits > min(RANDOM_BITS, 0.8 * math.log2(len(text))) and "abcdefgh" not in text.lower()


def secrets_in(text: str) -> list[str]:
    """What looks like one; of each the beginning."""
    found = [each[0] for each in SECRETS.finditer(text)] + [each[1] for each in ASSIGNED.finditer(text)]
    return [each[:16] for each in found if is_random(each) and each[:16] not in SHOWN]


@pytest.mark.parametrize("text", [
    "x = 'glu_" + "aZ3kQ9vB7mN1pL5xW8cR2tY6uE4oI0sD-fG_hJkA1b2'", "SECRET_KEY = 'k3" + "J8dK2mQ9xZ7vB4nW6pL1cT5rY'",
    "AKIA" + "Q7ZK3M9X2B5N8V1C", "ghp_" + "aZ3kQ9vB7mN1pL5xW8cR2tY6uE4oI0sDfGhJ",
])  # fmt: skip
def test_a_secret_would_be_seen(text: str) -> None:
    assert secrets_in(text)


def test_no_secret_is_in_the_tree() -> None:
    kinds = (".py", ".html", ".js", ".md", ".toml", ".yaml", ".yml", ".json", ".sh", ".txt", ".service", ".conf", "")
    found = {name: seen for name, text in sources(*kinds) if (seen := secrets_in(text))}
    assert found == {}


def test_no_secret_is_in_the_history() -> None:
    """Every line that a commit ever added. A checkout without a history has none to look through."""
    log = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "log", "-p", "--no-color", "--unified=0", "--", ".",
         ":!static/vendor", ":!tests/browser/vendor", ":!requirements"],
        cwd=ROOT, capture_output=True, text=True, errors="replace", check=False,
    ).stdout  # fmt: skip
    added = "\n".join(line[1:] for line in log.splitlines() if line.startswith("+"))
    assert secrets_in(added) == []


# --- an installation's own settings ----------------------------------------------------------------------------------


def setting(name: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a fresh installation in this folder sets."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
    words = [sys.executable, "-c", f"from gpulayer_site import settings; print(settings.{name})"]
    env = kept | {"GPULAYER_DATA": str(folder)} | environment
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_an_installation_makes_a_key_of_its_own(tmp_path: Path) -> None:
    keys = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir(mode=0o700)
        keys += [setting("SECRET_KEY", tmp_path / name).stdout.strip() for _ in range(2)]
        for file in (tmp_path / name).iterdir():
            assert file.is_dir() or file.stat().st_mode & 0o077 == 0, file
    assert keys[0] == keys[1] != keys[2] == keys[3]
    assert all(len(key) >= 50 for key in keys)


@pytest.mark.parametrize(("environment", "says"), [
    ({"SECRET_KEY": "short"}, "SECRET_KEY needs at least 32 characters"),
    ({"GPULAYER_SECRETS_KEY": "not-a-fernet-key"}, "GPULAYER_SECRETS_KEY"),
    ({"DATABASE_URL": "nonsense"}, "DATABASE_URL"),
    ({"GPULAYER_BROKER_URL": "redis://10.0.0.7:6379/0"}, "GPULAYER_BROKER_URL"),
])  # fmt: skip
def test_a_weak_word_is_refused_at_the_start_and_not_repeated(
    tmp_path: Path, environment: dict[str, str], says: str
) -> None:
    done = setting("SECRET_KEY", tmp_path, **environment)
    assert done.returncode != 0
    assert says in done.stderr
    for value in environment.values():
        assert value not in done.stderr.splitlines()[-1]


def test_nobody_debugs_in_public(tmp_path: Path) -> None:
    assert setting("DEBUG", tmp_path).stdout.strip() == "False"
    assert "*" not in setting("ALLOWED_HOSTS", tmp_path).stdout


# --- messages between our own processes ------------------------------------------------------------------------------


def test_no_process_of_ours_opens_a_pickle() -> None:
    from gpulayer_site.celery import app

    assert set(app.conf.accept_content) == {"json"}
    assert app.conf.task_serializer == "json"
    with pytest.raises(ContentDisallowed):
        loads(b"cos\nsystem\n(S'true'\ntR.", "application/x-python-serialize", "binary", accept=app.conf.accept_content)
