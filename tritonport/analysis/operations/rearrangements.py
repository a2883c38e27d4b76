"""Operations that rearrange the elements of tensors: permute, reshape, join, split and what is made of them.

None of them moves an element to another register as such: what they say of layouts is a step from the layout of their
operand to that of their result. Sources: `triton/language/core.py` and `standard.py` for shapes and defaults.
"""

from __future__ import annotations

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Argument, Call, operation, sizes, tensor
from tritonport.analysis.shapes import broadcast, padding
from tritonport.analysis.terms import Joined, Permuted, Reshaped, Step, inverse_order
from tritonport.analysis.values import Kind, Operand, Refusal, Value

# -- permutations


def permuted(interpreter: Evaluator, node: cst.CSTNode, argument: Argument, order: tuple[int, ...]) -> Value:
    """Dimension i of the result is dimension `order[i]` of the operand."""
    value = argument[1]
    if sorted(order) != list(range(value.rank)):
        raise Refusal("TP203", f"dimensions {list(order)} of a tensor with {value.rank}", node)
    own = value.strides or (strides.UNKNOWN,) * value.rank
    return Value(
        Kind.TENSOR,
        shape=tuple(value.shape[axis] for axis in order),
        strides=tuple(own[axis] for axis in order),
        pointers=value.pointers,
        element=value.element,
        op="permute",
        operands=[Operand(*argument, steps=(Permuted(inverse_order(order)),))],
        cheap=True,
        depth=interpreter.depth,
        node=node,
    )


def transposed(interpreter: Evaluator, node: cst.Attribute, value: Value) -> Value:
    """`x.T`."""
    if value.rank != 2:
        raise Refusal("TP203", f".T of a tensor with {value.rank} dimensions", node)
    return permuted(interpreter, node, (node.value, value), (1, 0))


def order_of(call: Call, rank: int) -> tuple[int, ...]:
    """The order a call asks for: given one by one or as a tuple; of `trans` without one, the last two are swapped."""
    given = [value for _, value in call.rest]
    if len(given) == 1 and given[0].kind is Kind.TUPLE:
        given = list(given[0].items)
    if not given and call.entry.short == "trans":
        if rank < 2:
            raise Refusal("TP203", f"tl.trans of a tensor with {rank} dimensions", call.node)
        return (*range(rank - 2), rank - 1, rank - 2)
    if not all(isinstance(value.known, int) for value in given):
        raise Refusal("TP201", f"the order of {call.entry.name} is not in numbers in this file", call.node)
    return tuple(value.known + rank if value.known < 0 else value.known for value in given)


@operation("trans", "permute")
def permutation(interpreter: Evaluator, call: Call) -> Value:
    argument = call.required("input")
    if not argument[1].is_tensor:
        raise Refusal("TP203", f"{call.entry.name} of a scalar", call.node)
    return permuted(interpreter, call.node, argument, order_of(call, argument[1].rank))


# -- reshapes


def new_axes(source: tuple[Dim, ...], shape: tuple[Dim, ...]) -> list[bool] | None:
    """True for each dimension of `shape` that is put between those of `source`; None where there is more to it."""
    pattern = []
    left = list(source)
    for size in shape:
        if left and size == left[0]:
            left.pop(0)
            pattern.append(False)
        elif size.is_one:
            pattern.append(True)
        else:
            return None
    return pattern if not left and len(shape) > len(source) else None


def reshaped(interpreter: Evaluator, node: cst.CSTNode, argument: Argument, shape: tuple[Dim, ...]) -> Value:
    value = argument[1]
    pattern = new_axes(value.shape, shape)
    if pattern is not None:
        return interpreter.expand(node, argument, pattern)
    return Value(
        Kind.TENSOR,
        shape=shape,
        strides=(strides.UNKNOWN,) * len(shape),
        pointers=value.pointers,
        element=value.element,
        op="reshape",
        operands=[Operand(*argument, steps=(Reshaped(shape, value.shape),))],
        cheap=True,
        depth=interpreter.depth,
        node=node,
    )


@operation("reshape", "view")
def reshape(interpreter: Evaluator, call: Call) -> Value:
    argument = call.required("input")
    given = [value for _, value in call.rest]
    if len(given) == 1 and given[0].kind is Kind.TUPLE:
        given = list(given[0].items)
    shape = sizes(Value(Kind.TUPLE, items=tuple(given)), call)
    if not argument[1].is_tensor:
        raise Refusal("TP203", f"{call.entry.name} of a scalar", call.node)
    if not shape:
        raise Refusal("TP203", f"{call.entry.name} to a scalar", call.node)
    return reshaped(interpreter, call.node, argument, shape)


def count(shape: tuple[Dim, ...]) -> Dim:
    """The number of elements of a tensor."""
    found = shape[0]
    for size in shape[1:]:
        found = dims.multiply(found, size, f"{grouped(found)} * {grouped(size)}")
    return found


