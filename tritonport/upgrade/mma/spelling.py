"""What a file says, as the stage reads it: which of its functions are those of the port, which calls are dots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from tritonport.convert.snippets import available, render
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, replaced
from tritonport.upgrade.dots import called
from tritonport.upgrade.edit import code
from tritonport.upgrade.file_edit import alias

_PACKAGES = tuple(f"triton.experimental.gluon.language.nvidia.{name}" for name in ("hopper", "blackwell"))
"""Where Gluon has the instructions of Hopper; what Blackwell still has of them, it has under the same names."""
ADDS = {"dot": "dot_started", "dot_added": "dot_added_started"}
"""Functions of the port that add to their third argument, and what starts the same."""
MAKES = {"dot_new": "dot_new_started", "dot_new_as": "dot_new_started"}
"""Functions of the port whose third argument is the layout of a new result."""
_OTHER_DOTS = re.compile(r"dot(_(?!operands?\b)\w+)?|mma_v2|tcgen05_mma(_scaled)?")
_STARTED = frozenset({*ADDS.values(), *MAKES.values(), "dot_awaited"})
_NUMBER = re.compile(r"(?<=[a-z])_\d+\b")


@dataclass(frozen=True)
class Dot:
    """A dot that is a statement of a loop's body, or the one call in it.

    Attributes:
        place: the index of its statement in the body.
        target: the variable that the statement assigns.
        adds: the accumulator that it adds to; None where it makes a new result.
        starter: the function of the port that starts the same dot; None for `warpgroup_mma` itself.
    """

    call: cst.Call
    place: int
    target: str
    left: cst.BaseExpression
    right: cst.BaseExpression
    adds: str | None
    starter: str | None


@dataclass
class FileReader:
    """Reads calls of one file.

    Attributes:
        target, triton: what the file is written for.
    """

    module: SourceModule
    target: str
    triton: str
    _known: dict[str, str | None] = field(default_factory=dict)

    def emitted(self, node: cst.CSTNode) -> str | None:
        """`dot_new` for a call of that function of the port, under the name that it has in this file."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Name):
            return None
        name = node.func.value
        if name not in self._known:
            self._known[name] = self._identified(name)
        return self._known[name]

    def _identified(self, name: str) -> str | None:
        base = name if name in available(self.target) else _NUMBER.sub("", name)
        functions = (one for one in self.module.tree.body if isinstance(one, cst.FunctionDef))
        present = next((one for one in functions if one.name.value == name), None)
        if base not in available(self.target) or present is None:
            return None
        gluon = alias(self.module, "triton.experimental.gluon", "gluon")
        gl = alias(self.module, "triton.experimental.gluon.language", "gl")
        ours = cst.parse_module(render(base, gluon, gl, {base: name}, self.target, self.triton)).body[0]
        return base if _plain(ours) == _plain(present) else None

    def is_hopper(self, node: cst.CSTNode, name: str) -> bool:
        """Whether a call is of a function of Gluon for Hopper: `warpgroup_mma`, `mbarrier.wait`."""
        if not isinstance(node, cst.Call):
            return False
        found = self.module.qualified_names(node.func)
        return any(f"{package}.{name}" in found for package in _PACKAGES)

    def is_gl(self, node: cst.CSTNode, *names: str) -> bool:
        """Whether a call is of one of these functions of the Gluon language."""
        if not isinstance(node, cst.Call):
            return False
        found = self.module.qualified_names(node.func)
        return any(f"triton.experimental.gluon.language.{name}" in found for name in names)

    def is_dot(self, node: cst.CSTNode) -> bool:
        """Whether a call multiplies matrices, or is named as if it did."""
        name = _NUMBER.sub("", called(node))
        return self.is_hopper(node, "warpgroup_mma") or (bool(_OTHER_DOTS.fullmatch(name)) and name not in _STARTED)

    def is_started(self, node: cst.CSTNode) -> bool:
        """Whether a call starts a dot, or waits for one: its loop has been through the stage, or was written so."""
        asynchronous = self.is_hopper(node, "warpgroup_mma") and _keyword(node, "is_async") not in (None, "False")
        return asynchronous or self.is_hopper(node, "warpgroup_mma_wait") or self.emitted(node) in _STARTED

    def synchronous(self, node: cst.For) -> cst.For:
        """A loop in which a dot that is started, and awaited by the next statement, is one call that does both."""
        assert isinstance(node.body, cst.IndentedBlock)
        lines: list[cst.BaseStatement] = []
        for line in node.body.body:
            before = simple_assignment(lines[-1]) if lines else None
            if before is not None and self._awaits(line, before):
                started = lines[-1]
                assert isinstance(before[1], cst.Call)
                kept = [one for one in before[1].args if one.keyword is None or one.keyword.value != "is_async"]
                kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
                lines[-1] = replaced(started, {before[1]: before[1].with_changes(args=kept)})
            else:
                lines.append(line)
        if len(lines) == len(node.body.body):
            return node
        return node.with_changes(body=node.body.with_changes(body=lines))

    def _awaits(self, line: cst.BaseStatement, before: tuple[str, cst.BaseExpression]) -> bool:
        """Whether a statement waits for all dots, of which the one before has just been started."""
        made = simple_assignment(line)
        name, call = before
        if made is None or made[0] != name or not self.is_hopper(made[1], "warpgroup_mma_wait"):
            return False
        if not self.is_hopper(call, "warpgroup_mma") or _keyword(call, "is_async") != "True":
            return False
        assert isinstance(made[1], cst.Call) and isinstance(line, cst.SimpleStatementLine)
        given = {one.keyword.value if one.keyword is not None else "num_outstanding": one.value for one in made[1].args}
        deps = given.get("deps")
        alone = isinstance(deps, (cst.List, cst.Tuple)) and [code(one.value) for one in deps.elements] == [name]
        commented = any(one.comment is not None for one in line.leading_lines) or line.trailing_whitespace.comment
        return alone and code(given.get("num_outstanding", cst.Integer("0"))) == "0" and not commented

    def dot(self, call: cst.Call, place: int, target: str) -> Dot | None:
        """A dot that can be started; None where the stage knows no such form of it."""
        values = [argument.value for argument in call.args if argument.keyword is None]
        if len(values) < 3:
            return None
        left, right, third = values[:3]
        name = self.emitted(call)
        added = third.value if isinstance(third, cst.Name) else None
        if name in ADDS and added is not None:
            return Dot(call, place, target, left, right, added, ADDS[name])
        if name in MAKES:
            return Dot(call, place, target, left, right, None, MAKES[name])
        if name == "dot_as" and len(values) == 5 and added is not None:
            use = cst.Module([]).code_for_node(values[4])
            if use in ("True", "False"):
                return Dot(call, place, target, left, right, added if use == "True" else None, "dot_started")
        if self.is_hopper(call, "warpgroup_mma") and len(values) == 3:
            fresh = _keyword(call, "use_acc") == "False"
            return Dot(call, place, target, left, right, None if fresh else added, None)
        return None


