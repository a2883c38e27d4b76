"""Locations of the IR as chains of places, and the numbers in them."""

import ast

import pytest

from tritonport.layouts.recover.locations import chains
from tritonport.layouts.recover.numbering import FileNumbers, number_from_column, numbered

FUNCTION = """
@outer
@triton.jit
def kernel(x, y):
    a = (x + y).to(y)
    a += x
    return a
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loc(unknown)", []),
        ('loc("/a.py":3:2000)', [(("/a.py", 3, 1),)]),
        ('loc("x"("/a.py":3:2007))', [(("/a.py", 3, 1),)]),
        ('loc(callsite("/h.py":1:1000 at "/a.py":3:4000))', [(("/h.py", 1, 0), ("/a.py", 3, 3))]),
        (
            'loc(callsite("y"(callsite("/g.py":9:1000 at "/h.py":1:5000)) at "z"("/a.py":3:4000)))',
            [(("/g.py", 9, 0), ("/h.py", 1, 4), ("/a.py", 3, 3))],
        ),
        ('loc(fused["/a.py":1:1000, "x"("/a.py":2:2000)])', [(("/a.py", 1, 0),), (("/a.py", 2, 1),)]),
        ('loc("/a.py":3:2000 to :9000)', [(("/a.py", 3, 1),)]),
        ('loc("/odd \\"name\\" (1).py":3:2000)', [(('/odd \\"name\\" (1).py', 3, 1),)]),
    ],
)
def test_chains(text: str, expected: list[object]) -> None:
    assert chains(text) == expected


def test_expressions_that_begin_together_have_numbers_of_their_own() -> None:
    numbers = FileNumbers(FUNCTION)
    call, inner = numbers.number(4, (5, 9, 5, 22)), numbers.number(4, (5, 10, 5, 15))

    assert call is not None
    assert inner is not None
    assert call != inner
    assert number_from_column((call + 1) * 1000 + 5) == call
    assert numbers.number(4, (6, 5, 6, 11)) is not None  # the augmented assignment
    assert numbers.number(4, (5, 5, 5, 22)) is None  # the assignment is no expression
    assert numbers.number(3, (5, 9, 5, 22)) is None  # no function begins there


def test_decorators_take_no_numbers() -> None:
    """A jit function keeps its source without them."""
    whole, bare = ast.parse(FUNCTION).body[0], ast.parse(FUNCTION.split("jit\n")[1]).body[0]
    assert isinstance(whole, ast.FunctionDef)
    assert isinstance(bare, ast.FunctionDef)

    assert [type(node) for _, node in numbered(whole)] == [type(node) for _, node in numbered(bare)]
    assert len(whole.decorator_list) == 2


def test_columns_count_characters() -> None:
    text = "def kernel(x):\n    y = 'äöü' + x\n"

    assert FileNumbers(text).number(1, (2, 9, 2, 18)) is not None
