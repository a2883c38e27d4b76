"""What can be flipped in a Gluon kernel: one small change to the text at a time."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from roles import ADDRESSED, Roles, called, counts_of

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "//",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.BitXor: "|",
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
_REDUCTIONS = {"sum": "max", "max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"}
_FENCES = {"fence_async_shared"}
_BARRIERS = {"mbarrier.init", "mbarrier.expect", "mbarrier.arrive", "mbarrier.invalidate", "thread_barrier", "barrier"}
_WAITS = {"mbarrier.wait", "store_wait", "wait_group", "warpgroup_mma_wait"}
_COUNTS = {
    "mbarrier.wait": "phase",
    "mbarrier.init": "arrivals",
    "mbarrier.expect": "bytes",
    "store_wait": "wait",
    "wait_group": "wait",
    "warpgroup_mma_wait": "wait",
    "dot_awaited": "wait",
}
_DESCRIBED = (("extent", "({}) + 1"), ("descriptor stride", "({}) * 2"))
"""What becomes of the second and the third argument of a descriptor: its extents, its strides."""


@dataclass(frozen=True)
class Flip:
    """One change to a port.

    Attributes:
        kind: what was flipped: `offset`, `mask`, `stride`, `phase`, ...
        function: the kernel or device function it is in.
        line: of the port, from 1.
        start, end: the bytes of the port (UTF-8) that `after` replaces.
        before, after: the text that stood there, and what stands there now.
        source: the whole line of the port, stripped.
        place: which of the equal changes to equal lines of the function it is: the column, and the number of the line.
        idle: a condition on constants under which the change is none: the type that a cast casts to is there already.
    """

    kind: str
    function: str
    line: int
    start: int
    end: int
    before: str
    after: str
    source: str
    place: tuple[int, int] = (0, 0)
    idle: str = "False"

    @property
    def digest(self) -> str:
        """Depends on the text around the change, not on where in the file it is: samples stay the same."""
        told = (self.function, self.source, self.before, self.after, repr(self.place))
        return hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]

    def apply(self, text: str) -> str:
        """The port with this change."""
        raw = text.encode()
        return (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()

    def twins(self, text: str) -> list[str]:
        """For a fill of masked lanes, the port with a value that no use of the lane would survive."""
        if self.kind != "fill":
            return []
        other = "77" if self.before.lstrip("-").isdigit() else 'float("nan")'
        return [replace(self, after=other).apply(text)]

    def marked(self, text: str) -> str:
        """The port with an assertion before this statement that fails wherever it is compiled and the change is one."""
        raw = text.encode()
        starts = _line_starts(raw)
        inside = [
            starts[node.lineno - 1] + node.col_offset
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef) and self._within(node, starts)
        ]
        at = max(inside)
        indent = " " * (at - max(start for start in starts if start <= at))
        mark = f'gl.static_assert({self.idle}, "compiled")\n{indent}'
        return (raw[:at] + mark.encode() + raw[at:]).decode()

    def _within(self, node: ast.stmt, starts: list[int]) -> bool:
        assert node.end_lineno is not None and node.end_col_offset is not None
        first, last = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        return first <= self.start and self.end <= last


def _line_starts(raw: bytes) -> list[int]:
    """Where in a text each line begins."""
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def flips(text: str) -> list[Flip]:
    """Every flip of the device functions of a port, in the order of the file."""
    found: list[Flip] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and any(_is_gluon_jit(one) for one in node.decorator_list):
            found += _Flipper(text, node).flips()
            found += _Flipper(text, node).described()
    found = sorted(set(found), key=lambda flip: (flip.start, flip.end, flip.after))
    return [replace(flip, place=_place(flip, text)) for flip in found]


def _place(flip: Flip, text: str) -> tuple[int, int]:
    lines = text.splitlines()
    column = flip.start - _line_starts(text.encode())[flip.line - 1]
    indent = len(lines[flip.line - 1]) - len(lines[flip.line - 1].lstrip())
    before = sum(line.strip() == flip.source for line in lines[: flip.line - 1])
    return column - indent, before


def _is_gluon_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(target) == "gluon.jit"


class _Flipper:
    """Finds the flips of one function."""

    def __init__(self, text: str, function: ast.FunctionDef) -> None:
        self._raw = text.encode()
        self._lines = text.splitlines()
        self._starts = _line_starts(self._raw)
        self._function = function
        self._roles = Roles(function)
        names = [one.arg for one in function.args.args]
        self._depth = next((name for name in names if name.endswith("NUM_BUFFERS")), None)

    def flips(self) -> Iterator[Flip]:
        """The flips of every statement but the docstring."""
        for statement in self._function.body:
            for node in self._executed(statement):
                yield from self._of(node)

    def described(self) -> Iterator[Flip]:
        """The flips of the descriptors that heuristics of the function make."""
        made = [node for one in self._function.decorator_list for node in ast.walk(one) if isinstance(node, ast.Call)]
        for call in made:
            if called(call).endswith("_descriptor"):
                for (kind, changed), given in zip(_DESCRIBED, call.args[1:3], strict=False):
                    # A unit stride times two is no descriptor, and the kernel of pointers does the work.
                    elements = given.elts if isinstance(given, ast.List) else []
                    for one in [one for one in elements if not isinstance(one, ast.Constant)]:
                        yield self._replaced(kind, one, changed.format(self._text(one)))

    def _executed(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes below one that run: not annotations, docstrings, or texts."""
        if isinstance(node, ast.Call) and called(node).endswith(("mbarrier.invalidate", "mbarrier.init")):
            # In a loop over a ring any order of its places does: wrong can be that there is none, or the count.
            for counted in counts_of(node):
                yield from self._executed(counted)
            return
        yield node
        for name, value in ast.iter_fields(node):
            if name == "annotation":
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._executed(child)

    def _of(self, node: ast.AST) -> Iterator[Flip]:
        if isinstance(node, ast.BinOp):
            yield from self._binary(node)
        elif isinstance(node, ast.AugAssign):
            yield from self._augmented(node)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            kind = self._compared(node)
            for operator in _COMPARISONS.get(type(node.ops[0]), ()):
                yield self._between(kind, node.left, node.comparators[0], operator)
        elif isinstance(node, ast.BoolOp):
            word = "or" if isinstance(node.op, ast.And) else "and"
            yield self._between(self._compared(node), node.values[0], node.values[1], word)
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
            yield self._replaced(self._kind(node), node, self._text(node.operand))
        elif isinstance(node, ast.Constant):
            yield from self._constant(node)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare):
            kind = "layout" if self._roles.of(node.test) == "layout" else "branch"
            yield self._replaced(kind, node.test, f"(not ({self._text(node.test)}))")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield self._replaced(_statement_kind(node.value), node, "pass")

    def _compared(self, node: ast.AST) -> str:
        role = self._roles.of(node)
        return role if role in ("mask", "layout") else "comparison"

    def _kind(self, node: ast.AST) -> str:
        return self._roles.of(node) or "value"

    def _binary(self, node: ast.BinOp) -> Iterator[Flip]:
        kind = self._kind(node)
        strided = [one for one in (node.left, node.right) if "stride" in self._text(one)]
        if isinstance(node.op, ast.Mult) and strided:
            other = node.left if strided[0] is node.right else node.right
            yield self._replaced("stride", node, self._text(other))
        if isinstance(node.op, ast.BitAnd | ast.BitOr) and kind == "mask":
            yield self._replaced("mask", node, self._text(node.left))
            yield self._replaced("mask", node, self._text(node.right))
        operator = _ARITHMETIC.get(type(node.op))
        if operator is not None:
            yield self._between(kind, node.left, node.right, operator)

    def _augmented(self, node: ast.AugAssign) -> Iterator[Flip]:
        operator = _ARITHMETIC.get(type(node.op))
        if operator is not None:
            yield self._between(self._kind(node), node.target, node.value, f"{operator}=")
        yield self._replaced(self._kind(node), node, "pass")

    def _constant(self, node: ast.Constant) -> Iterator[Flip]:
        value, kind = node.value, self._roles.of(node) or "constant"
        if isinstance(value, bool):
            yield self._replaced(kind, node, str(not value))
        elif isinstance(value, int):
            yield self._replaced(kind, node, str(value + 1))
            # To wait for more than has to be done is no fault.
            if value > 1 and kind != "wait":
                yield self._replaced(kind, node, str(value - 1))
        elif isinstance(value, float):
            yield self._replaced(kind, node, repr(value + 1.0 if value < 1.0 else value / 2))
        elif value in ("-inf", "inf"):
            yield self._replaced(kind, node, repr("inf" if value == "-inf" else "-inf"))

    def _call(self, node: ast.Call) -> Iterator[Flip]:
        name = called(node)
        short = name.rpartition(".")[2]
        for keyword in node.keywords:
            if short in ADDRESSED and keyword.arg == "mask":
                yield self._replaced("mask", keyword.value, f"{self._text(keyword.value)} | True")
        if isinstance(node.func, ast.Attribute) and short == "to":
            value, wanted = self._text(node.func.value), self._text(node.args[0])
            yield replace(self._replaced("cast", node, value), idle=f"{value}.dtype == {wanted}")
        if name.startswith("gl.") and short in _REDUCTIONS:
            yield self._replaced("reduction", node.func, f"gl.{_REDUCTIONS[short]}")
        if name == "gl.where" and len(node.args) == 3:
            swapped = ", ".join(self._text(node.args[index]) for index in (0, 2, 1))
            yield self._replaced("select", node, f"gl.where({swapped})")
        if short == "index" and len(node.args) == 1:
            place = self._text(node.args[0])
            yield self._replaced(
                "ring", node.args[0], f"({place} + 1) % {self._depth}" if self._depth else f"{place} ^ 1"
            )
        if name in ("range", "gl.static_range") and not node.keywords:
            end = node.args[0 if len(node.args) == 1 else 1]
            yield self._replaced("loop", end, f"({self._text(end)}) - 1")
            yield self._replaced("loop", end, f"({self._text(end)}) + 1")
        counted = next((kind for ending, kind in _COUNTS.items() if name.endswith(ending)), None)
        for argument in counts_of(node) if counted else []:
            if counted == "bytes":
                yield self._replaced(counted, argument, f"({self._text(argument)}) // 2")
            if counted == "bytes" or not isinstance(argument, ast.Constant):
                yield self._replaced(counted or "", argument, f"({self._text(argument)}) + 1")

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        text = self._raw[start:end].decode()
        return f"({text})" if isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp | ast.IfExp) else text

    def _replaced(self, kind: str, node: ast.AST, after: str) -> Flip:
        return self._flip(kind, *self._span(node), after)

    def _between(self, kind: str, left: ast.AST, right: ast.AST, after: str) -> Flip:
        """The operator between two operands; the parentheses around them stay."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = self._raw[start:end].decode()
        symbol = gap.replace("(", " ").replace(")", " ").split("#")[0].split()
        at = start + len(gap[: gap.index(symbol[0])].encode())
        return self._flip(kind, at, at + len(" ".join(symbol).encode()), after)

    def _flip(self, kind: str, start: int, end: int, after: str) -> Flip:
        line = self._raw[:start].count(b"\n") + 1
        before = self._raw[start:end].decode()
        return Flip(kind, self._function.name, line, start, end, before, after, self._lines[line - 1].strip())


def _statement_kind(call: ast.Call) -> str:
    name = called(call)
    for kind, names in (("fence", _FENCES), ("wait", _WAITS), ("barrier", _BARRIERS)):
        if any(name == one or name.endswith(f".{one}") for one in names):
            return kind
    return "statement"