def grouped(size: Dim) -> str:
    return size.text if size.text.isidentifier() or size.text.isdigit() else f"({size.text})"


@operation("ravel")
def ravel(interpreter: Evaluator, call: Call) -> Value:
    argument = call.required("x")
    if not argument[1].is_tensor:
        raise Refusal("TP203", "tl.ravel of a scalar", call.node)
    return reshaped(interpreter, call.node, argument, (count(argument[1].shape),))


@operation("squeeze", "unsqueeze")
def squeeze(interpreter: Evaluator, call: Call) -> Value:
    argument = call.required("x")
    if not argument[1].is_tensor:
        raise Refusal("TP203", f"{call.entry.name} of a scalar", call.node)
    shape, axis = argument[1].shape, call.integer("dim")
    rank = len(shape) + (call.entry.short == "unsqueeze")
    if axis is None or not -rank <= axis < rank:
        raise Refusal(
            "TP203", f"dimension {axis} in {call.entry.name} of a tensor with {len(shape)} dimensions", call.node
        )
    axis %= rank
    if call.entry.short == "unsqueeze":
        return reshaped(interpreter, call.node, argument, (*shape[:axis], dims.ONE, *shape[axis:]))
    if rank == 1:
        raise Refusal("TP203", "tl.squeeze to a scalar", call.node)
    return reshaped(interpreter, call.node, argument, shape[:axis] + shape[axis + 1 :])


# -- two tensors in one, and back


def _pair(
    interpreter: Evaluator, call: Call, names: tuple[str, str], steps: tuple[Step, ...], shape: tuple[Dim, ...]
) -> Value:
    """`shape` is that of both operands; `steps` lead from their layout to the result's."""
    operands = [call.required(name) for name in names]
    result: tuple[Dim, ...] = (*shape, dims.number(2))
    for step in steps:
        if isinstance(step, Permuted):
            result = tuple(result[axis] for axis in step.order)
        elif isinstance(step, Reshaped):
            result = step.shape
    found = {value.element for _, value in operands if value.is_tensor}
    return tensor(
        call,
        interpreter,
        "join",
        result,
        [
            Operand(expression, value, padding(value.rank, len(shape)) if value.is_tensor else ())
            for expression, value in operands
        ],
        strides=(strides.UNKNOWN,) * len(result),
        pointers=tuple(dict.fromkeys(name for _, value in operands for name in value.pointers)),
        element=found.pop() if len(found) == 1 else (),
        inner=shape,
        outcome=(Joined(shape), *steps),
    )


def _common(call: Call, names: tuple[str, str]) -> tuple[Dim, ...]:
    tensors = [value for _, value in map(call.required, names) if value.is_tensor]
    if not tensors:
        raise Refusal("TP203", f"{call.entry.name} of scalars", call.node)
    return broadcast([value.shape for value in tensors])


def twice(size: Dim) -> Dim:
    return dims.multiply(dims.number(2), size, f"2 * {grouped(size)}")


@operation("join", "interleave")
def join(interpreter: Evaluator, call: Call) -> Value:
    shape = _common(call, ("a", "b"))
    if call.entry.short == "join":
        return _pair(interpreter, call, ("a", "b"), (), shape)
    merged = (*shape[:-1], twice(shape[-1]))
    return _pair(interpreter, call, ("a", "b"), (Reshaped((*shape, dims.number(2)), merged),), shape)


@operation("cat")
def cat(interpreter: Evaluator, call: Call) -> Value:
    """One after the other. With can_reorder=True any order would do."""
    shape = _common(call, ("input", "other"))
    axis = call.integer("dim", 0)
    if axis is None or not -len(shape) <= axis < len(shape):
        raise Refusal("TP203", f"dimension {axis} in tl.cat of tensors with {len(shape)} dimensions", call.node)
    axis %= len(shape)
    order = (*range(axis), len(shape), *range(axis, len(shape)))
    apart = (*shape[:axis], dims.number(2), *shape[axis:])
    merged = (*shape[:axis], twice(shape[axis]), *shape[axis + 1 :])
    return _pair(interpreter, call, ("input", "other"), (Permuted(order), Reshaped(apart, merged)), shape)


@operation("split")
def split(interpreter: Evaluator, call: Call) -> Value:
    argument = call.required("a")
    value = argument[1]
    if not value.is_tensor:
        raise Refusal("TP203", "tl.split of a scalar", call.node)
    if value.rank == 1:
        raise Refusal("TP203", "tl.split to two scalars", call.node)
    shape = value.shape[:-1]
    made = tensor(call, interpreter, "split", shape, [Operand(*argument, steps=(Joined(shape),))])
    items = tuple(
        Value(
            Kind.TENSOR,
            shape=shape,
            strides=(strides.UNKNOWN,) * len(shape),
            pointers=value.pointers,
            element=value.element,
            op="item",
            operands=[Operand(None, made)],
            depth=interpreter.depth,
            node=call.node,
        )
        for _ in range(2)
    )
    return Value(Kind.TUPLE, items=items)
