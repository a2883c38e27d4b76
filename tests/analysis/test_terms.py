"""Layout terms: what unification binds, what it refuses, and that it changes nothing where it refuses."""

from hypothesis import given
from hypothesis import strategies as st

from tritonport.analysis import dims
from tritonport.analysis.strides import Order
from tritonport.analysis.terms import (
    Access,
    Root,
    Slice,
    Term,
    equivalent,
    kept_dimensions,
    normal,
    rank,
    resolve,
    root_of,
    same,
)
from tritonport.layouts.unification import unify

M, N = dims.symbol("M"), dims.symbol("N")
ROWS, COLUMNS = Order((1, 0)), Order((0, 1))


def tile(order: Order | None = None, shape: tuple[dims.Dim, ...] = (M, N)) -> Root:
    return Root(len(shape), shape, order)


def vector(size: dims.Dim = N) -> Root:
    return Root(1, (size,))


def test_two_layouts_become_one() -> None:
    a, b = tile(), tile(ROWS)
    b.accesses.append(Access(("x",), ROWS, 3))
    assert unify(a, b)
    assert resolve(b) is a and same(a, b)
    assert a.order == ROWS and [access.pointers for access in a.accesses] == [("x",)]


def test_a_vector_becomes_a_slice_of_a_tile() -> None:
    t, v = tile(ROWS), vector()
    assert unify(Slice(0, t), v)
    assert normal(v) == Slice(0, t)
    assert unify(v, Slice(0, t)) and not unify(v, Slice(1, t))
    assert root_of(v) is t and rank(v) == 1 and kept_dimensions(v) == (1,)


def test_a_row_and_a_column_of_one_tile_cannot_share_a_layout() -> None:
    t = tile()
    row, column = vector(), vector()
    assert unify(row, Slice(0, t)) and unify(column, Slice(1, t))
    before = normal(row), normal(column)
    assert not unify(row, column)
    assert (normal(row), normal(column)) == before


def test_tiles_that_lie_differently_keep_their_layouts() -> None:
    a, b = tile(ROWS), tile(COLUMNS)
    assert not unify(a, b)
    assert resolve(a) is a and resolve(b) is b
    gathered = tile(Order((1, 0), contiguous=False))
    assert unify(gathered, tile(COLUMNS)) and gathered.order == COLUMNS


def test_tiles_of_two_sizes_share_no_layout_but_a_size_of_one_gives_way() -> None:
    assert not unify(tile(), tile(shape=(N, M)))
    column = tile(shape=(M, dims.ONE))
    assert unify(column, tile())
    assert column.shape == (M, N)


def test_slices_of_two_tiles_unify_the_tiles() -> None:
    a, b = tile(ROWS), tile()
    assert unify(Slice(1, a), Slice(1, b)) and same(a, b)
    assert not unify(Slice(0, tile()), Slice(1, tile()))


def test_a_tile_with_a_place_in_memory_is_no_slice_of_a_larger_one() -> None:
    cube = Root(3, (M, N, N))
    loaded, computed = tile(ROWS), tile()
    assert not unify(Slice(2, cube), loaded) and resolve(loaded) is loaded
    assert unify(Slice(2, cube), computed) and root_of(computed) is cube


def test_a_scan_is_no_slice() -> None:
    scanned = Root(1, (N,), whole=True)
    assert not unify(Slice(0, tile()), scanned)
    other = vector()
    assert unify(other, scanned) and not unify(Slice(0, tile()), other)


def test_slices_in_two_orders_place_elements_alike() -> None:
    cube = Root(3, (M, N, N))
    one, two = Slice(0, Slice(2, cube)), Slice(1, Slice(0, cube))
    assert kept_dimensions(one) == kept_dimensions(two) == (1,)
    assert equivalent(one, two) and not same(one, two)
    assert not equivalent(one, Slice(0, Slice(1, cube)))
    assert not equivalent(one, Slice(0, Slice(2, Root(3, (M, N, N)))))


def terms(root: Root) -> st.SearchStrategy[Term]:
    """Slices of a root down to a vector, in any order."""

    def cut(axes: list[int]) -> Term:
        term: Term = root
        for axis in axes:
            term = Slice(axis % rank(term), term)
        return term

    return st.lists(st.integers(0, root.rank - 1), max_size=root.rank - 1).map(cut)


CUBE = Root(4, ())


@given(terms(CUBE), terms(CUBE))
def test_equivalence_is_equality_of_what_is_left(left: Term, right: Term) -> None:
    assert rank(left) == len(kept_dimensions(left))
    assert equivalent(left, right) == (kept_dimensions(left) == kept_dimensions(right))
    assert not same(left, right) or equivalent(left, right)
    assert list(kept_dimensions(left)) == sorted(set(kept_dimensions(left)))


@given(st.data())
def test_unified_terms_are_the_same_whoever_asks_first(data: st.DataObject) -> None:
    left, right = Root(3, ()), Root(3, ())
    axes = data.draw(st.lists(st.integers(0, 1), max_size=2))
    a: Term = left
    b: Term = right
    for axis in axes:
        a, b = Slice(axis, a), Slice(axis, b)
    if data.draw(st.booleans()):
        a, b = b, a
    assert unify(a, b)
    assert same(a, b) and same(left, right) and unify(b, a)
