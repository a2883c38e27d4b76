"""Accesses through block pointers and calls that pass them on, as the expressions they become."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from tritonport.analysis.block_pointers.arguments import LOAD, STORE
from tritonport.analysis.block_pointers.definitions import Part, Use
from tritonport.analysis.block_pointers.expressions import helper_of
from tritonport.analysis.block_pointers.reader import Reader
from tritonport.analysis.block_pointers.webs import Web, Webs
from tritonport.convert.block_pointers.spelling import Spelling
from tritonport.convert.syntax import keyword, separated
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import replaced, walk

_PADDING = {"zero": "0", "nan": 'float("nan")'}
Parameters = Callable[[Kernel, str], list[tuple[Part, str]]]
"""What stands for a parameter of a helper that is a block pointer: the parts it uses, with their names."""


class ExpressionWriter:
    """Writes the expressions of one function.

    Attributes:
        made: what is written, each node with the one of the source that it stands for.
    """

    def __init__(
        self, module: SourceModule, kernel: Kernel, reader: Reader, webs: Webs, tl: str, parameters: Parameters
    ) -> None:
        self.module = module
        self.kernel = kernel
        self.reader = reader
        self.webs = webs
        self.tl = tl
        self.parameters = parameters
        self.spelling = Spelling(webs, tl)
        self.made: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def web(self, use: Use) -> Web:
        return self.webs.of(next(iter(use.definitions)))

    def expression(self, node: cst.BaseExpression) -> cst.BaseExpression:
        written: cst.BaseExpression = replaced(node, self.swaps(node))
        if written is not node:
            self.made.append((written, node))
        return written

    def swaps(self, node: cst.CSTNode, named: bool = False) -> dict[cst.CSTNode, cst.CSTNode]:
        """The nodes of a statement that change, with what they become; inner ones first."""
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        for item in reversed(list(walk(node))):
            use = self.reader.uses.get(item)
            if use is not None and use.how == "type":
                pointer = cst.parse_expression(self.spelling.element_pointer(self.web(use)))
                element = cst.Attribute(pointer, cst.Name("dtype"))
                is_descriptor = any(made.padding is not None for made in use.definitions)
                swaps[item] = cst.Attribute(element, cst.Name("element_ty")) if is_descriptor else element
            elif use is not None and isinstance(item, cst.Call):
                swaps[item] = self._access(use, item, swaps, named)
            elif isinstance(item, cst.Call) and any(argument in self.reader.uses for argument in item.args):
                swaps[item] = self._helper_call(item, swaps)
        return swaps

    def _access(self, use: Use, node: cst.Call, swaps: dict[cst.CSTNode, cst.CSTNode], named: bool) -> cst.Call:
        web = self.web(use)
        pointer = self.spelling.pointer_name(web) if named else self.spelling.pointer(web)
        args = [cst.Arg(cst.parse_expression(pointer))]
        names = self._names(use, node)
        given = [(_parameter(argument, index, names), argument.value) for index, argument in enumerate(node.args)]
        args += [cst.Arg(replaced(value, swaps)) for name, value in given if name == "value"]
        if use.checked:
            mask = self.spelling.mask_name(web, use) if len(use.checked) > 1 else self.spelling.mask(web, use)
            args.append(keyword("mask", cst.parse_expression(mask)))
            if use.padding:
                args.append(keyword("other", cst.parse_expression(_PADDING[use.padding])))
        for name, value in given:
            if name in ("cache_modifier", "eviction_policy", "volatile"):
                args.append(keyword(name, replaced(value, swaps)))
        function = cst.parse_expression(f"{self.tl}.{use.how}") if names[0] in ("offsets", "desc") else node.func
        return node.with_changes(func=function, args=separated(args), whitespace_before_args=cst.SimpleWhitespace(""))

    def _names(self, use: Use, node: cst.Call) -> Sequence[str]:
        """The parameters of the call that an access is spelled as."""
        if not any(source.padding is not None for made in use.definitions for source in made.sources):
            return LOAD if use.how == "load" else STORE
        return ("desc", "offsets", "value") if self.reader.operation(node) is not None else ("offsets", "value")

    def _helper_call(self, node: cst.Call, swaps: dict[cst.CSTNode, cst.CSTNode]) -> cst.Call:
        callee = helper_of(self.module, self.kernel, node)
        assert callee is not None
        args: list[cst.Arg] = []
        space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        for argument in node.args:
            use = self.reader.uses.get(argument)
            if use is None:
                args.append(argument.with_changes(value=replaced(argument.value, swaps)))
                continue
            web = self.web(use)
            for part, name in self.parameters(callee, use.parameter):
                value = cst.parse_expression(web.reference(part))
                made = keyword(name, value) if argument.keyword is not None else cst.Arg(value)
                args.append(made.with_changes(comma=space))
            args[-1] = args[-1].with_changes(comma=argument.comma)
        return node.with_changes(args=args)


def _parameter(argument: cst.Arg, position: int, names: Sequence[str]) -> str:
    name = argument.keyword.value if argument.keyword is not None else names[position]
    return "value" if name == "val" else name
