#!/bin/sh
# Puts the locked packages and this project into .venv: `install.sh server` or `install.sh dev`.
# Every file is checked against the hash in the lock. Needs Python 3.11 or newer with venv; PYTHON names another one.
set -eu
cd "$(dirname "$0")/.."
set_name=$1
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "gpulayer needs Python 3.11 or newer; \`$python\` is none. Name one: PYTHON=/path/to/python3.11 make ..." >&2
    exit 1
fi
if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c pass 2>/dev/null; then
    "$python" -m venv --clear .venv || {
        echo "the environment could not be made; on Debian or Ubuntu: apt install python3-venv" >&2
        exit 1
    }
fi

echo "installing into .venv from requirements/$set_name.txt; the first time this takes up to a minute" >&2
pip="env PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 .venv/bin/python -m pip --quiet install"
# uv installs in a second what takes pip half a minute. Where it cannot be had or cannot reach the index, pip does it.
if $pip --require-hashes -r requirements/uv.txt &&
    .venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes -r "requirements/$set_name.txt"; then
    .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
else
    echo "installing with pip instead of uv" >&2
    $pip --require-hashes -r "requirements/$set_name.txt"
    $pip --no-deps --no-build-isolation --editable .
fi
