"""Leaving out what nothing reads, by hand on functions of plain numbers: what is left computes the same."""

import libcst as cst
import pytest

from tritonport.upgrade.tma.dead import without_unread

CASES = {
    "a pointer that moves itself": (
        """
def f(p, q, n, step):
    total = 0
    for i in range(n):
        total += q
        p += step
    return total
""",
        """
def f(q, n):
    total = 0
    for i in range(n):
        total += q
    return total
""",
    ),
    "a name that is assigned again before it is read": (
        """
def f(p, n):
    rows = p + n
    width = n * 2
    q = p + width
    rows = n
    p = p + rows
    return rows
""",
        """
def f(n):
    rows = n
    return rows
""",
    ),
    "a value from before a loop that may not run": (
        """
def f(a, n):
    x = a
    y = a
    for i in range(n):
        x = i
        y = i
        a = y
    return x
""",
        """
def f(a, n):
    x = a
    for i in range(n):
        x = i
    return x
""",
    ),
    "a value that a loop is left with": (
        """
def f(a, n):
    for i in range(n):
        x = i + a
        if i > 1:
            break
        x = 0
    return x
""",
        None,
    ),
    "a value of the iteration before": (
        """
def f(a, n):
    last = a
    total = 0
    for i in range(n):
        total += last
        last = i
    return total
""",
        None,
    ),
    "lines of two statements, and branches of one line": (
        """
def f(a, b, n):
    x = a; y = b
    if n: z = a + b
    return y
""",
        None,
    ),
    "branches that agree once what they differ in is gone": (
        """
def f(a, b, flag):
    if flag:
        x = a
        y = b
    else:
        x = b
        y = b
    x = y
    return x
""",
        """
def f(b):
    y = b
    x = y
    return x
""",
    ),
    "calls of functions that may do more": (
        """
def f(a, b):
    x = noted(a)
    y = max(a, b)
    return b
""",
        """
def f(a, b):
    x = noted(a)
    return b
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_nothing_reads_is_left_out_and_the_rest_stays(name: str) -> None:
    text, expected = CASES[name]
    module = cst.parse_module(text)
    (function,) = (one for one in module.body if isinstance(one, cst.FunctionDef))
    left = without_unread(function, frozenset())
    # How parameters stand on their lines is what the caller of the function sees to.
    code = cst.Module([left]).code.strip().replace(", )", ")")
    assert code == (text if expected is None else expected).strip()
