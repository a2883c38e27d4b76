#!/usr/bin/env bash
# Everything that must hold: ruff, mypy, and the tests on both ends of the range of Triton versions. Does its own set-up.
# Arguments go to pytest, in both environments: scripts/test.sh -k softmax
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
require_python
# The tests start hundreds of processes: none of them has to compile all of the modules again.
export PYTHONDONTWRITEBYTECODE=

make_env .venv 3.9.0 numpy
make_env .venv-oldest 3.6.0 'numpy<2.4' &
oldest=$!

echo "== ruff"
.venv/bin/ruff check .
echo "== mypy"
.venv/bin/mypy
wait "$oldest"
echo "== tests, newest Triton"
.venv/bin/python -m pytest -q -n 2 --dist worksteal --durations=10 "$@"
echo "== tests that depend on the version, oldest Triton"
# What is about text alone says of each version what it should be, and is not run again.
versioned=(tests/rules/test_api_table.py tests/fixtures tests/verify/emulate)
for name in block_pointers descriptors emitted hard_kernels scaled_dots shapes sort unaligned; do
    versioned+=("tests/convert/test_$name.py")
done
for name in the_port_computes_the_same_bits a_helper_computes_the_same_bits; do
    versioned+=("tests/convert/test_staging.py::test_$name")
done
# Of each stage what runs its output, and what compiles it.
for name in async_copy::test_it_computes_the_same_for_any_shape_and_stride \
    async_copy::test_it_has_the_resources_of_tritons_own_pipeline async_copy::test_every_depth_is_right \
    async_copy::test_what_may_be_unaligned_goes_through_registers \
    tma::test_it_computes_the_same_for_any_shape_and_stride tma::test_every_order_of_the_operands \
    tma::test_an_aligned_launch_has_no_pointers_left_and_another_is_the_literal_port \
    multibuffer::test_it_computes_the_same_at_every_depth_and_trip_count multibuffer::test_it_compiles \
    multibuffer::test_all_warps_have_read_a_tile_before_its_place_is_filled_again \
    mma::test_every_trip_count_and_depth_gives_the_same_bits mma::test_it_compiles_to_dots_that_overlap; do
    versioned+=("tests/upgrade/test_${name/::/.py::}")
done
.venv-oldest/bin/python -m pytest -q -n 2 --dist worksteal --durations=5 "${versioned[@]}" "$@"
