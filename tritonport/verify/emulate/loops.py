"""Loops of a kernel, run iteration by iteration."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import triton.language as tl
from triton.compiler import code_generator as front_end
from triton.experimental.gluon import language as gl
from triton.language.core import _unwrap_if_constexpr

from tritonport.verify.emulate.errors import Divergence, Fault
from tritonport.verify.emulate.values import Value, unsigned

_WATCH_FROM = 64
"""The iteration of a ``while`` from which on its state is watched: a loop that spins does so for ever."""


def mark_named(nodes: Sequence[ast.AST], scope: Mapping[str, Any]) -> None:
    """Counts a use of every buffer that statements name: for the compiler it lives until there, run or not."""
    for name in names_in(nodes):
        for buffer in _buffers(scope.get(name)):
            buffer.uses += 1


def names_in(nodes: Sequence[ast.AST]) -> Set[str]:
    """The names in some nodes."""
    if not nodes:
        return frozenset()
    # Kept by the first of them, since a list cannot; of a number of statements that begin there, there is one list.
    kept: dict[int, frozenset[str]] = nodes[0].__dict__.setdefault("_names_from_here", {})
    if len(nodes) not in kept:
        kept[len(nodes)] = frozenset(one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name))
    return kept[len(nodes)]


def _buffers(value: Any) -> Iterator[Any]:
    """The buffers behind a value: a view of one, or a tuple or an aggregate with such."""
    if isinstance(value, gl.shared_memory_descriptor | gl.nvidia.blackwell.tensor_memory_descriptor):
        yield value.handle.buffer
    elif isinstance(value, tl.tuple):
        for one in value.values:
            yield from _buffers(one)
    elif isinstance(value, tl.core.base_value) and not isinstance(value, tl.tensor | tl.constexpr):
        for one in vars(value).values():
            yield from _buffers(one)


class LoopOps:
    """The ``for`` and ``while`` of the generator."""

    run: Any
    builder: Any
    semantic: Any
    lscope: dict[str, Any]
    local_defs: dict[str, Any]
    scf_stack: list[ast.AST]
    unrolled: list[int]

    def visit_For(self: Any, node: ast.For) -> None:
        assert isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)
        iterator_class = self.visit(node.iter.func)
        arguments = [self.visit(argument) for argument in node.iter.args]
        named = dict(self.visit(keyword) for keyword in node.iter.keywords)
        if iterator_class is tl.static_range:
            self._unrolled(node, iterator_class(*arguments, **named))
            return
        if iterator_class is tl.range:
            iterator = iterator_class(*arguments, **named)
            start, end, step = iterator.start, iterator.end, iterator.step
        elif iterator_class is range:
            start = arguments[0] if len(arguments) > 1 else tl.constexpr(0)
            end = arguments[1] if len(arguments) > 1 else arguments[0]
            step = arguments[2] if len(arguments) > 2 else tl.constexpr(1)
        else:
            raise RuntimeError("Only `range` and `static_range` iterators are currently supported")
        values, dtype = self._iteration_values(start, end, step)
        self._dynamic_for(node, values, dtype)

    def _unrolled(self: Any, node: ast.For, iterator: Any) -> None:
        assert isinstance(node.target, ast.Name)
        bounds = (iterator.start, iterator.end, iterator.step)
        for index in range(*(_unwrap_if_constexpr(bound) for bound in bounds)):
            self.lscope[node.target.id] = tl.constexpr(index)
            self.unrolled.append(index)
            self.visit_compound_statement(node.body)
            self.unrolled.pop()

    def _iteration_values(self: Any, start: Any, end: Any, step: Any) -> tuple[range, Any]:
        """The values of the induction variable, and its type."""
        self.depends_on_data()
        constant_step = _unwrap_if_constexpr(step) if not isinstance(step, tl.tensor) else None
        tensors = [self.semantic.to_tensor(bound) for bound in (start, end, step)]
        if not all(bound.dtype.is_int() for bound in tensors):
            kinds = ", ".join(str(bound.dtype) for bound in tensors)
            raise TypeError(f"For loop bounds and step must all be ints, are ({kinds})")
        for what, bound in zip(("lower bound", "upper bound", "step"), tensors, strict=True):
            if front_end._is_non_scalar_tensor(bound):
                raise TypeError(f"For {what} must be a scalar, got {bound.type}")
        dtype = tensors[0].dtype
        for bound in tensors[1:]:
            dtype = self.semantic.integer_promote_impl(dtype, bound.dtype)
        numbers = []
        for bound in tensors:
            cast = self.builder.create_int_cast(bound.handle, dtype.to_ir(self.builder), bound.dtype.is_int_signed())
            if cast.data.size != 1:
                raise Divergence
            data = cast.data if dtype.is_int_signed() else unsigned(cast.data)
            numbers.append(int(data.reshape(())))
        if numbers[2] <= 0 and constant_step is None:
            raise Fault(f"the step of a loop must be positive, it is {numbers[2]}")
        return range(*numbers), dtype

    def _dynamic_for(self: Any, node: ast.For, values: range, dtype: Any) -> None:
        assert isinstance(node.target, ast.Name)
        target = node.target.id
        before, outer_defs = dict(self.lscope), self.local_defs
        carried: dict[str, Any] = {}
        self.scf_stack.append(node)
        for count, index in enumerate(values):
            self._check_iteration(count)
            number = self.builder.get_int64(index) if dtype.int_bitwidth == 64 else self.builder.get_int32(index)
            handle = self.builder.create_int_cast(number, dtype.to_ir(self.builder), True)
            self.lscope = {**before, **carried, target: tl.tensor(handle, dtype)}
            self.local_defs = {}
            self.visit_compound_statement(node.body)
            self._carry(before, carried, ignore=target)
        self.scf_stack.pop()
        last = {target: self.lscope[target]} if len(values) else {}
        self.lscope, self.local_defs = {**before, **carried, **last}, {**outer_defs, **carried, **last}
        mark_named(node.body, self.lscope)

    def visit_While(self: Any, node: ast.While) -> None:
        before, outer_defs = dict(self.lscope), self.local_defs
        carried: dict[str, Any] = {}
        memory = self.builder.memory
        was_watching, memory.watching = memory.watching, memory.watching
        self.scf_stack.append(node)
        count = 0
        while True:
            self.lscope, self.local_defs = {**before, **carried}, {}
            writes = memory.writes
            if not self._while_condition(node):
                break
            self._check_iteration(count)
            state = dict(carried)
            self.visit_compound_statement(node.body)
            self._carry(before, carried, ignore=None)
            count += 1
            if memory.watching and memory.writes == writes and count > _WATCH_FROM + 1 and _same(state, carried):
                raise Fault(
                    "this loop can never end: an iteration changes no variable and no memory, and programs run one "
                    "after another in the order of their ids, so no other program can change it"
                )
            memory.watching = was_watching or count >= _WATCH_FROM
        memory.watching = was_watching
        self.scf_stack.pop()
        self.lscope, self.local_defs = {**before, **carried}, {**outer_defs, **carried}
        mark_named([node], self.lscope)

    def _while_condition(self: Any, node: ast.While) -> bool:
        condition = self.visit(node.test)
        condition = getattr(condition, "condition", condition)  # tl.condition wraps a condition and its hints
        if not isinstance(condition, tl.tensor):
            raise self._unsupported(node, "the condition of a `while` must be a tensor with one element")
        return bool(self._truth(node, condition))

    def _carry(self: Any, before: dict[str, Any], carried: dict[str, Any], ignore: str | None) -> None:
        """Note what the iteration changed of the variables that were there before the loop, and check its type."""
        for name in self.local_defs:
            if name == ignore or name not in before:
                continue
            old = before[name]
            assert front_end._is_triton_value(old), f"Loop carried variable {name} is not a triton value"
            self._verify_loop_carried_variable(name, self.lscope[name], old)
            carried[name] = self.lscope[name]

    def _check_iteration(self: Any, count: int) -> None:
        if count >= self.run.loop_limit:
            raise Fault(f"a loop of more than {self.run.loop_limit} iterations")
        if count & 15 == 15:
            self.run.check_time()


def _same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two states of the carried variables are the same, bit for bit."""
    if first.keys() != second.keys():
        return False
    for name, value in first.items():
        ours: list[Value] = []
        theirs: list[Value] = []
        value._flatten_ir(ours)
        second[name]._flatten_ir(theirs)
        for left, right in zip(ours, theirs, strict=True):
            if left is not right and not (
                isinstance(left, Value)
                and isinstance(right, Value)
                and np.asarray(left.data).tobytes() == np.asarray(right.data).tobytes()
            ):
                return False
    return True
