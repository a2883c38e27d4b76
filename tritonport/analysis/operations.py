"""What the operations of `triton.language` do to shapes, dtypes and layouts.

One small function per family. A function returns the value of the call and says, through the operands' paths, how
their layouts relate to its own. It chooses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.shapes import broadcast, padding
from tritonport.analysis.values import Kind, Operand, Refusal, Value, none, opaque, scalar
from tritonport.layouts.terms import Root
from tritonport.rules_data import ApiEntry

if TYPE_CHECKING:
    from tritonport.analysis.expressions import Expressions

Argument = tuple[cst.BaseExpression, Value]


@dataclass(frozen=True, eq=False)
class Call:
    """A call of an operation with its arguments bound to the operation's parameters."""

    node: cst.Call
    entry: ApiEntry
    arguments: dict[str, Argument]
    rest: list[Argument]

    def value(self, name: str) -> Value | None:
        found = self.arguments.get(name)
        return None if found is None or found[1].kind is Kind.NONE else found[1]

    def required(self, name: str) -> Argument:
        """An argument the operation cannot do without; refuses a call that does not spell it (TP105)."""
        if name not in self.arguments:
            raise Refusal("TP105", f"{self.entry.name} is called without {name}", self.node)
        return self.arguments[name]

    def integer(self, name: str, default: int | None = None) -> int | None:
        """A compile-time integer argument; refuses one whose number is not in the source (TP201)."""
        found = self.value(name)
        if found is None:
            return default
        if isinstance(found.known, int):
            return int(found.known)
        raise Refusal("TP201", f"{name}= of {self.entry.name} is not a number in this file", self.node)

    def operands(self, *names: str) -> list[Argument]:
        return [self.arguments[name] for name in names if name in self.arguments and self.value(name) is not None]


Handler = Callable[["Expressions", Call], Value]
OPERATIONS: dict[str, Handler] = {}


