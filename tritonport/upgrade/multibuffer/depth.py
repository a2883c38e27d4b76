"""How deep the rings of a function are: a parameter on the way from its launches, which each launch fills in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.access import Loop
from tritonport.convert.launch_flags import with_flags
from tritonport.convert.names import Names
from tritonport.convert.parameters import has_default, with_commas
from tritonport.convert.snippets import family
from tritonport.rules_data import load_targets
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.decided import decides, denied
from tritonport.upgrade.dots import called
from tritonport.upgrade.edit import code, renamed
from tritonport.upgrade.facts import Facts
from tritonport.upgrade.multibuffer.callers import argument_names, call_sites, heuristic_of
from tritonport.upgrade.multibuffer.plan import Ring
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.terms import HostNames, Spelled, as_operand

HELPER = "ring_depth_for"
BESIDE = {"sm_100": 8192}
"""Bytes for what is converted and reduced between the layouts that tensor memory is loaded to: attention takes 4096."""


@dataclass(frozen=True)
class Depth:
    """The rings of one function.

    Attributes:
        way: the functions from it up to its launches.
        once: descriptors of tiles that it copies into no ring, or stores in the loops of its rings.
    """

    kernel: Kernel
    rings: Sequence[Ring]
    way: Sequence[Kernel]
    once: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Spelling:
    """What the file calls Gluon's language, Triton, and the function that computes a depth."""

    gl: str
    triton: str
    helper: str
    target: str


def depth_name(module: SourceModule, depths: Sequence[Depth]) -> str:
    """A name for the parameter that no function on the way has for something else."""
    nodes = [kernel.node for depth in depths for kernel in depth.way]
    taken = {node.value for one in nodes for node in walk(one) if isinstance(node, cst.Name)}
    return Names({*taken, *module.bindings.imported, *module.bindings.functions}).fresh("NUM_BUFFERS")


def with_depths(module: SourceModule, depths: Sequence[Depth], name: str, spelling: Spelling) -> cst.Module:
    """The file with the parameter on the way to each function, and what the launches fill in."""
    changed: dict[cst.CSTNode, cst.CSTNode] = {}
    way = list(dict.fromkeys(kernel for depth in depths for kernel in depth.way))
    for kernel in way:
        node = _passing_on(kernel, way, name)
        if call_sites(module, kernel):
            changed[kernel.node] = _with_parameter(node, name, spelling.gl)
        else:
            entries = {name: _entry(module, kernel, depths, name, spelling)}
            changed[kernel.node] = with_flags(
                node, kernel, entries, spelling.gl, spelling.triton, merge=True, default="None"
            )
    found: cst.Module = replaced(module.tree, changed)
    return found


def _entry(module: SourceModule, launched: Kernel, depths: Sequence[Depth], name: str, spelling: Spelling) -> str:
    """What a launch fills in: the depth for all rings that it reaches."""
    reached = [depth for depth in depths if launched in depth.way]
    rings = [ring for depth in reached for ring in depth.rings]
    descriptors = {descriptor: ring.kernel for ring in rings for descriptor, _ in _copied(ring)}
    once = {one: depth.kernel for depth in reached for one in depth.once if one not in descriptors}
    parts = ["args", f'"{name}"', _in_rings(module, launched, rings, spelling.triton)]
    if names := _launched_names(module, launched, once):
        parts.append(f"once={_listed(names)}")
    if stages := _stages(module, launched, rings):
        parts.append(f"num_stages={stages}")
    if iterations := _iterations(module, launched, rings, spelling.triton):
        parts.append(f"iterations={iterations}")
    shared_memory = load_targets()[spelling.target].shared_memory - BESIDE.get(family(spelling.target), 0)
    return f"{spelling.helper}({', '.join([*parts, f'shared_memory={shared_memory}'])})"


def _copied(ring: Ring) -> list[tuple[str, Facts]]:
    """The descriptors of the tiles in a ring, one for each tile, and under which `if`s their launches have them."""
    barriers = ring.loops[0].barriers
    return [(code(step.given["tensor_desc"].value), one.facts) for one in barriers for step in one.loads]


