"""One stage on one file: what is converted first, what the stage changes, what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tritonport.analysis.access import Access
from tritonport.analysis.access.reader import is_called
from tritonport.convert import Conversion, ConvertOptions, convert_text
from tritonport.convert.alignment import asked_of
from tritonport.convert.long_lines import break_long_lines
from tritonport.convert.snippets import available
from tritonport.report import Diagnostic
from tritonport.rules_data import load_targets
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.upgrade import multibuffer
from tritonport.upgrade.async_copy import stage as async_copy_stage
from tritonport.upgrade.async_copy.fallback import PlannedForm, as_launched
from tritonport.upgrade.async_copy.plan import KernelPlan, plan_kernel
from tritonport.upgrade.bounds import is_acted_on
from tritonport.upgrade.file_edit import alias, stages_of
from tritonport.upgrade.forms import is_fallback, is_form
from tritonport.upgrade.legality import LOOP_STAYS, NO_DESCRIPTOR, Reason, Refused
from tritonport.upgrade.mma import upgrade_gluon
from tritonport.upgrade.original import STAYS, Original
from tritonport.upgrade.tma import plan as tma_plan
from tritonport.upgrade.tma import stage as tma_stage
from tritonport.upgrade.tma.launches import keeping_decorator, launched_inside
from tritonport.upgrade.tma.spelled import copies_of

STAGES = ("async-copy", "tma", "multibuffer", "mma")
ALL = "all"
_NO_TMA = "is not copied by TMA"


def upgrade_text(text: str, *, path: str, options: ConvertOptions, literal: Conversion | None = None) -> Conversion:
    """A file taken to `options.stage`; Triton kernels are converted first, and the stages it stands on come before it.

    A kernel that a stage cannot change stays as it was, with a diagnostic per access.

    Args:
        literal: what `convert_text` makes of the same text with the same options, where that is at hand.

    Raises:
        InputError: the text is not Python (TP001).
    """
    found = convert_text(text, path=path, options=options) if literal is None else literal
    original = Original(text, path, options.target)
    for stage in steps_to(options.stage, options.target, stages_of(found.text)):
        # Of the stages that copy, the one that fits.
        asked = ALL if stage == "tma" and options.stage in (ALL, "mma") else stage
        found = _STEPS[stage](found, original, replace(options, stage=asked, kernels=_with_forms(options, found.text)))
    return found


def steps_to(stage: str, target: str, done: Sequence[str]) -> tuple[str, ...]:
    """The stages that a file goes through to get to one, in order; `done`: those that it has behind it.

    "all" is every stage that the target has, and "mma" stands on all the others: where TMA cannot copy, cp.async does.
    """
    every = stages_for(target)
    if stage == "mma" and "async-copy" in done:
        return ("mma",) if "tma" not in done else ("multibuffer", "mma")
    if stage == ALL or (stage == "mma" and stage in every):
        return every
    if stage == "mma":
        return ("tma", "multibuffer", "mma")
    return ("tma", "multibuffer") if stage == "multibuffer" else (stage,)


def stages_for(target: str) -> tuple[str, ...]:
    """The stages that there are for a target, in the order in which a file goes through them."""
    copies = "tile_descriptor"
    needs = {"tma": copies, "multibuffer": copies, "async-copy": "ring_layout", "mma": "dot_awaited"}
    return tuple(one for one, function in needs.items() if function in available(target))


def no_such_pair(stage: str, target: str) -> str | None:
    """Why there is no such stage for a target, with the pairs that there are; None where there is one."""
    own = stages_for(target)
    if stage not in STAGES or stage in own:
        return None
    others = [one for one in load_targets() if stage in stages_for(one)]
    ring = ". async-copy writes the ring of tiles itself" if stage == "multibuffer" and "async-copy" in own else ""
    return (
        f"there is no stage {stage} for {target}: the stages for {target} are {', '.join(own)}; "
        f"{stage} is for {', '.join(others)}{ring}"
    )


def _with_forms(options: ConvertOptions, text: str) -> frozenset[str] | None:
    """The kernels that are asked for, with the functions that the stage tma has made of them."""
    if options.kernels is None:
        return None
    made = re.findall(r"^def (\w+)_((?:tiles|pointers)(?:_\d+)?)\(", text, re.MULTILINE)
    return frozenset({*options.kernels, *(f"{name}_{form}" for name, form in made if name in options.kernels)})


def _copied_asynchronously(before: Conversion, original: Original, options: ConvertOptions) -> Conversion:
    """A file whose loops send the tiles that dots read through cp.async."""
    module = SourceModule(before.text, original.module.path, shared_project())
    plans: list[KernelPlan] = []
    fallbacks: list[PlannedForm] = []
    found = list(before.diagnostics)
    forms = "tma" in stages_of(before.text)
    for kernel in module.kernels:
        if kernel.language != "gluon" or (options.kernels is not None and kernel.name not in options.kernels):
            continue
        if forms and (is_form(module, kernel) or is_fallback(module, kernel)):
            # A form that an entry of the stage tma calls: launches that TMA is not for come to the one with pointers.
            form = _planned_form(module, kernel)
            fallbacks += [] if form is None else [form]
            continue
        plan = plan_kernel(module, kernel)
        plan = replace(plan, refused=(*plan.refused, *original.hidden("async-copy", kernel)))
        problem = _kernel_problem(module, kernel, options.target)
        if plan.loops and problem is not None:
            said = Reason(LOOP_STAYS, problem)
            refused = [Refused(copy.access, said) for loop in plan.loops for copy in loop.copies]
            plan = replace(plan, loops=(), refused=(*plan.refused, *refused))
        if plan.loops:
            plans.append(plan)
        found += [original.diagnostic(one) for one in plan.refused]
    acted = {line for plan in plans for line in original.lines_of_loops(plan)}
    found = [one for one in found if not (is_acted_on(one.code, one.message) and one.line in acted)]
    found = sorted(dict.fromkeys(_said_once(found)), key=lambda one: one.sort_key)
    if not plans and not fallbacks:
        return replace(before, diagnostics=tuple(found))
    copies = [
        copy for plan in (*plans, *(one.plan for one in fallbacks)) for loop in plan.loops for copy in loop.copies
    ]
    copied = before.copied | {original.place(copy.access) for copy in copies}
    output = async_copy_stage.written(module, plans, fallbacks, options)
    indent = str(module.tree.default_indent)
    text = break_long_lines(output, before.text, indent)
    return replace(before, text=text, diagnostics=tuple(found), copied=copied)


def _said_once(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Without what keeps an access from TMA where the same keeps it as it is."""
    stays = {(one.line, one.column, one.message) for one in found}
    return [
        one
        for one in found
        if _NO_TMA not in one.message or (one.line, one.column, one.message.replace(_NO_TMA, STAYS)) not in stays
    ]


