"""What the global names of a kernel stand for: functions of Triton, jit functions of this or another file, constants.

A name is read in the module it stands in: a helper of another file sees that file's imports and constants. Where an
`if` or a `try` gives a name several meanings, a call is read under each of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.frame import Environment, Frame
from tritonport.analysis.values import Kind, Refusal, Value, dtype, opaque
from tritonport.rules_data import ApiEntry, find_api
from tritonport.source.meaning import Meaning
from tritonport.source.module import SourceModule

_EFFECTS = frozenset(
    {"store", "device_print", "device_assert", "static_print", "static_assert", "debug_barrier", "assume"}
)
CONSTEXPR_FUNCTIONS = (
    "triton.next_power_of_2",
    "triton.cdiv",
    "triton.language.constexpr",
    "triton.language.core.constexpr",
    "triton.language.standard._log2",
)


class Globals(ABC):
    """The part of the interpreter that reads names of enclosing scopes.

    Attributes:
        root: the file that is converted; `module` is the one whose code is being read.
        foreign: symbols of other files that sizes are made of, by their spelling.
    """

    frame: Frame

    def __init__(self, module: SourceModule) -> None:
        self.root = self.module = module
        self.foreign: dict[str, Meaning] = {}
        self.environment: Environment = {}

    @abstractmethod
    def _evaluate(self, node: cst.BaseExpression) -> Value:
        """The value of an expression."""

    def code(self, node: cst.CSTNode) -> str:
        return self.module.tree.code_for_node(node)

    @contextmanager
    def reading(self, module: SourceModule) -> Iterator[None]:
        """Read names in another file."""
        saved, self.module = self.module, module
        try:
            yield
        finally:
            self.module = saved

    def _global(self, node: cst.Name) -> Value | None:
        """What a name of an enclosing scope stands for; None where no file says."""
        for scope in reversed(self.frame.kernel.enclosing_functions):
            inner = self.module.local_binding(scope, node.value)
            if inner is not None:
                return self._captured(node.value, inner)
        return self.path_value(node.value, node)

    def path_value(self, path: str, node: cst.BaseExpression) -> Value | None:
        """What a name or a dotted path means at module scope; None where no file says."""
        meanings = self.module.lookup(path)
        if not meanings:
            return None
        real = [meaning for meaning in meanings if not _is_placeholder(meaning)]
        if real and all(_gives_a_value(meaning) for meaning in real):
            # `def f(x): return None` in the other arm: a kernel that uses what `f` gives is not launched there.
            meanings = real
        names = [meaning.qualified for meaning in meanings if meaning.kind in ("external", "module")]
        own = [meaning for meaning in meanings if meaning.kind not in ("external", "module")]
        values = [self._meaning(meaning, path, node) for meaning in own]
        # `f = None` in the other arm of a `try`: a kernel that calls it is not launched there.
        values = [value for value in values if len(meanings) == 1 or value.known is not None]
        values += self._named_values(names, node)
        if not values:
            return Value(Kind.NONE, known=None)
        kinds = {value.kind for value in values}
        if len(kinds) > 1 and Kind.FUNCTION in kinds:
            raise Refusal("TP102", f"{path} has several definitions and one of them is not a function", node)
        first, *others = values
        if others and first.kind is Kind.FUNCTION:
            return Value(Kind.FUNCTION, function=first.function, items=tuple(others))
        return first

    def _named_values(self, names: list[str], node: cst.BaseExpression) -> list[Value]:
        """Values of qualified names; several paths of one function are spellings of it.

        Of several names, those that no Triton known here has are of an arm that is not taken.
        """
        names = [name for name in names if not _is_unknown(name)] or names
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(name.rpartition(".")[2], []).append(name)
        return [self.qualified_value(group, node) for group in groups.values()]

    def _meaning(self, meaning: Meaning, path: str, node: cst.BaseExpression) -> Value:
        if meaning.kernel is not None:
            return Value(Kind.FUNCTION, function=meaning.kernel)
        if meaning.kind == "function":
            if _is_constexpr_function(meaning):
                return Value(Kind.FUNCTION, function=f"constexpr.{path}")
            return Value(Kind.FUNCTION, function=f"module.{path}")
        assert meaning.module is not None
        if meaning.expression is None:
            return Value(Kind.CONSTEXPR, dim=self._symbol(path, meaning))
        with self.reading(meaning.module):
            value = self._assigned(path, meaning.expression)
        if value.kind is Kind.CONSTEXPR and value.dim is not None:
            value.dim = self._symbol(path, meaning, value.known)
        return value

    def _symbol(self, path: str, meaning: Meaning, known: object = None) -> dims.Dim:
        """The size a module-level constant stands for: its name, where the converted file can say it."""
        if self.module is not self.root:
            if isinstance(known, int) and not isinstance(known, bool):
                return dims.number(known)
            self.foreign[path] = meaning
        return dims.symbol(path)

    def _captured(self, name: str, inner: cst.BaseExpression | str) -> Value:
        """A variable of an enclosing function: a compile-time value or a function, known when the kernel is made."""
        if isinstance(inner, str):
            return Value(Kind.FUNCTION, function=f"closure.{name}", dim=dims.symbol(name))
        return self._assigned(name, inner)

    def _assigned(self, name: str, expression: cst.BaseExpression) -> Value:
        if isinstance(expression, cst.Call):
            names = self.module.qualified_names(expression.func)
            if any(full.endswith(".constexpr") for full in names) and expression.args:
                inner = self.module_value(expression.args[0].value)
                return Value(Kind.CONSTEXPR, dim=dims.symbol(name), known=inner.known, factor=strides.STRIDED)
            if any(full.startswith("triton.") for full in names):
                return Value(Kind.CONSTEXPR, dim=dims.symbol(name))
        if isinstance(expression, cst.Name) and expression.value == "None":
            return Value(Kind.NONE, known=None)
        resolved = self.module.qualified_names(expression)
        if resolved:
            return self.qualified_value(resolved, expression)
        return Value(Kind.CONSTEXPR, dim=dims.symbol(name))

    def module_value(self, expression: cst.BaseExpression) -> Value:
        """The value of an expression at module scope: a default argument, a constant."""
        saved = self.environment
        self.environment = {}
        try:
            return self._evaluate(expression)
        except Refusal:
            return Value(Kind.CONSTEXPR)
        finally:
            self.environment = saved

    # -- what a qualified name is

    def qualified_value(self, names: list[str], node: cst.BaseExpression) -> Value:
        for name in names:
            if libdevice_name(name):
                return Value(Kind.FUNCTION, function=name)
            if name.startswith(("triton.language.", "triton.experimental.gluon.language.")):
                return self._language_value(name, node)
        for name in names:
            if name in CONSTEXPR_FUNCTIONS or name in ("triton.next_power_of_2", "triton.cdiv"):
                return Value(Kind.FUNCTION, function=name)
            if name.startswith("triton."):
                return Value(Kind.OBJECT, function=name)
        return Value(Kind.OBJECT, function=names[0])

    def _language_value(self, name: str, node: cst.BaseExpression) -> Value:
        entry = language_entry(name)
        if entry is None:
            if name.count(".") > 2 and (
                name.split(".")[2] in ("extra", "math", "target_info", "PropagateNan", "random", "core", "standard")
            ):
                return Value(Kind.FUNCTION, function=name)
            owner = language_entry(name.rpartition(".")[0])
            if owner is not None:
                return opaque()
            raise Refusal("TP101", f"{self.code(node)} is not in the table of API names", node)
        if entry.kind == "constant":
            return dtype(f"gl.{entry.short}", (f"gl.{entry.short}",))
        if entry.kind == "module":
            return Value(Kind.OBJECT, function=name)
        return Value(Kind.FUNCTION, function=name)


def language_entry(name: str) -> ApiEntry | None:
    """The table's row for a qualified name, wherever in `triton.language` it was taken from."""
    entry = find_api(name)
    if entry is not None:
        return entry
    if name.startswith("triton.language."):
        parts = name.split(".")
        if len(parts) == 4 and parts[2] in ("core", "standard", "math", "random"):
            return find_api(f"triton.language.{parts[3]}")
        if len(parts) == 3:
            return find_api(f"triton.language.{parts[2]}")
    return None