def started_call(dot: Dot, helpers: Mapping[str, str]) -> cst.Call:
    """The call that starts a dot."""
    if dot.starter is not None:
        return dot.call.with_changes(func=cst.Name(helpers[dot.starter]))
    given = [one for one in dot.call.args if one.keyword is None or one.keyword.value != "is_async"]
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    last = given[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    flag = cst.Arg(cst.Name("True"), keyword=cst.Name("is_async"), equal=equal)
    return dot.call.with_changes(args=[*given[:-1], last, flag])


def awaited_text(dot: Dot, pending: int, helpers: Mapping[str, str]) -> str:
    """The call that gives the result of a started dot when no more than `pending` are under way, as source text."""
    if dot.starter is not None:
        return f"{helpers['dot_awaited']}({dot.target}, {pending})"
    return f"{dotted(dot.call.func)}_wait({pending}, deps=({dot.target},))"


def names_assigned(statement: cst.BaseStatement) -> set[str]:
    """The variables that a statement assigns, in branches and inner loops too."""
    return set(assigned_names(cst.IndentedBlock([statement])))


def one_line(node: cst.CSTNode, width: int = 60) -> str:
    """The source text of a node for a message: on one line, and not longer than that takes."""
    text = " ".join(code(node).split())
    return text if len(text) <= width else f"{text[: width - 3]}..."


def simple_assignment(statement: cst.BaseStatement) -> tuple[str, cst.BaseExpression] | None:
    """Variable and value of a statement `name = value` that stands on a line of its own."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and isinstance(small.targets[0].target, cst.Name):
        return small.targets[0].target.value, small.value
    return None


def _keyword(node: cst.CSTNode, name: str) -> str | None:
    assert isinstance(node, cst.Call)
    given = (one.value for one in node.args if one.keyword is not None and one.keyword.value == name)
    value = next(given, None)
    return code(value) if value is not None else None


def _plain(node: cst.CSTNode) -> str:
    """A function as text, without the numbers that names get in files that have them already."""
    assert isinstance(node, cst.FunctionDef)
    text = cst.Module([]).code_for_node(node.with_changes(leading_lines=[], lines_after_decorators=[]))
    return _NUMBER.sub("", text).strip()
