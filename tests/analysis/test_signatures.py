"""Arguments of a call by the parameters of the operation."""

import libcst as cst
import pytest

from tritonport.analysis.signatures import bind, signature
from tritonport.analysis.values import Refusal


def bound(name: str, call: str, method: bool = False) -> tuple[dict[str, str], list[str]]:
    node = cst.parse_expression(call)
    assert isinstance(node, cst.Call)
    receiver = None
    if method:
        assert isinstance(node.func, cst.Attribute)
        receiver = node.func.value
    found, rest = bind(name, node.args, receiver, node)
    code = cst.Module([]).code_for_node
    return {parameter: code(value) for parameter, value in found.items()}, [code(value) for value in rest]


@pytest.mark.parametrize(
    ("name", "call", "method", "expected"),
    [
        ("tl.load", "load(p, m, 0)", False, {"pointer": "p", "mask": "m", "other": "0"}),
        ("tl.load", "load(mask=m, pointer=p)", False, {"mask": "m", "pointer": "p"}),
        ("tl.sum", "sum(x, axis=1)", False, {"input": "x", "axis": "1"}),
        ("tl.sum", "x.sum(-1, True)", True, {"input": "x", "axis": "-1", "keep_dims": "True"}),
        ("tl.arange", "arange(0, N)", False, {"start": "0", "end": "N"}),
        ("tl.store", "p.store(v, mask=m)", True, {"pointer": "p", "value": "v", "mask": "m"}),
        ("tl.max", "max(x, 1, return_indices=True)", False, {"input": "x", "axis": "1", "return_indices": "True"}),
    ],
)
def test_functions_methods_and_keywords(name: str, call: str, method: bool, expected: dict[str, str]) -> None:
    assert bound(name, call, method) == (expected, [])


def test_what_a_variadic_parameter_takes() -> None:
    assert bound("tl.static_print", "static_print('x', a, b)") == ({}, ["'x'", "a", "b"])
    assert bound("tl.broadcast_to", "x.broadcast_to(M, N)", method=True) == ({"input": "x"}, ["M", "N"])
    assert bound("tl.static_print", "static_print(*names)") == ({}, ["names"])


@pytest.mark.parametrize(("call", "code"), [("load(p, masks=m)", "TP103"), ("load(p, **options)", "TP105")])
def test_arguments_that_an_operation_does_not_take(call: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        bound("tl.load", call)
    assert refused.value.code == code


def test_a_signature_has_the_parameters_of_every_version() -> None:
    assert signature("tl.load").names[:3] == ("pointer", "mask", "other")
    assert signature("tl.broadcast_to").variadic == "shape"
    assert {"arg1", "arg2", "step", "num_stages", "loop_unroll_factor"} <= set(signature("tl.range").names)
