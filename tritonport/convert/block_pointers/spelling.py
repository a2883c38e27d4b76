"""What block pointers stand for, as text: offset vectors, pointers and masks."""

from __future__ import annotations

import libcst as cst

from tritonport.analysis.block_pointers.definitions import Use
from tritonport.analysis.block_pointers.webs import Web, Webs, grouped

LINE = 120


class Spelling:
    """Spells the accesses of one function; `tl` is the file's name for `triton.language`."""

    def __init__(self, webs: Webs, tl: str) -> None:
        self.webs = webs
        self.tl = tl

    def vector(self, web: Web, dim: int, offset: str) -> str:
        vector = f"{web.vectors[dim]} = {self.tl}.arange(0, {web.reference(('block', dim))}).to({self.tl}.int64)"
        if offset == "0":
            return vector
        node = cst.parse_expression(offset)
        product = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply)
        return f"{vector} + {offset if product else grouped(offset)}"

    def pointer(self, web: Web) -> str:
        """The pointers of a tile as one expression."""
        terms = [web.reference(("base", 0))]
        base = cst.parse_expression(terms[0])
        if not isinstance(base, cst.BinaryOperation) or not isinstance(base.operator, (cst.Add, cst.Subtract)):
            terms[0] = grouped(terms[0])
        for dim in range(web.rank):
            stride = web.reference(("stride", dim))
            vector = _spread(web.vectors[dim], dim, web.rank)
            terms.append(vector if stride == "1" else f"{vector} * {grouped(stride)}")
        return " + ".join(terms)

    def mask(self, web: Web, use: Use, indent: int = 0) -> str:
        """What `boundary_check` means; over several lines where one is too long."""
        conditions = []
        for dim in use.checked:
            vector, shape = web.vectors[dim], web.reference(("shape", dim))
            node = cst.parse_expression(shape)
            below = f"({vector} < {shape if isinstance(node, cst.BinaryOperation) else grouped(shape)})"
            condition = below if self._starts_inside(web, dim) else f"({vector} >= 0) & {below}"
            if web.rank > 1:
                inner = condition if condition is below else f"({condition})"
                condition = _spread(inner, dim, web.rank)
            conditions.append(condition)
        text = " & ".join(conditions)
        if indent and indent + len(f"{self.mask_name(web, use)} = {text}") > LINE:
            return "(\n    " + "\n    & ".join(conditions) + "\n)"
        return text[1:-1] if text.startswith("(") and len(conditions) == 1 and text == below else text

    def _starts_inside(self, web: Web, dim: int) -> bool:
        """Whether an offset is a number that is not negative, wherever it is used."""
        part = ("offset", dim)
        texts = {self.webs.setting(made, part) for made in web.definitions} - {None}
        if any(self.webs.moves(made, part) for made in web.definitions) or web.parameter is not None:
            return False
        return all(text is not None and text.isdigit() for text in texts)

    def element_pointer(self, web: Web) -> str:
        """An expression with the element type of a block pointer: its base, or the one name in it that can be a
        pointer."""
        base = web.reference(("base", 0))
        names: list[str] = []
        node = cst.parse_expression(base)
        while isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract)):
            if isinstance(node.right, cst.Name) and isinstance(node.operator, cst.Add):
                names.append(node.right.value)
            node = node.left
        names += [node.value] if isinstance(node, cst.Name) else []
        return names[0] if len(names) == 1 else grouped(base)

    def mask_name(self, web: Web, use: Use) -> str:
        return self._named(web, "mask" if len(use.checked) == web.rank else "mask" + "".join(map(str, use.checked)))

    def pointer_name(self, web: Web) -> str:
        return self._named(web, "ptrs")

    def _named(self, web: Web, label: str) -> str:
        key = (label, 0)
        extra = self.webs.extra.setdefault(id(web), {})
        if key not in extra:
            extra[key] = self.webs.fresh(f"{web.name}_{label}")
        return extra[key]


def _spread(text: str, dim: int, rank: int) -> str:
    if rank == 1:
        return text
    return f"{text}[{', '.join(':' if index == dim else 'None' for index in range(rank))}]"
