"""Broadcasting of symbolic shapes, with Triton's rules: the shorter shape is padded on the left."""

from __future__ import annotations

from tritonport.analysis import strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.strides import Stride
from tritonport.analysis.values import Kind, Value

PRODUCT = " * "
"""Between the arguments of a product in `Value.multiples`."""


def broadcast(shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The common shape. A size that is literally 1 gives way, and one that a compile-time test may pick to be; two
    different symbols are taken to be equal at run time."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = []
    for position in range(rank):
        chosen: Dim | None = None
        for shape in shapes:
            index = position - (rank - len(shape))
            if index < 0:
                continue
            if chosen is None or chosen.is_one or (chosen.may_be_one and not shape[index].may_be_one):
                chosen = shape[index]
        assert chosen is not None
        result.append(chosen)
    return tuple(result)


def padding(operand_rank: int, rank: int) -> tuple[int, ...]:
    """The path of an operand that is padded on the left to `rank` dimensions."""
    return tuple(range(rank - operand_rank))


def padded_strides(value: Value, rank: int) -> tuple[Stride, ...]:
    if not value.is_tensor:
        return (strides.ZERO,) * rank
    own = value.strides or (strides.UNKNOWN,) * value.rank
    return (strides.ZERO,) * (rank - value.rank) + own


def combine_multiples(op: str, left: Value, right: Value) -> frozenset[str]:
    """Which arguments have to be multiples of 16 for `left op right` to be one.

    One factor of a product is enough: of `row * stride` and `stride * row` that is the stride, and a compile-time
    factor before others.
    Of compile-time arguments the product itself counts: `BLOCK_K * SPLIT_K` is one entry.
    """
    if op in ("add", "sub", "mod"):
        return left.multiples | right.multiples
    if op == "mul":
        for factor in (left, right):
            if isinstance(factor.known, int) and factor.known % 16 == 0:
                return frozenset()
        factors = [value for value in (right, left) if value.multiples]
        compile_time = [value for value in factors if value.kind is Kind.CONSTEXPR]
        if len(compile_time) == 2 and len(left.multiples) == len(right.multiples) == 1:
            return frozenset({PRODUCT.join((*left.multiples, *right.multiples))})
        # An index has rows between its multiples, whichever side it stands on: the number it is multiplied with counts.
        chosen = sorted(compile_time or factors, key=lambda value: (value.is_tensor, len(value.multiples)))
        return chosen[0].multiples if chosen else frozenset()
    return frozenset()


def joined_multiples(op: str, values: list[Value]) -> frozenset[str]:
    """The `multiples` of an elementwise result."""
    if len(values) == 2 and op in ("add", "sub", "mul", "mod"):
        return combine_multiples(op, values[0], values[1])
    if op in ("cast", "hint", "broadcast", "where", "select", "neg"):
        return frozenset(name for value in values for name in value.multiples)
    return frozenset()


def combine_strides(op: str, left: Value, right: Value, rank: int) -> tuple[Stride, ...]:
    """The strides of `left op right`, dimension by dimension."""
    ours, theirs = padded_strides(left, rank), padded_strides(right, rank)
    if op in ("add", "sub"):
        return tuple(strides.add(a, b) for a, b in zip(ours, theirs, strict=True))
    if op == "mul":
        if not right.is_tensor:
            return tuple(strides.scale(a, right.factor) for a in ours)
        if not left.is_tensor:
            return tuple(strides.scale(b, left.factor) for b in theirs)
    if op == "mod":
        # A wrapped index stays contiguous inside a tile as far as the compiler can tell from divisibility.
        return ours
    if op == "floordiv" and not right.is_tensor and _is_aligned(right):
        # A quotient keeps its value as long as the remainder, which is added to it in an address, goes on.
        return tuple(
            strides.ZERO if stride.kind in (strides.Kind.ZERO, strides.Kind.UNIT) else strides.UNKNOWN
            for stride in ours
        )
    if op == "or" and all(
        a.kind is strides.Kind.ZERO or b.kind is strides.Kind.ZERO for a, b in zip(ours, theirs, strict=True)
    ):
        return tuple(strides.add(a, b) for a, b in zip(ours, theirs, strict=True))
    return tuple(
        strides.ZERO if a.kind is strides.Kind.ZERO and b.kind is strides.Kind.ZERO else strides.UNKNOWN
        for a, b in zip(ours, theirs, strict=True)
    )


def _is_aligned(value: Value) -> bool:
    """Whether a number may be a multiple of 16, as far as the source says: what an argument is, the launch decides."""
    return not isinstance(value.known, int) or value.known % 16 == 0