def _through_descriptors(literal: Conversion, original: Original, options: ConvertOptions) -> Conversion:
    """A file whose tiles go through descriptors, where they can."""
    module = SourceModule(literal.text, original.module.path, shared_project())
    plans: list[tma_plan.KernelPlan] = []
    found = list(literal.diagnostics)
    triton = alias(module, "triton", "triton")
    done = "tma" in stages_of(literal.text)
    spelled: list[Kernel] = []
    of_function: dict[str, list[tuple[Diagnostic, Refused]]] = {}
    opened: dict[str, frozenset[str]] = {}
    inside: dict[tuple[str, str], str] = {}
    returned: list[Diagnostic] = []
    for kernel in module.kernels:
        if kernel.language != "gluon" or (options.kernels is not None and kernel.name not in options.kernels):
            continue
        if done and (is_called(module, kernel) or _is_entry(module, kernel)):
            continue  # a form that an entry of this stage calls, or such an entry
        plan = tma_plan.plan_kernel(module, kernel, triton)
        plan = _with_hidden(plan, original)
        returned += [original.diagnostic(one) for one in plan.inside if original.is_returned(one.access)]
        if not is_called(module, kernel):
            inside.update({_name_in_function(one.access): one.reason.text for one in plan.inside})
        problem = _tma_problem(module, kernel, options.target)
        if options.stage == ALL and _is_for_cp_async(module, plan, problem, options.target):
            # cp.async takes the tiles that TMA cannot, or says why it does not.
            said_of = [original.diagnostic(one, _NO_TMA) for one in plan.refused]
            if is_called(module, kernel):
                of_function[kernel.name] = list(zip(said_of, plan.refused, strict=True))
            else:
                found += said_of
            continue
        if plan.loads and problem is not None:
            said = Reason(NO_DESCRIPTOR, problem)
            plan = replace(plan, loads=(), refused=tuple(Refused(tile.access, said) for tile in plan.loads))
        if plan.loads:
            plans.append(plan)
        elif copies_of(kernel) and "tile_descriptor" in available(options.target):
            spelled.append(kernel)
        said_of = [original.diagnostic(one) for one in plan.refused]
        opened[kernel.name] = plan.opened if plan.loads else frozenset()
        if is_called(module, kernel):
            of_function[kernel.name] = list(zip(said_of, plan.refused, strict=True))
        else:
            found += said_of
        found += [one for tile in (*plan.loads, *plan.stores) for one in original.hints_of(tile.access)]
    # What a function of the file reads is said of the kernels that copy it in the place of their calls.
    for name, pairs in of_function.items():
        callers = {caller.name for caller, _ in module.calls.get(name, ()) if caller.name != name}
        if any(name not in opened.get(caller, ()) for caller in callers):
            found += [_because(one, refused, inside) for one, refused in pairs]
    known = {(one.line, one.column) for one in found if STAYS in one.message}
    found += [one for one in returned if (one.line, one.column) not in known]
    found = sorted(dict.fromkeys(found), key=lambda one: one.sort_key)
    if not plans and not spelled:
        return replace(literal, diagnostics=tuple(found))
    indent = str(module.tree.default_indent)
    text = break_long_lines(tma_stage.written(module, plans, spelled, options), literal.text, indent)
    copied = literal.copied | {original.place(access) for plan in plans for access in plan.copied}
    return replace(literal, text=text, diagnostics=tuple(found), copied=copied)