def operation(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            OPERATIONS[name] = handler
        return handler

    return register


def tensor(
    call: Call, interpreter: Expressions, op: str, shape: tuple[Dim, ...], operands: list[Operand], **more: object
) -> Value:
    return Value(
        Kind.TENSOR,
        shape=shape,
        op=op,
        operands=operands,
        depth=interpreter.depth,
        node=call.node,
        **more,  # type: ignore[arg-type]
    )


def sizes(value: Value | None, call: Call) -> tuple[Dim, ...]:
    """A shape argument as symbolic sizes; refuses what is not a compile-time expression (TP201)."""
    items = () if value is None else (value.items if value.kind is Kind.TUPLE else (value,))
    result = []
    for item in items:
        if item.dim is None:
            raise Refusal(
                "TP201", f"the shape of {call.entry.name} is not a compile-time expression of this file", call.node
            )
        result.append(item.dim)
    return tuple(result)


# -- values that are made


def element_of(target: Value | None) -> tuple[str, ...]:
    """The element type that a dtype argument names, as source text or through pointer arguments."""
    if target is None:
        return ()
    if target.kind is Kind.DTYPE:
        return target.element
    if target.kind is Kind.CONSTEXPR and target.dim is not None:
        return (target.dim.text,)
    return ()


@operation("arange")
def arange(interpreter: Expressions, call: Call) -> Value:
    start, end = call.value("start"), call.value("end")
    if start is None or end is None or start.dim is None or end.dim is None:
        raise Refusal("TP201", "the bounds of arange are not compile-time expressions of this file", call.node)
    if start.dim.value == 0:
        size = end.dim
    else:
        size = dims.add(end.dim, start.dim, f"{dims.grouped(end.dim.text)} - {dims.grouped(start.dim.text)}", sign=-1)
    return tensor(call, interpreter, "arange", (size,), [], strides=(strides.UNIT,), cheap=True)


@operation("full", "zeros")
def full(interpreter: Expressions, call: Call) -> Value:
    shape = sizes(call.value("shape"), call)
    if not shape:
        return scalar()
    value = call.arguments.get("value")
    operands = [Operand(*value)] if value is not None else []
    return tensor(
        call,
        interpreter,
        "full",
        shape,
        operands,
        strides=(strides.ZERO,) * len(shape),
        cheap=True,
        element=element_of(call.value("dtype")),
    )


@operation("zeros_like")
def zeros_like(interpreter: Expressions, call: Call) -> Value:
    (argument,) = call.operands("input")
    if not argument[1].is_tensor:
        return scalar()
    shape = argument[1].shape
    return tensor(
        call, interpreter, "zeros_like", shape, [Operand(*argument)], strides=(strides.ZERO,) * len(shape), cheap=True
    )


# -- memory


def _address(
    interpreter: Expressions, pointer: Value, shape: tuple[Dim, ...]
) -> tuple[strides.Order | None, tuple[str, ...], frozenset[str]]:
    index = pointer.strides or (strides.UNKNOWN,) * pointer.rank
    index = (strides.ZERO,) * (len(shape) - pointer.rank) + index
    return strides.order_of(index), pointer.pointers, pointer.multiples


def _memory(interpreter: Expressions, call: Call, op: str, names: tuple[str, ...], result: bool) -> Value:
    pointer = call.value("pointer")
    if pointer is None:
        raise Refusal("TP105", f"{call.entry.name} without a pointer", call.node)
    if pointer.kind is Kind.OBJECT or any(
        call.value(name) is not None for name in ("boundary_check", "padding_option") if _given(call, name)
    ):
        raise Refusal("TP101", "block pointers are not converted by this version", call.node)
    operands = call.operands(*names)
    tensors = [value for _, value in operands if value.is_tensor]
    if not tensors:
        return scalar() if result else none()
    if not pointer.is_tensor:
        raise Refusal("TP203", f"{call.entry.name} of a block through a scalar pointer", call.node)
    shape = broadcast([value.shape for value in tensors])
    for value in tensors:
        interpreter.descriptors.meet(value.shape, shape)
    made = tensor(
        call,
        interpreter,
        op,
        shape,
        [
            Operand(expression, value, padding(value.rank, len(shape)) if value.is_tensor else ())
            for expression, value in operands
        ],
        access=_address(interpreter, pointer, shape),
        strides=(strides.UNKNOWN,) * len(shape),
        element=pointer.pointers,
    )
    if not result:
        interpreter.frame.operations[call.node] = call.entry.short
        made.op = "store"
        return made
    return made


def _given(call: Call, name: str) -> bool:
    value = call.value(name)
    return value is not None and value.known != "" and not (value.kind is Kind.TUPLE and not value.items)


@operation("load", "atomic_load", "atomic_poll")
def load(interpreter: Expressions, call: Call) -> Value:
    made = _memory(interpreter, call, "load", ("pointer", "mask", "other"), result=True)
    volatile = call.value("volatile")
    made.volatile = call.entry.short != "load" or (volatile is not None and volatile.known is not False)
    return made


@operation("store", "atomic_store")
def store(interpreter: Expressions, call: Call) -> Value:
    return _memory(interpreter, call, "store", ("pointer", "value", "val", "mask"), result=False)


@operation(
    "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_xchg", "atomic_cas"
)
def atomic(interpreter: Expressions, call: Call) -> Value:
    return _memory(interpreter, call, "atomic", ("pointer", "val", "cmp", "mask"), result=True)


# -- elementwise


@operation("cast")
def cast(interpreter: Expressions, call: Call) -> Value:
    argument = call.arguments["input"]
    target = call.value("dtype")
    pointers = argument[1].pointers
    if (
        target is not None
        and target.kind is Kind.DTYPE
        and isinstance(target.known, str)
        and target.known.startswith("*")
    ):
        pointers = (target.known[1:],)
    if not argument[1].is_tensor:
        return scalar(argument[1].factor, pointers, argument[1].multiples)
    made = interpreter.elementwise("cast", call.node, [argument], cheap=True)
    made.pointers = pointers
    made.element = element_of(target)
    return made


@operation("pointer_type")
def pointer_type(interpreter: Expressions, call: Call) -> Value:
    element = call.value("element_ty")
    if element is None:
        return Value(Kind.DTYPE)
    text = element.known if isinstance(element.known, str) else "".join(element_of(element)[:1])
    return Value(Kind.DTYPE, known=f"*{text}" if text else None)


@operation("multiple_of", "max_contiguous", "max_constancy")
def hint(interpreter: Expressions, call: Call) -> Value:
    argument = call.arguments["input"]
    if not argument[1].is_tensor:
        return argument[1]
    made = interpreter.elementwise("hint", call.node, [argument], cheap=True)
    made.pointers = argument[1].pointers
    if call.entry.short == "max_contiguous" and made.rank == 1 and made.strides[0].kind is strides.Kind.UNKNOWN:
        made.strides = (strides.UNIT,)
    return made


@operation("maximum", "minimum", "where", "cdiv", "abs", "add", "sub", "mul")
def cheap_elementwise(interpreter: Expressions, call: Call) -> Value:
    operands = [
        argument
        for argument in call.arguments.values()
        if argument[1].kind in (Kind.TENSOR, Kind.SCALAR, Kind.CONSTEXPR)
    ]
    short = call.entry.short
    names = {"where": ("condition", "x", "y")}.get(short)
    if names is not None:
        operands = call.operands(*names)
    else:
        operands = [operand for operand in operands if not isinstance(operand[1].known, (str, bool))]
    if not any(value.is_tensor for _, value in operands):
        if short == "cdiv" and all(value.kind is Kind.CONSTEXPR for _, value in operands):
            return _constexpr_cdiv(call, operands)
        pointers = tuple(dict.fromkeys(p for _, value in operands for p in value.pointers)) if short == "where" else ()
        return scalar(strides.STRIDED, pointers)
    made = interpreter.elementwise(short, call.node, operands, cheap=True)
    if short == "where":
        chosen = [value for _, value in operands[1:] if value.is_tensor]
        rows = {value.strides for value in chosen}
        if len(rows) == 1 and chosen[0].rank == made.rank:
            made.strides = chosen[0].strides
        made.pointers = tuple(dict.fromkeys(p for _, value in operands[1:] for p in value.pointers))
    return made


def _constexpr_cdiv(call: Call, operands: list[Argument]) -> Value:
    parts = [value.dim for _, value in operands if value.dim is not None]
    if len(parts) != 2:
        return Value(Kind.CONSTEXPR)
    size, part = (dims.grouped(dim.text) for dim in parts)
    text = f"({size} + {part} - 1) // {part}"
    return Value(Kind.CONSTEXPR, dim=dims.opaque(f"cdiv({dims.canonical(parts[0])},{dims.canonical(parts[1])})", text))


@operation("inline_asm_elementwise")
def inline_asm(interpreter: Expressions, call: Call) -> Value:
    value = call.value("args")
    if value is None or value.kind is not Kind.TUPLE:
        raise Refusal("TP105", "the arguments of inline_asm_elementwise are not a list in this file", call.node)
    return _with_items(interpreter, call, "args", "inline_asm", _result_count(call))


def _result_count(call: Call) -> int | None:
    result = call.value("dtype")
    return len(result.items) if result is not None and result.kind is Kind.TUPLE else None


def _elements(expression: cst.BaseExpression, value: Value) -> list[Argument]:
    """The items of a tuple value with their expressions, where the tuple is spelled in the call."""
    if isinstance(expression, (cst.Tuple, cst.List)) and len(expression.elements) == len(value.items):
        return [(element.value, item) for element, item in zip(expression.elements, value.items, strict=True)]
    return [(expression, item) for item in value.items]


def _with_items(interpreter: Expressions, call: Call, name: str, op: str, results: int | None) -> Value:
    expression, value = call.arguments[name]
    arguments = _elements(expression, value)
    if not any(item.is_tensor for _, item in arguments):
        return scalar() if results is None else Value(Kind.TUPLE, items=tuple(scalar() for _ in range(results)))
    made = interpreter.elementwise(op, call.node, arguments)
    if results is None:
        return made
    return _split(interpreter, call, made, results)


def _split(interpreter: Expressions, call: Call, made: Value, count: int) -> Value:
    """A tuple whose items all come from one operation and share its layout."""
    items = tuple(
        Value(
            made.kind,
            shape=made.shape,
            op="item",
            operands=[Operand(None, made)],
            depth=interpreter.depth,
            node=call.node,
        )
        for _ in range(count)
    )
    return Value(Kind.TUPLE, items=items)


@operation("map_elementwise")
def map_elementwise(interpreter: Expressions, call: Call) -> Value:
    operands = [argument for argument in call.rest if argument[1].kind in (Kind.TENSOR, Kind.SCALAR)]
    made = interpreter.map(call.node, "map_elementwise", operands)
    if len(operands) > 1:
        # The number of results is the callee's; one result is the common case and the only one read here.
        return made
    return made


@operation("rand4x", "randint4x", "randn4x", "philox")
def four_random(interpreter: Expressions, call: Call) -> Value:
    operands = [*call.arguments.values(), *call.rest]
    made = interpreter.map(call.node, "random", operands)
    if not made.is_tensor:
        return Value(Kind.TUPLE, items=(scalar(),) * 4)
    return _split(interpreter, call, made, 4)


# -- reductions and scans


def _axis(call: Call, rank: int) -> int | None:
    axis = call.value("axis") or call.value("dim")
    if axis is None:
        return None
    if not isinstance(axis.known, int):
        raise Refusal("TP201", f"the axis of {call.entry.name} is not a number in this file", call.node)
    number = axis.known + rank if axis.known < 0 else axis.known
    if not 0 <= number < rank:
        raise Refusal("TP203", f"axis {axis.known} of a tensor with {rank} dimensions", call.node)
    return int(number)


def _flag(call: Call, name: str) -> bool:
    value = call.value(name)
    if value is None:
        return False
    if not isinstance(value.known, (bool, int)):
        raise Refusal("TP201", f"{name}= of {call.entry.name} is not a constant in this file", call.node)
    return bool(value.known)


def _reduced(interpreter: Expressions, call: Call, operands: list[Argument], results: int) -> Value:
    value = operands[0][1]
    axis = _axis(call, value.rank)
    keep = _flag(call, "keep_dims")
    shape: tuple[Dim, ...]
    if axis is None:
        shape = (dims.ONE,) * value.rank if keep else ()
    elif keep:
        shape = tuple(dims.ONE if position == axis else size for position, size in enumerate(value.shape))
    else:
        shape = value.shape[:axis] + value.shape[axis + 1 :]
    made = Value(
        Kind.TENSOR if shape else Kind.SCALAR,
        shape=shape,
        strides=(strides.UNKNOWN,) * len(shape),
        op="reduce",
        operands=[Operand(expression, item) for expression, item in operands],
        depth=interpreter.depth,
        node=call.node,
        result_axis=axis if shape and not keep else None,
    )
    if results == 1:
        return made
    items = []
    for _ in range(results):
        item = Value(
            made.kind,
            shape=shape,
            strides=made.strides,
            op="item",
            operands=[Operand(None, made)],
            depth=interpreter.depth,
            node=call.node,
        )
        items.append(item)
    return Value(Kind.TUPLE, items=tuple(items))


@operation("sum", "max", "min", "xor_sum", "reduce_or", "argmax", "argmin")
def reduction(interpreter: Expressions, call: Call) -> Value:
    argument = call.arguments.get("input")
    if argument is None:
        raise Refusal("TP105", f"{call.entry.name} without an input", call.node)
    if argument[1].kind is Kind.TUPLE:
        raise Refusal("TP105", f"{call.entry.name} of a tuple", call.node)
    if not argument[1].is_tensor:
        return scalar()
    results = 2 if "return_indices" in call.arguments and _flag(call, "return_indices") else 1
    return _reduced(interpreter, call, [argument], results)


@operation("reduce")
def custom_reduction(interpreter: Expressions, call: Call) -> Value:
    expression, value = call.arguments["input"]
    if value.kind is Kind.TUPLE:
        return _reduced(interpreter, call, _elements(expression, value), len(value.items))
    return _reduced(interpreter, call, [(expression, value)], 1)


@operation("cumsum", "cumprod")
def scan(interpreter: Expressions, call: Call) -> Value:
    argument = call.arguments["input"]
    return interpreter.elementwise("scan", call.node, [argument]) if argument[1].is_tensor else argument[1]


@operation("associative_scan")
def custom_scan(interpreter: Expressions, call: Call) -> Value:
    expression, value = call.arguments["input"]
    if value.kind is Kind.TUPLE:
        return _with_items(interpreter, call, "input", "scan", len(value.items))
    return interpreter.elementwise("scan", call.node, [(expression, value)])


@operation("softmax", "sort", "flip", "bitonic_merge")
def along_axis(interpreter: Expressions, call: Call) -> Value:
    argument = call.required("input" if "input" in call.arguments else "x")
    if not argument[1].is_tensor:
        if call.entry.short != "softmax":
            raise Refusal("TP203", f"{call.entry.name} of a scalar", call.node)
        return scalar()
    return interpreter.elementwise(call.entry.short, call.node, [argument])


@operation("topk")
def topk(interpreter: Expressions, call: Call) -> Value:
    argument = call.required("x")
    if not argument[1].is_tensor:
        raise Refusal("TP203", "tl.topk of a scalar", call.node)
    count = call.value("k")
    if count is None or count.dim is None:
        raise Refusal("TP201", "k= of topk is not a compile-time expression of this file", call.node)
    shape = (*argument[1].shape[:-1], count.dim)
    return tensor(
        call,
        interpreter,
        "topk",
        shape,
        [Operand(argument[0], argument[1], separate=Root(argument[1].rank, argument[1].shape))],
    )


@operation("gather")
def gather(interpreter: Expressions, call: Call) -> Value:
    source, index = call.arguments["src"], call.arguments["index"]
    return tensor(
        call,
        interpreter,
        "gather",
        index[1].shape,
        [Operand(source[0], source[1], separate=Root(source[1].rank, source[1].shape)), Operand(index[0], index[1])],
    )


@operation("histogram")
def histogram(interpreter: Expressions, call: Call) -> Value:
    argument = call.arguments["input"]
    bins = call.value("num_bins")
    if bins is None or bins.dim is None:
        raise Refusal("TP201", "num_bins= of histogram is not a compile-time expression of this file", call.node)
    shared = Root(1, argument[1].shape)
    operands = [Operand(argument[0], argument[1], separate=shared)]
    mask = call.arguments.get("mask")
    if mask is not None and mask[1].is_tensor:
        operands.append(Operand(mask[0], mask[1], separate=shared))
    return tensor(call, interpreter, "histogram", (bins.dim,), operands)


# -- shapes


@operation("expand_dims")
def expand_dims(interpreter: Expressions, call: Call) -> Value:
    argument = call.arguments["input"]
    axis = call.value("axis")
    if axis is None or not argument[1].is_tensor:
        raise Refusal("TP203", "expand_dims of a scalar", call.node)
    given = axis.items if axis.kind is Kind.TUPLE else (axis,)
    if not all(isinstance(item.known, int) for item in given):
        raise Refusal("TP201", "the axis of expand_dims is not a number in this file", call.node)
    rank = argument[1].rank + len(given)
    places = sorted(item.known + rank if item.known < 0 else item.known for item in given)
    pattern = [position in places for position in range(rank)]
    return interpreter.expand(call.node, argument, pattern)


@operation("broadcast_to")
def broadcast_to(interpreter: Expressions, call: Call) -> Value:
    argument = call.arguments["input"]
    given = call.value("shape")
    shape = sizes(given, call) if given is not None else tuple(d for _, v in call.rest for d in sizes(v, call))
    if len(shape) == 0 and call.rest:
        shape = sizes(call.rest[0][1], call)
    if not argument[1].is_tensor:
        return tensor(
            call, interpreter, "splat", shape, [Operand(*argument)], strides=(strides.ZERO,) * len(shape), cheap=True
        )
    made = interpreter.elementwise("broadcast", call.node, [argument], cheap=True, shape=shape)
    made.strides = (strides.ZERO,) * (len(shape) - argument[1].rank) + argument[1].strides
    made.pointers = argument[1].pointers
    return made


@operation("broadcast")
def broadcast_pair(interpreter: Expressions, call: Call) -> Value:
    operands = [*call.arguments.values(), *call.rest]
    made = interpreter.elementwise("broadcast", call.node, operands)
    return _split(interpreter, call, made, 2)


# -- scalars, hints and calls for their effect


@operation("program_id", "num_programs", "to_tensor", "swizzle2d")
def scalar_call(interpreter: Expressions, call: Call) -> Value:
    if call.entry.short == "swizzle2d":
        return Value(Kind.TUPLE, items=(scalar(), scalar()))
    return scalar()


@operation("static_assert", "static_print", "device_print", "device_assert", "assume", "debug_barrier")
def effect(interpreter: Expressions, call: Call) -> Value:
    return none()


@operation("static_range", "range")
def iterator(interpreter: Expressions, call: Call) -> Value:
    raise Refusal("TP105", f"{call.entry.name} outside of a for statement", call.node)


@operation("condition")
def condition(interpreter: Expressions, call: Call) -> Value:
    return scalar()


@operation("PropagateNan", "tensor", "dtype", "tuple", "block_type", "const")
def constructed(interpreter: Expressions, call: Call) -> Value:
    return opaque()
