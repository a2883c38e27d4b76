"""The second witness: silent where analysis and compiler agree, and right where a wrong analysis is planted."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("triton")

from tests.layouts.recover import kernels
from tritonport.convert import claims_for_text
from tritonport.layouts.recover.claims import Claim, KernelClaims
from tritonport.layouts.recover.compare import LAYOUT, TYPE, Comparison, Disagreement
from tritonport.verify.compile.compiler import compile_specs
from tritonport.verify.compile.resources import Resources
from tritonport.verify.compile.spec import complete
from tritonport.verify.compile.witness import hear

FILE = Path(kernels.__file__)
SPEC = replace(complete(kernels.COMPILE_SPECS[0]), numbered=True)


@pytest.fixture(scope="module")
def compiled() -> Resources:
    result = compile_specs([SPEC], "sm_90")[0]
    assert isinstance(result, Resources)
    return result


@pytest.fixture(scope="module")
def claims() -> KernelClaims:
    return claims_for_text(FILE.read_text(), path=str(FILE))["rows"]


@pytest.fixture(scope="module")
def loaded(claims: KernelClaims) -> Claim:
    return next(claim for claim in claims.claims if claim.name.startswith("tl.load(") and len(claim.shape or ()) == 2)


def asked(claims: KernelClaims, compiled: Resources) -> Comparison:
    (heard,) = hear([SPEC], [compiled], {"rows": claims}, "sm_90", timeout=60)
    assert heard is not None
    assert heard.failed == ""
    return heard.comparison


def claim_of(claims: KernelClaims, name: str) -> Claim:
    return next(claim for claim in claims.claims if claim.name == name)


def planted(claims: KernelClaims, compiled: Resources, wrong: Claim) -> tuple[Disagreement, ...]:
    """What is said when one claim is replaced."""
    changed = tuple(wrong if one.chain == wrong.chain else one for one in claims.claims)
    return asked(replace(claims, claims=changed), compiled).disagreements


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(FILE.read_text().splitlines(), 1) if text in line)


def test_nothing_is_said_where_all_agree(claims: KernelClaims, compiled: Resources) -> None:
    comparison = asked(claims, compiled)

    assert comparison.disagreements == ()
    # Not for want of a comparison: these are the values that survive in the compiler's IR.
    assert comparison.types >= 25
    assert comparison.layouts >= 8


@pytest.mark.parametrize(
    ("name", "shape", "inferred", "triton"),
    [
        ("scaled", ("BLOCK_M",), (16,), (64,)),
        ("total", ("BLOCK_N",), (64,), (16,)),
        ("total[:, None]", ("BLOCK_M", "2"), (16, 2), (16, 1)),
        ("column[:, None]", ("1", "BLOCK_M"), (1, 16), (16, 1)),
        ("x", ("BLOCK_N", "BLOCK_M"), (64, 16), (16, 64)),
    ],
)
def test_a_wrong_shape_is_found(
    claims: KernelClaims,
    compiled: Resources,
    name: str,
    shape: tuple[str, ...],
    inferred: tuple[int, ...],
    triton: tuple[int, ...],
) -> None:
    right = claim_of(claims, name)

    (found,) = planted(claims, compiled, replace(right, shape=shape))

    assert (found.kind, found.name, found.path) == (TYPE, name, str(FILE))
    assert (found.line, found.column) == (right.line, right.column)
    assert (found.inferred.shape, found.triton.shape) == (inferred, triton)


def test_a_wrong_element_type_is_found(claims: KernelClaims, compiled: Resources) -> None:
    """16-bit elements times a float32 argument are float32: the analysis leaves the type open there."""
    right = claim_of(claims, "scaled")
    assert right.element == ()

    (found,) = planted(claims, compiled, replace(right, element=("x_ptr",)))

    assert (found.kind, found.line, found.column) == (TYPE, line_of("scaled = "), 14)
    assert (found.inferred.element, found.triton.element) == ("bf16", "f32")


def test_a_scalar_taken_for_a_tensor_is_found(claims: KernelClaims, compiled: Resources) -> None:
    (found,) = planted(claims, compiled, replace(claim_of(claims, "scaled"), shape=None))

    assert (found.inferred.shape, found.triton.shape) == (None, (64,))


def test_a_wrong_layout_is_found(claims: KernelClaims, compiled: Resources, loaded: Claim) -> None:
    wrong = "gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])"

    (found,) = planted(claims, compiled, replace(loaded, layout=wrong))

    assert (found.kind, found.line, found.same_threads) == (LAYOUT, line_of("x = tl.load("), False)
    assert "size_per_thread=[1, 1]" in found.inferred.layout
    assert "size_per_thread=[1, 8], threads_per_warp=[4, 8], warps_per_cta=[4, 1]" in found.triton.layout


def test_a_wrong_layout_of_a_store_is_found(claims: KernelClaims, compiled: Resources) -> None:
    store = next(claim for claim in claims.claims if claim.name.startswith("tl.store("))
    wrong = "gl.BlockedLayout([2, 1], [8, 4], [1, 4], [0, 1])"

    (found,) = planted(claims, compiled, replace(store, layout=wrong))

    assert (found.kind, found.line) == (LAYOUT, line_of("tl.store("))


def test_layouts_are_compared_as_maps_not_as_text(claims: KernelClaims, compiled: Resources, loaded: Claim) -> None:
    """The same map under another name is no disagreement; the same threads in other registers are told apart."""
    lanes, warps = "[[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]]", "[[4, 0], [8, 0]]"
    linear = "gl.DistributedLinearLayout([{}], {}, {}, [], [16, 64])"
    same = linear.format("[0, 1], [0, 2], [0, 4]", lanes, warps)
    turned = linear.format("[0, 4], [0, 2], [0, 1]", lanes, warps)

    assert planted(claims, compiled, replace(loaded, layout=same)) == ()
    (found,) = planted(claims, compiled, replace(loaded, layout=turned))
    assert found.same_threads


def test_helpers_have_claims_for_each_call(claims: KernelClaims) -> None:
    inside = [claim for claim in claims.claims if len(claim.chain) == 2]

    assert {claim.name for claim in inside} >= {"column", "column[:, None]", "x + column[:, None]"}
    assert {claim.chain[1][1] for claim in inside} == {line_of("x = add_column(")}


def test_a_layout_that_cannot_be_evaluated_is_not_compared(
    claims: KernelClaims, compiled: Resources, loaded: Claim
) -> None:
    assert planted(claims, compiled, replace(loaded, layout="gl.BlockedLayout(unknown, 1, 2, 3)")) == ()