def _in_rings(module: SourceModule, launched: Kernel, rings: Sequence[Ring], triton: str) -> str:
    """The descriptors of the tiles in each place of the rings, as the launch lists them.

    Where a test decides whether a tile is copied, and its descriptor is there anyway, the list asks it: `["a_desc"] +
    (["a_desc"] if args["K"] > 64 else [])`. Loops that follow each other read tiles of one descriptor: those of the
    loop with most count.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for ring in rings:
        found: Counter[tuple[str, str]] = Counter()
        for descriptor, facts in _copied(ring):
            for given in _launched_names(module, launched, {descriptor: ring.kernel}):
                made = heuristic_of(launched, given)
                asked = not (isinstance(made, cst.IfExp) and code(made.orelse) == "None")
                found[given, _condition(module, launched, ring.kernel, facts, triton) if asked else ""] += 1
        counts |= found
    listed: dict[str, list[str]] = {"": []}
    for (given, condition), count in counts.items():
        listed.setdefault(condition, []).extend([given] * count)
    some = [f"({_listed(names)} if {condition} else [])" for condition, names in listed.items() if condition]
    return " + ".join([_listed(listed[""]), *some])


def _condition(module: SourceModule, launched: Kernel, kernel: Kernel, facts: Facts, triton: str) -> str:
    """When a launch has the code under some `if`s of a function; empty for always, and where it cannot tell."""
    host = HostNames(launched, triton, set())
    found: list[str] = []
    for test, holds in sorted(facts):
        node = cst.parse_expression(test)
        above = {
            name: [given for one, given in argument_names(module, kernel, name) if one is launched]
            for name in names_of(node) - {"None"}
        }
        if not all(len(set(names)) == 1 for names in above.values()):
            continue
        try:
            text = host.source(code(renamed(node, {name: names[0] for name, names in above.items()})))
        except Spelled:
            continue
        found.append(as_operand(text) if holds else denied(text))
    return " and ".join(found)


def _launched_names(module: SourceModule, launched: Kernel, names: Mapping[str, Kernel]) -> list[str]:
    """What a launch calls the descriptors of the functions that it reaches; not those made on the way."""
    found = [
        given
        for name, kernel in names.items()
        for above, given in argument_names(module, kernel, name)
        if above is launched
    ]
    return list(dict.fromkeys(found))


def _stages(module: SourceModule, launched: Kernel, rings: Sequence[Ring]) -> str:
    """The number of stages that the loops ask for; empty where they leave it to the launch."""
    if all(loop.loop.kind == "static_range" for ring in rings for loop in ring.loops):
        return "2"  # the launch's number is that of loops that Triton pipelines, which unrolled ones are not
    found: list[str] = []
    for ring in rings:
        for loop in ring.loops:
            hint = loop.loop.stages
            if isinstance(hint, cst.Integer):
                found.append(hint.value)
            elif isinstance(hint, cst.Name):
                above = argument_names(module, ring.kernel, hint.value)
                found += [f'args["{given}"]' for kernel, given in above if kernel is launched]
    found = list(dict.fromkeys(found))
    return found[0] if len(found) < 2 and found else f"max({', '.join(found)})" if found else ""


def _iterations(module: SourceModule, launched: Kernel, rings: Sequence[Ring], triton: str) -> str:
    """The most iterations that a loop of these rings has, where compile-time arguments alone say it of all of them;
    else empty. A ring needs no more places."""
    found: dict[str, None] = {}
    for ring in rings:
        for loop in ring.loops:
            bounds = _counted(loop.loop)
            known = bounds is not None and all(decides(ring.kernel)(one) for one in bounds)
            texts = (
                [_launched_text(module, launched, ring.kernel, one, triton) for one in bounds or ()] if known else []
            )
            if len(texts) != 2 or "" in texts:
                return ""
            found.setdefault(f"{triton}.cdiv({texts[0]}, {texts[1]})")
    return next(iter(found)) if len(found) == 1 else f"max({', '.join(found)})" if found else ""


def _counted(loop: Loop) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """A size and the step through it, of `range(cdiv(size, step))` or `range(0, size, step)`; None for other loops."""
    if loop.stop is None or (loop.start is not None and code(loop.start) != "0"):
        return None
    if loop.step is not None:
        return loop.stop, loop.step
    if not isinstance(loop.stop, cst.Call) or called(loop.stop) != "cdiv" or len(loop.stop.args) != 2:
        return None
    size, step = (one.value for one in loop.stop.args)
    return None if any(one.keyword is not None for one in loop.stop.args) else (size, step)


def _launched_text(
    module: SourceModule, launched: Kernel, kernel: Kernel, node: cst.BaseExpression, triton: str
) -> str:
    """What an expression of a function's arguments is at the launch, as source text; empty where that is not told."""
    above = {
        name: list(dict.fromkeys(given for one, given in argument_names(module, kernel, name) if one is launched))
        for name in names_of(node)
    }
    if not all(len(names) == 1 for names in above.values()):
        return ""
    try:
        text = code(renamed(node, {name: names[0] for name, names in above.items()}))
        return HostNames(launched, triton, set()).source(text)
    except Spelled:
        return ""


def _passing_on(kernel: Kernel, way: Sequence[Kernel], name: str) -> cst.FunctionDef:
    """A function whose calls of the others on the way pass the parameter on."""
    callees = {one.name: len(one.parameters) for one in way if one is not kernel}
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    for call in walk(kernel.node.body):
        count = callees.get(dotted(call.func) or "") if isinstance(call, cst.Call) else None
        if count is None:
            continue
        assert isinstance(call, cst.Call)
        swaps[call] = _with_argument(call, name, count)
    found: cst.FunctionDef = kernel.node.with_changes(body=replaced(kernel.node.body, swaps))
    return found


def _with_argument(call: cst.Call, name: str, count: int) -> cst.Call:
    positional = len(call.args) == count and all(argument.keyword is None for argument in call.args)
    added = cst.Arg(cst.Name(name))
    if not positional:
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        added = added.with_changes(keyword=cst.Name(name), equal=equal)
    if not call.args:
        return call.with_changes(args=[added])
    *others, last = call.args
    # One argument to a line: the new one too.
    between = others[-1].comma if others else cst.MaybeSentinel.DEFAULT
    if not isinstance(between, cst.Comma):
        between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    # What stands in front of the closing bracket stays there.
    added = added.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*others, last, added])


def _with_parameter(node: cst.FunctionDef, name: str, gl: str) -> cst.FunctionDef:
    original = node.params.params
    default = cst.Name("None") if has_default(original) else None
    added = cst.Param(cst.Name(name), cst.Annotation(cst.parse_expression(f"{gl}.constexpr")), default=default)
    params = with_commas([*original, added], original)
    return node.with_changes(params=node.params.with_changes(params=params))


def _listed(names: Iterable[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"[{quoted}]"


__all__ = ["HELPER", "Depth", "Spelling", "depth_name", "with_depths"]