def _with_hidden(plan: tma_plan.KernelPlan, original: Original) -> tma_plan.KernelPlan:
    """A plan with what is refused in functions of other files: of those whose bodies the file has why, and of the
    others that they are such."""
    hidden = [one for one in original.hidden("tma", plan.form) if plan.loads or one.access.kind == "load"]
    if not hidden:
        return plan
    known = {original.place(one.access) for one in plan.refused}
    inside = {original.place(one.access): one.reason for one in plan.inside if original.is_foreign(one.access)}
    places = [(one, original.place(one.access)) for one in hidden]
    found = [Refused(one.access, inside.get(place, one.reason)) for one, place in places if place not in known]
    return replace(plan, refused=(*plan.refused, *found))


def _is_for_cp_async(module: SourceModule, plan: tma_plan.KernelPlan, problem: str | None, target: str) -> bool:
    """Whether a kernel's tiles are left to the stage async-copy: TMA gains little, and cp.async takes as many.

    Args:
        problem: why no launch of the kernel can have descriptors.
    """
    if plan.whole or "ring_layout" not in available(target):
        return False
    by_descriptors = 0 if problem is not None else sum(bool(tile.access.loops) for tile in plan.loads)
    by_threads = sum(len(loop.copies) for loop in plan_kernel(module, plan.kernel).loops)
    return by_threads >= by_descriptors