def libdevice_name(qualified: str) -> str | None:
    """`tanh` for `triton.language.extra.libdevice.tanh` under each of its import paths."""
    head, _, name = qualified.rpartition(".")
    if head.startswith("triton.language") and head.split(".")[-1] == "libdevice":
        return name
    return None


def _is_placeholder(meaning: Meaning) -> bool:
    """A jit function that does nothing, which lets kernels that name it be defined where the real one is missing."""
    if meaning.kernel is None or not isinstance(meaning.kernel.node.body, cst.IndentedBlock):
        return False
    return all(
        isinstance(line, cst.SimpleStatementLine) and all(_does_nothing(small) for small in line.body)
        for line in meaning.kernel.node.body.body
    )


def _gives_a_value(meaning: Meaning) -> bool:
    """Whether a function of `triton.language` is called for its result: of a call for its effect, none is as good."""
    head, _, _ = meaning.qualified.rpartition(".")
    entry = language_entry(meaning.qualified) if head == "triton.language" else None
    unknown = head == "triton.language" and entry is None
    effect = entry is not None and (entry.short in _EFFECTS or entry.short.startswith("atomic"))
    return meaning.kind == "external" and (unknown or entry is not None) and not effect


def _does_nothing(small: cst.BaseSmallStatement) -> bool:
    if isinstance(small, cst.Return):
        return small.value is None or (isinstance(small.value, cst.Name) and small.value.value == "None")
    text = isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))
    return text or isinstance(small, cst.Pass)


def _is_unknown(name: str) -> bool:
    return name.startswith("triton.language.") and name.count(".") == 2 and language_entry(name) is None


def _is_constexpr_function(meaning: Meaning) -> bool:
    """A plain function that runs at compile time: `@triton.constexpr_function`, or one that is itself a constant."""
    node, module = meaning.node, meaning.module
    if not isinstance(node, cst.FunctionDef) or module is None:
        return False
    names = {name for decorator in node.decorators for name in module.qualified_names(decorator.decorator)}
    kinds = ("constexpr_function", "constexpr")
    return any(name.rpartition(".")[2] in kinds and name.startswith("triton.") for name in names)


__all__ = ["CONSTEXPR_FUNCTIONS", "Globals", "language_entry", "libdevice_name"]
