"""Writing a whole function: a kernel for its launch, a helper for the calls that reach it.

The body is written several times. The first passes only find out which layouts each index variable is asked for, last
statement first, since the uses stand below the definitions; when nothing new is asked for, names are given and the
text is written.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.dims import canonical
from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.terms import Root, Term
from tritonport.analysis.values import Refusal, Value
from tritonport.convert.copy_names import name_copies
from tritonport.convert.function_layouts import HelperLayouts, KernelLayouts
from tritonport.convert.helper_calls import helper_call
from tritonport.convert.helper_versions import HelperVersion
from tritonport.convert.launch_flags import with_flags
from tritonport.convert.layout_lines import with_helper_layouts, with_kernel_layouts
from tritonport.convert.moved_dots import moved_dots
from tritonport.convert.output import OutputFile
from tritonport.convert.parameters import has_default, with_commas
from tritonport.convert.recipes import RECIPES
from tritonport.convert.recipes.dot import added_dot, sides_of_sum
from tritonport.convert.statements import StatementWriter
from tritonport.convert.wants import Want
from tritonport.source.kernel import Kernel

MAX_PASSES = 24


class FunctionWriter(StatementWriter):
    """Writes a kernel (one frame) or a helper (one frame per call that reaches it)."""

    def __init__(self, module: OutputFile, kernel: Kernel, frames: list[Frame]) -> None:
        super().__init__(module, kernel, frames, RECIPES)
        self.defaults: list[dict[tuple[str, ...], Term]] = [module.analysis.terms_by_shape(frame) for frame in frames]

    def write(self) -> cst.FunctionDef:
        """The function in Gluon.

        Raises:
            Refusal: it cannot be written.
            Inconsistent: not for all of its calls at once.
        """
        body = self.kernel.node.body
        self.moved = moved_dots(body, self.frames)
        for _ in range(MAX_PASSES):
            self.changed = False
            known = len(self.layouts)
            self.block(body)
            if not self.changed and len(self.layouts) == known and not self._ask_for_defaults():
                break
        else:
            raise Refusal("TP204", f"the layouts of {self.kernel.name} do not settle", self.kernel.node)
        self._give_names()
        self.final = True
        node = self.kernel.node.with_changes(body=self.block(body), params=self._parameters())
        return self._with_layouts(node, self.layouts)

    @property
    def takes_layouts(self) -> bool:
        """Whether calls have to give the function layouts."""
        return isinstance(self.layouts, HelperLayouts) and bool(self.layouts.slots)

    def version(self, name: str, node: cst.FunctionDef | None = None, text: str | None = None) -> HelperVersion:
        """The record of a helper that is written, for those who call it."""
        assert isinstance(self.layouts, HelperLayouts)
        slots = [(slot, tuple(terms)) for slot, terms in self.layouts.slots]
        return HelperVersion(
            name, self.kernel, self.frames, node, slots, text=text, again=list(self.again), shared=self.shared
        )

    # -- layouts nothing asks for

    def _ask_for_defaults(self) -> bool:
        """A cheap variable nothing asks for still needs a layout to be written in."""
        asked = False
        for web in self.webs.all():
            if web.is_tensor and not web.expensive and not web.copies:
                want = tuple(self._default_of(index, definitions) for index, definitions in enumerate(web.definitions))
                asked |= web.ask(want)
        return asked

    def _default_of(self, index: int, definitions: list[Definition]) -> Term | None:
        for definition in definitions:
            if definition.value.is_tensor:
                return self.shape_term(index, definition.value)
        return None

    def shape_term(self, index: int, value: Value) -> Term:
        """Some layout of the kernel that fits a shape."""
        shape = tuple(canonical(size) for size in value.shape)
        known = self.defaults[index]
        if shape not in known:
            known[shape] = Root(value.rank, value.shape)
        return known[shape]

    def default_term(self, index: int, value: Value, want: Want | None) -> Term:
        if want is not None and want[index] is not None:
            term = want[index]
            assert term is not None
            return term
        return self.shape_term(index, value)

    # -- the parts

    def helper_call(self, node: cst.Call, want: Want | None) -> cst.BaseExpression:
        return helper_call(self, node, want)

    def added_dot(
        self,
        values: Sequence[Value | None],
        left: cst.BaseExpression,
        right: cst.BaseExpression,
        focus: Want | None,
    ) -> cst.BaseExpression | None:
        sides = sides_of_sum(self, left, right)
        written = (added_dot(self, values, acc, call, focus) for acc, call in sides)
        return next((found for found in written if found is not None), None)

    def _give_names(self) -> None:
        self.layouts.give_names()
        name_copies(self.webs, self.names, self.layouts.known())
        for tile in dict.fromkeys(self.finished.values()):
            if tile.staged:
                tile.staged_name = self.names.fresh(tile.staged_name)
        if not self.is_entry:
            self.again = [
                (parameter.name, want, name)
                for parameter in self.frames[0].parameters.values()
                if self.given_cheaply(parameter.name)
                for want, name in self.webs.of_definition(parameter).copies.values()
            ]

    # -- the head

    def _parameters(self) -> cst.Parameters:
        parameters = self.kernel.node.params
        changed = [self._parameter(param) for param in parameters.params]
        keyword_only = [self._parameter(param) for param in parameters.kwonly_params]
        for _, _, name in self.again:
            changed.append(cst.Param(cst.Name(name), default=None if not has_default(changed) else cst.Name("None")))
        if isinstance(self.layouts, HelperLayouts):
            changed += self.layouts.parameters(has_default(changed))
        return parameters.with_changes(params=with_commas(changed, parameters.params), kwonly_params=keyword_only)

    def _parameter(self, param: cst.Param) -> cst.Param:
        changes: dict[str, object] = {}
        if param.annotation is not None and not self._is_text(param.annotation.annotation):
            annotation = self.module.language_name(param.annotation.annotation)
            changes["annotation"] = param.annotation.with_changes(annotation=annotation)
        if param.default is not None:
            changes["default"] = self.module.renamed(param.default)
        return param.with_changes(**changes) if changes else param

    def _is_text(self, annotation: cst.BaseExpression) -> bool:
        """Whether Triton reads the text of a type: it knows `tl.int64` by it, and no other spelling."""
        module = self.kernel.module
        if module is not self.module.module or not module.annotations_are_text or module.is_constexpr(annotation):
            return False
        return module.tree.code_for_node(annotation).startswith("tl.")

    def _with_layouts(self, node: cst.FunctionDef, layouts: KernelLayouts | HelperLayouts) -> cst.FunctionDef:
        """The function with its layouts at its head, and the launch that says how rows lie where they depend on it."""
        module = self.module
        if isinstance(layouts, HelperLayouts):
            conversions = self._conversions_at_head()
            return with_helper_layouts(node, layouts, module, conversions) if layouts.arguments or conversions else node
        if not layouts.named:
            return node
        roots = (root for root in layouts.named if isinstance(root, Root))
        alignment = module.analysis.alignment_of(layouts.frame, roots)
        node = with_kernel_layouts(node, layouts, module, alignment, self.uses_tensor_memory)
        if not alignment.flags:
            return node
        entries = alignment.entries(module.snippet_name("multiples_of_16"))
        return with_flags(node, self.kernel, entries, module.gl, module.triton_module)

    def _conversions_at_head(self) -> list[cst.BaseSmallStatement]:
        return [
            small
            for parameter in self.frames[0].parameters.values()
            for small in self.conversions(cst.Name(parameter.name), self.webs.of_definition(parameter), at_head=True)
        ]