def _name_in_function(access: Access) -> tuple[str, str]:
    """What an access is called in the function that it is of, in a kernel that has its body: a number may be added."""
    return access.kind, re.sub(r"_\d+$", "", access.target)


def _because(said: Diagnostic, refused: Refused, inside: Mapping[tuple[str, str], str]) -> Diagnostic:
    """What is said of an access of a function whose pointer is what callers pass: why it stays in their kernels."""
    why = inside.get(_name_in_function(refused.access))
    if why is None or "is what the callers of" not in refused.reason.text:
        return said
    return replace(said, code=NO_DESCRIPTOR, message=said.message.replace(refused.reason.text, why))


def _is_entry(module: SourceModule, kernel: Kernel) -> bool:
    """Whether a kernel only chooses among the forms that the stage tma has made of it."""
    form = re.compile(rf"{re.escape(kernel.name)}_pointers(_\d+)?")
    return any(form.fullmatch(other.name) for other in module.kernels if is_called(module, other))


def _tma_problem(module: SourceModule, kernel: Kernel, target: str) -> str | None:
    if "tile_descriptor" not in available(target):
        return f"the stage tma has no form for {target}"
    if not _is_launched(module, kernel) and not launched_inside(module, kernel):
        return "its kernel is called or inspected by other code, so no launch can make descriptors"
    if any(parameter.star for parameter in kernel.parameters):
        return "its kernel takes any number of arguments"
    if kernel.in_class:
        return "its kernel stands in a class, and what stands there cannot be called by name from a kernel"
    keeper = keeping_decorator(module, kernel)
    if keeper is not None:
        return f"its launches go through `{keeper}`, which may give a later one the descriptors of an earlier one"
    return None


def _multibuffered(before: Conversion, original: Original, options: ConvertOptions) -> Conversion:
    """A file whose loops copy tiles into rings; `before`: what the stage `tma` made of it."""
    module = SourceModule(before.text, original.module.path, shared_project())
    text, findings = multibuffer.multibuffered(
        module, target=options.target, triton=options.triton, kernels=options.kernels
    )
    found = {*before.diagnostics, *(original.of_copy(one, module) for one in findings)}
    return replace(before, text=text, diagnostics=tuple(sorted(found, key=lambda one: one.sort_key)))


def _kernel_problem(module: SourceModule, kernel: Kernel, target: str) -> str | None:
    """Why no loop of a kernel can be pipelined for a target; None where one can."""
    if "ring_layout" not in available(target):
        return f"the dots of {target} work in tensor memory, for which the stage async-copy has no ring"
    if not _is_launched(module, kernel):
        return "its kernel is called or inspected by other code, so no launch can say the depth"
    return None


def _is_launched(module: SourceModule, kernel: Kernel) -> bool:
    """Whether a kernel is only launched, so that a heuristic may fill its arguments."""
    if kernel.decorator is None:
        return False
    return not is_called(module, kernel) and kernel.name not in asked_of(module.nodes)


def _planned_form(module: SourceModule, kernel: Kernel) -> PlannedForm | None:
    """The form with pointers of an entry, where loops of it can be pipelined."""
    found = as_launched(module, kernel)
    if found is None or not _is_launched(module, found[1]):
        return None
    plan = plan_kernel(module, found[0])
    return PlannedForm(kernel, found[1], plan) if plan.loops else None


def _awaited_later(before: Conversion, original: Original, options: ConvertOptions) -> Conversion:
    """A file whose dots stay under way while a loop goes on."""
    return upgrade_gluon(before, original.text, path=original.module.path, options=options)


_STEPS: dict[str, Callable[[Conversion, Original, ConvertOptions], Conversion]] = {
    "async-copy": _copied_asynchronously,
    "tma": _through_descriptors,
    "multibuffer": _multibuffered,
    "mma": _awaited_later,
}


__all__ = ["ALL", "STAGES", "no_such_pair", "stages_for", "steps_to", "upgrade_text"]
