#!/usr/bin/env bash
# Sets everything up, ports a kernel of fixtures/, shows the difference, and proves it on the CPU.
# Another kernel: scripts/demo.sh fixtures/rms_norm/rms_norm.py
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
require_python
make_env .venv 3.9.0 numpy

kernel=${1:-fixtures/softmax/softmax.py}
say() { printf '\n$ %s\n' "$*"; "$@"; }
PATH="$PWD/.venv/bin:$PATH"
say tritonport convert --diff "$kernel"
say tritonport parity-check "$kernel"
