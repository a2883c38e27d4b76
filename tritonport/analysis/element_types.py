"""The element types of elementwise results, where the operands' types say them."""

from __future__ import annotations

from tritonport.analysis.values import Kind, Value

_FLOAT32 = ("gl.float32",)
_FLOAT64 = ("gl.float64",)
_FLOAT16 = ("gl.float16",)
_PROMOTING = frozenset({"add", "sub", "mul", "div", "where", "maximum", "minimum", "max", "min", "fma"})
# No scalar of a kernel is wider: a Python float that is passed to one is a float32.
_WIDEST = frozenset({_FLOAT32, _FLOAT64})


def joined_element(op: str, operands: list[Value]) -> tuple[str, ...]:
    """The element type of an elementwise result, where the operands' types say it.

    A scalar of the run time takes part in that: 16-bit elements times a float32 argument are float32, and an index plus
    a pointer argument is a pointer. What the scalar is, the source does not say.
    """
    if op in ("compare", "logical", "not"):
        return ("gl.int1",)
    if op == "where" and len(operands) > 1:
        operands = operands[1:]
    found = {value.element for value in operands if value.is_tensor}
    if op == "div" or len(found) > 1:
        return _promoted(op, found) if op in _PROMOTING else ()
    if not found:
        return ()
    element = found.pop()
    if any(value.kind is Kind.SCALAR for value in operands) and element not in _WIDEST:
        return ()
    if element and all(_is_integer(text) for text in element) and _has_float(operands):
        return _FLOAT32
    return element


def _promoted(op: str, found: set[tuple[str, ...]]) -> tuple[str, ...]:
    """The type that operands of several types become; source: `computation_type_impl` of `triton/language/semantic.py`.

    A quotient is never narrower than float32. What is read through a pointer is taken not to be float64 there: a
    kernel that is launched with one does not compile, because the layout of its dot is one of float32.
    """
    if _FLOAT64 in found:
        return _FLOAT64
    if op == "div" or _FLOAT32 in found:
        return _FLOAT32
    known = all(element and element[0].startswith("gl.") for element in found)
    if known and _FLOAT16 in found:
        return _FLOAT16
    return _FLOAT32 if known and ("gl.bfloat16",) in found else ()


def _is_integer(text: str) -> bool:
    return text.startswith(("gl.int", "gl.uint"))


def _has_float(operands: list[Value]) -> bool:
    return any(value.kind is Kind.CONSTEXPR and isinstance(value.known, float) for value in operands)


def element_of(target: Value | None) -> tuple[str, ...]:
    """The element type that a dtype argument names, as source text or through pointer arguments."""
    if target is None:
        return ()
    if target.kind is Kind.DTYPE:
        return target.element
    if target.kind is Kind.CONSTEXPR and target.dim is not None:
        return (target.dim.text,)
    return ()
