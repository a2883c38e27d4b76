#!/usr/bin/env bash
# Everything that must hold: ruff, mypy, and the tests on both ends of the range of Triton versions. Does its own set-up.
# Arguments go to pytest, in both environments: scripts/test.sh -k softmax
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
require_python

make_env .venv 3.9.0 numpy
make_env .venv-oldest 3.6.0 'numpy<2.4' &
oldest=$!

echo "== ruff"
.venv/bin/ruff check .
echo "== mypy"
.venv/bin/mypy
wait "$oldest"
echo "== tests, newest Triton"
.venv/bin/python -m pytest -q -n 2 --dist loadfile --durations=10 "$@"
echo "== tests that depend on the version, oldest Triton"
# What is about text alone says of each version what it should be, and is not run again.
versioned=(tests/rules tests/fixtures tests/verify/emulate tests/upgrade/test_async_copy.py)
for name in block_pointers descriptors dots emitted hard_kernels scaled_dots shapes sort staging unaligned; do
    versioned+=("tests/convert/test_$name.py")
done
.venv-oldest/bin/python -m pytest -q -n 2 --dist loadfile --durations=5 "${versioned[@]}" "$@"
