"""Layouts of permuted, reshaped and joined tensors: which of them are one, and what a root takes over from another."""

from tritonport.analysis import dims
from tritonport.analysis.strides import Order
from tritonport.analysis.terms import (
    Access,
    Dot,
    Join,
    Permute,
    Root,
    Slice,
    base_of,
    equivalent,
    inverse_order,
    normal,
    permute,
    reshape,
    shape_of,
)
from tritonport.layouts.unification import runs, unify

M, N, TWO = dims.symbol("M"), dims.symbol("N"), dims.number(2)
ROWS, COLUMNS = Order((1, 0)), Order((0, 1))


def tile(order: Order | None = None) -> Root:
    root = Root(2, (M, N), order)
    if order is not None:
        root.accesses.append(Access(("x",), order, 0))
    return root


def vector(size: dims.Dim = N, pointer: str = "") -> Root:
    root = Root(1, (size,), Order((0,)) if pointer else None)
    if pointer:
        root.accesses.append(Access((pointer,), Order((0,)), 0))
    return root


def test_permutations_are_one_and_undo_each_other() -> None:
    root = Root(3, (M, N, TWO))
    assert permute((0, 1, 2), root) is root
    assert permute((1, 2, 0), permute((2, 1, 0), root)) == Permute((1, 0, 2), root)
    assert permute(inverse_order((1, 2, 0)), permute((1, 2, 0), root)) is root
    assert shape_of(permute((2, 0, 1), root)) == (TWO, M, N)


def test_reshapes_are_one_and_undo_each_other() -> None:
    root = tile()
    flat = dims.multiply(M, N, "M * N")
    there = reshape((M, N), (flat,), root)
    assert reshape((flat,), (M, N), there) is root
    assert shape_of(there) == (flat,)
    # The first size follows from the rest: another spelling of it is no other layout.
    assert there == reshape((M, N), (dims.symbol("SIZE"),), root)
    assert there != reshape((N, M), (flat,), root)


def test_a_size_that_follows_from_the_others_is_one_however_it_is_spelled() -> None:
    half = dims.divide(N, TWO, "N // 2")
    pairs, twice = (M, half, TWO), dims.multiply(TWO, half, "2 * (N // 2)")
    root = Root(3, pairs)
    assert reshape(pairs, (M, N), root) == reshape(pairs, (M, twice), root)
    assert reshape((M, N), pairs, reshape(pairs, (M, twice), root)) is root
    assert reshape(pairs, (M, N), root) != reshape(pairs, (M, TWO, half), root)


def test_a_root_without_memory_becomes_the_permuted_layout() -> None:
    memory, result = tile(COLUMNS), Root(2, (N, M))
    assert unify(result, permute((1, 0), memory))
    assert normal(result) == Permute((1, 0), memory)
    assert memory.order == COLUMNS


def test_memory_gives_its_order_to_what_it_is_a_permutation_of() -> None:
    free, memory = tile(), Root(2, (N, M), ROWS, [Access(("y",), ROWS, 4)])
    assert unify(permute((1, 0), free), memory)
    assert normal(memory) == Permute((1, 0), free) or normal(free) == Permute((1, 0), memory)
    kept = base_of(free)
    assert isinstance(kept, Root) and [access.pointers for access in kept.accesses] == [("y",)]
    assert kept.order == (COLUMNS if kept is free else ROWS)


def test_two_orders_of_memory_need_a_conversion() -> None:
    left, right = tile(ROWS), Root(2, (N, M), ROWS, [Access(("y",), ROWS, 1)])
    assert not unify(permute((1, 0), left), right)
    assert left.bound is None and right.bound is None
    assert unify(permute((1, 0), left), Root(2, (N, M), COLUMNS))


def test_a_tile_is_not_its_own_transpose() -> None:
    root = Root(2, (N, N))
    assert not unify(root, permute((1, 0), root))


def test_memory_that_is_read_in_pairs() -> None:
    """`load(...).reshape(n, 2).split()`: the load has the layout of the halves, twice per thread."""
    half = Root(1, (M,))
    load = vector(dims.multiply(TWO, M, "2 * M"), "x")
    assert unify(Join((M,), half), reshape(load.shape, (M, TWO), load))  # type: ignore[arg-type]
    assert base_of(load) == reshape((M, TWO), (dims.symbol("SIZE"),), Join((M,), half))
    assert [(access.pointers, access.joined) for access in half.accesses] == [(("x",), 2)]


def test_neighbours_in_memory_stay_in_one_thread() -> None:
    half = Root(1, (M,))
    pair = Join((M,), half)
    assert runs(pair) == {0, 1}
    assert runs(reshape((M, TWO), (N,), pair)) == {0}
    assert runs(reshape((TWO, M), (N,), permute((1, 0), pair))) == {0}
    columns = tile(COLUMNS)
    assert runs(columns) == {0}
    store = vector(pointer="y")
    assert not unify(store, reshape((M, N), (N,), columns))
    assert store.bound is None


def test_memory_is_not_spread_as_tensor_cores_leave_a_result() -> None:
    result = Root(2, (M, N), dot=Dot(N, ("gl.float16",), '"tf32"'))
    assert not unify(vector(pointer="y"), reshape((M, N), (N,), result))
    assert unify(vector(), reshape((M, N), (N,), result))


def test_slices_of_a_transpose_are_those_of_the_tile() -> None:
    root = tile()
    assert equivalent(Slice(0, permute((1, 0), root)), Slice(1, root))
    assert not equivalent(Slice(0, permute((1, 0), root)), Slice(0, root))
    assert base_of(Slice(0, permute((1, 0), root))) is root
