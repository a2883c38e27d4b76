"""The layouts of one function, by name: a kernel defines them at its head, a helper has them from its arguments."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.terms import Root, Slice, Term, normal
from tritonport.convert.layout_text import named_parts, term_text
from tritonport.convert.names import Names, name_layouts, name_made, stem
from tritonport.convert.optional import may_be_none
from tritonport.convert.wants import Want
from tritonport.layouts.solver import frames_of
from tritonport.layouts.vectors import may_be_number
from tritonport.source.kernel import Kernel


class KernelLayouts:
    """The layouts that a kernel defines, in the order in which they are asked for."""

    def __init__(self, kernel: Kernel, frame: Frame, names: Names, gl: str) -> None:
        self.kernel = kernel
        self.frame = frame
        self.names = names
        self.gl = gl
        self.named: dict[Term, str] = {}

    def __len__(self) -> int:
        return len(self.named)

    def text(self, want: Want) -> str:
        """A layout as an expression of the kernel."""
        (term,) = want
        assert term is not None
        for part in named_parts(term):
            if isinstance(part, Root) and part.wide is not None:
                self.text((part.wide,))
            if isinstance(part, Root) and part.within is not None:
                self.text((part.within,))
            if part not in self.named:
                self.named[part] = f"layout{len(self.named)}"
        return term_text(term, self.named, self.gl)

    def known(self) -> dict[Term, str]:
        return self.named

    def give_names(self) -> None:
        """Names for good, now that it is known which layouts there are."""
        labels = _labels(self.frame)
        for term, written in _written_to(self.frame).items():
            labels.setdefault(term, written)
        roots = sorted((term for term in self.named if isinstance(term, Root)), key=_place)
        made = [term for term in self.named if not isinstance(term, Root)]
        constants = frozenset(parameter.name for parameter in self.kernel.parameters if parameter.constexpr)
        self.named = name_layouts(roots, self.names, labels, constants)
        for layout in made:
            self.named[layout] = name_made(layout, self.named, self.names, labels)


def _place(root: Root) -> tuple[bool, int]:
    """Where a kernel defines a layout: below those that it is one of, in the order of the accesses."""
    refers = root.wide is not None or root.within is not None
    return refers, root.accesses[0].position if root.accesses else 1 << 30


class HelperLayouts:
    """The layouts of a helper: those its tensor arguments have, and parameters of its own.

    Attributes:
        slots: the parameters, each with the layout that every call passes, None for a call that has no use for it.
        arguments: per tensor argument whose layout is asked for, the local name of that.
    """

    def __init__(
        self, kernel: Kernel, frames: Sequence[Frame], names: Names, gl: str, shared: Collection[str] = ()
    ) -> None:
        self.kernel = kernel
        self.frames = frames
        self.names = names
        self.gl = gl
        self.shared = shared
        self.slots: list[tuple[str, list[Term | None]]] = []
        self.arguments: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.slots) + len(self.arguments)

    def text(self, want: Want) -> str:
        """A layout as an expression of the helper; the axes that all calls slice stay written out."""
        terms = [normal(term) if term is not None else None for term in want]
        axes: list[int] = []
        while True:
            parameter = self._parameter_layout(terms)
            if parameter is not None:
                text = self._local_layout(parameter)
                break
            slices = [term for term in terms if isinstance(term, Slice)]
            if len(slices) < sum(term is not None for term in terms) or len({term.axis for term in slices}) > 1:
                text = self._slot(terms)
                break
            axes.append(slices[0].axis)
            terms = [normal(term.parent) if isinstance(term, Slice) else None for term in terms]
        for axis in reversed(axes):
            text = f"{self.gl}.SliceLayout({axis}, {text})"
        return text

    def _parameter_layout(self, terms: list[Term | None]) -> str | None:
        """`x.type.layout` where a tensor argument has that very layout."""
        for parameter in self.kernel.parameters:
            values = [frame.parameters[parameter.name].value for frame in self.frames]
            # None, which a call may pass in place of a tensor, has no layout, and neither has a number.
            absent = may_be_none(self.kernel, parameter.name) or any(
                may_be_number(value, computed=True) for value in values
            )
            if parameter.name in self.shared or absent:
                continue
            have = [normal(value.term) if value.is_tensor and value.focus is not None else None for value in values]
            if all(term is None or term == other for term, other in zip(terms, have, strict=True)) and any(have):
                return parameter.name
        return None

    def _local_layout(self, parameter: str) -> str:
        """The name, inside the helper, of the layout of one of its tensor arguments."""
        if parameter not in self.arguments:
            plain = not self.arguments and "layout" not in self.names.taken
            wanted = "layout" if plain else f"{parameter}_layout"
            self.arguments[parameter] = self.names.fresh(wanted)
        return self.arguments[parameter]

    def _slot(self, terms: list[Term | None]) -> str:
        for name, known in self.slots:
            if all(a is None or b is None or a == b for a, b in zip(known, terms, strict=True)):
                for index, term in enumerate(terms):
                    known[index] = known[index] or term
                return name
        wanted = "layout" if not self.slots else f"layout_{len(self.slots) + 1}"
        name = self.names.fresh(wanted)
        self.slots.append((name, list(terms)))
        return name

    def known(self) -> dict[Term, str]:
        """The names that a helper has for layouts: those of its arguments, and its parameters."""
        found: dict[Term, str] = {}
        for frame in self.frames:
            for parameter, name in self.arguments.items():
                value = frame.parameters[parameter].value
                if value.is_tensor and value.focus is not None:
                    found.setdefault(normal(value.term), name)
        for name, terms in self.slots:
            for term in terms:
                if term is not None:
                    found.setdefault(term, name)
        return found

    def give_names(self) -> None:
        """The layouts of a helper are named after what has them, where there are several."""
        if len(self.slots) + len(self.arguments) < 2:
            return
        self.names.taken -= {*self.arguments.values(), *(name for name, _ in self.slots)}
        for parameter in self.arguments:
            self.arguments[parameter] = self.names.fresh(f"{parameter}_layout".lower())
        labels = [_labels(frame) for frame in self.frames]
        for place, (name, terms) in enumerate(self.slots):
            found = (known.get(term) for known, term in zip(labels, terms, strict=True) if term is not None)
            label = next((label for label in found if label is not None), None)
            self.slots[place] = (self.names.fresh(f"{label}_layout".lower() if label else name), terms)

    def parameters(self, has_default: bool) -> list[cst.Param]:
        """The parameters for layouts, which stand behind the others."""
        annotation = cst.Annotation(cst.parse_expression(f"{self.gl}.constexpr"))
        found: list[cst.Param] = []
        for name, terms in self.slots:
            has_default = has_default or self._left_out(terms)
            found.append(cst.Param(cst.Name(name), annotation, default=cst.Name("None") if has_default else None))
        return found

    def _left_out(self, terms: list[Term | None]) -> bool:
        """Whether a call does not pass a layout: with its compile-time arguments, no branch has a use for it."""
        passed: dict[cst.Call | None, bool] = {}
        for frame, term in zip(self.frames, terms, strict=True):
            passed[frame.call] = passed.get(frame.call, False) or term is not None
        return not all(passed.values())


def _labels(function: Frame) -> dict[Term, str]:
    """Per layout, the first variable of a function, or of the helpers it calls, that has it."""
    found: dict[Term, str] = {}
    for definition in [definition for frame in frames_of(function) for definition in frame.targets.values()]:
        value = definition.value
        if value.is_tensor and value.focus is not None and not isinstance(normal(value.term), Slice):
            found.setdefault(normal(value.term), definition.name)
    return found


def _written_to(function: Frame) -> dict[Term, str]:
    """Per layout that something is stored in, the tensor behind the variable that holds the addresses."""
    found: dict[Term, str] = {}
    for value in [value for frame in frames_of(function) for value in frame.values.values()]:
        if value.op == "store" and value.focus is not None and isinstance(value.operands[0].node, cst.Name):
            found.setdefault(normal(value.focus), stem(value.operands[0].node.value))
    return found
