"""Names that a body binds: in source order, wherever a statement may stand."""

import libcst as cst

from tritonport.source.walk import assigned_names

BODY = """
import a
b = c = f(lambda x: x, [y for y in z], (w := 1))
d: int = 1
for e, (g, h) in i:
    j += 1
    while k: l = 1
    else:
        m = 2
else:
    n = 3
if o:
    p = 1
elif q:
    r = 1
else:
    s = 1
with t as u:
    v = 1
try:
    aa = 1
except E as ab:
    ac = 1
else:
    ad = 1
finally:
    ae = 1
def af(ag=1):
    ah = 1
class Ai:
    aj = 1
match ak:
    case al:
        am = 1
an.x = 1; ao[0] = 1; ap = 1
"""
NAMES = "b c d e g h j l m n p r s v aa ac ad ae ah aj am ap"


def test_names_of_every_statement() -> None:
    tree = cst.parse_module(BODY)
    assert list(assigned_names(tree)) == NAMES.split()


def test_the_statement_itself_binds_nothing_of_what_is_in_it() -> None:
    (loop,) = cst.parse_module("for a in b:\n    c = a\n").body
    assert list(assigned_names(loop)) == ["c"]
    (line,) = cst.parse_module("a = b = c\n").body
    assert list(assigned_names(line)) == list(assigned_names(cst.ensure_type(line, cst.SimpleStatementLine).body[0]))
    assert list(assigned_names(line)) == ["a", "b"]
    assert list(assigned_names(cst.parse_expression("[a for a in (b := c)]"))) == []
