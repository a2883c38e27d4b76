"""Writing a kernel whose tiles go through tensor descriptors: three functions take the place of one.

The kernel of the launches keeps its name and gets a descriptor for each tile, which a heuristic makes of the other
arguments, or None where the hardware cannot copy such a tile. It calls the function with the body that it had, or the
one with the copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from tritonport.convert.launch_flags import with_flags
from tritonport.convert.names import Names, stem
from tritonport.source.walk import walk
from tritonport.upgrade.tma.body import BodyWriter, Spelling
from tritonport.upgrade.tma.boxes import positive_of
from tritonport.upgrade.tma.dead import without_unread
from tritonport.upgrade.tma.host import descriptor_text
from tritonport.upgrade.tma.left import with_left_layouts
from tritonport.upgrade.tma.plan import KernelPlan, Tile


@dataclass(frozen=True)
class FileNames:
    """What the file calls Gluon, Triton and the emitted functions.

    Attributes:
        load, store: the copies between global and shared memory under the names of the Triton that is written for.
        computing: functions of the file that only compute.
    """

    gluon: str
    gl: str
    triton: str
    load: str
    store: str
    helpers: Mapping[str, str]
    computing: frozenset[str]
    taken: set[str] = field(default_factory=set)


def with_descriptors(plan: KernelPlan, file: FileNames, module: cst.Module) -> list[cst.FunctionDef]:
    """The function with pointers, the one with descriptors, and the kernel that chooses between them."""
    plan = _without_known(plan)
    kernel = plan.kernel
    node = kernel.node
    names = Names({item.value for item in walk(node) if isinstance(item, cst.Name)} | file.taken)
    pointers, tiles = (names.fresh(f"{kernel.name}_{suffix}") for suffix in ("pointers", "tiles"))
    file.taken.update((pointers, tiles))
    descriptors = _named(plan, names, file)
    plain = cst.Decorator(cst.parse_expression(f"{file.gluon}.jit"))
    blank = [cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)]
    before = _by_position(node).with_changes(name=cst.Name(pointers), decorators=[plain])
    spelling = Spelling(
        file.gl, file.load, file.store, file.helpers, {key: name for key, (name, _) in descriptors.items()}
    )
    body = BodyWriter(plan, spelling, names, module).write()
    used = dict.fromkeys(name for name, _ in descriptors.values())
    added = [cst.Param(cst.Name(name)) for name in used]
    given = _by_position(node)
    copied = given.with_changes(
        name=cst.Name(tiles),
        decorators=[plain],
        leading_lines=blank,
        body=body,
        params=given.params.with_changes(params=_one_to_a_line([*added, *_undefaulted(given)], node)),
    )
    copied = without_unread(copied, file.computing)
    if "left_layout" in file.helpers:
        copied = with_left_layouts(copied, file.helpers["left_layout"])
    copied = copied.with_changes(
        params=copied.params.with_changes(params=_one_to_a_line(list(copied.params.params), node))
    )
    entry = _entry(plan, file, module, descriptors, before, copied, blank)
    return [before, copied, entry]


def _without_known(plan: KernelPlan) -> KernelPlan:
    """A plan that asks for no sign which a descriptor says that every copy needs."""
    needed = [tile.box for tile in (*plan.loads, *plan.stores) if not tile.switches and not tile.optional]
    known = {name for box in needed for name in positive_of(box.inner, box.outer)}

    def lean(tile: Tile) -> Tile:
        asked = tuple(one for one in tile.box.checked if one not in known)
        return tile if asked == tile.box.checked else replace(tile, box=replace(tile.box, checked=asked))

    return replace(plan, loads=tuple(map(lean, plan.loads)), stores=tuple(map(lean, plan.stores)))


def _named(plan: KernelPlan, names: Names, file: FileNames) -> dict[int, tuple[str, str]]:
    """Per tile, by its access, the name of its descriptor and what makes it; equal ones are one.

    A tile that some launches leave out goes through the descriptor of one that all of them need, where they are alike.
    """
    always = [one.condition for one in plan.assumed]
    tiles = (*plan.loads, *plan.stores)
    needed = {_made(tile, plan, file, always) for tile in tiles if not tile.switches and not tile.optional}
    found: dict[int, tuple[str, str]] = {}
    known: dict[str, str] = {}
    made: dict[str, tuple[Tile, Sequence[str]]] = {}
    for tile in tiles:
        conditions = [*always, *(one.condition for one in tile.switches)]
        if tile.optional and f'args["{tile.box.base}"] is not None' not in conditions:
            conditions.append(f'args["{tile.box.base}"] is not None')
        text = _made(tile, plan, file, always)
        if text in needed:
            conditions = always
        else:
            text = _made(tile, plan, file, conditions)
        if text not in known:
            wanted = tile.access.target or stem(tile.box.base)
            known[text] = names.fresh(f"{wanted}_desc")
            made[known[text]] = tile, conditions
        found[id(tile.access.node)] = (known[text], text)
    return _asked_once(found, made, plan, file)


def _asked_once(
    found: Mapping[int, tuple[str, str]],
    made: Mapping[str, tuple[Tile, Sequence[str]]],
    plan: KernelPlan,
    file: FileNames,
) -> dict[int, tuple[str, str]]:
    """The descriptors, where the signs that one asks for, which every launch by tiles needs, are asked for once.

    There is none where a loop writes to memory of which copies run ahead: that of a load which every launch needs is
    asked, else each of them. `made`: per name of a descriptor its tile and what has to hold of the launch.
    """
    always = [tile for tile in (*plan.loads, *plan.stores) if not tile.switches and not tile.optional]
    needed = dict.fromkeys(found[id(tile.access.node)][0] for tile in always)
    loads = [found[id(tile.access.node)][0] for tile in plan.loads]
    test = ""
    if plan.apart is not None:
        read, written = (", ".join(f'"{name}"' for name in names) for names in plan.apart)
        test = f"{file.helpers['apart']}(args, [{read}], [{written}])"
    guarded = [name for name in loads if name in needed][:1] or loads
    asked: set[str] = set()
    texts: dict[str, str] = {}
    for name in (*needed, *(name for name in made if name not in needed)):
        tile, conditions = made[name]
        checked = tuple(one for one in tile.box.checked if one not in asked)
        asked |= {one for one in checked if one.isidentifier()} if name in needed else set()
        tile = replace(tile, box=replace(tile.box, checked=checked))
        texts[name] = _made(tile, plan, file, [*conditions, *([test] if test and name in guarded else [])])
    return {key: (name, texts[name]) for key, (name, _) in found.items()}


def _made(tile: Tile, plan: KernelPlan, file: FileNames, conditions: Sequence[str]) -> str:
    return descriptor_text(tile, plan.kernel, file.triton, file.helpers, conditions)


def _entry(
    plan: KernelPlan,
    file: FileNames,
    module: cst.Module,
    names: Mapping[int, tuple[str, str]],
    before: cst.FunctionDef,
    copied: cst.FunctionDef,
    blank: Sequence[cst.EmptyLine],
) -> cst.FunctionDef:
    node = plan.kernel.node
    entries = dict(names.values())
    missing = _missing(plan, names)
    calls = [f"{one.name.value}({', '.join(p.name.value for p in one.params.params)})" for one in (before, copied)]
    text = f"if {missing}:\n    {calls[0]}\nelse:\n    {calls[1]}\n"
    statement = cst.parse_statement(text, module.config_for_parsing)
    assert isinstance(node.body, cst.IndentedBlock)
    docstring = node.body.body[:1] if node.get_docstring() is not None else []
    body = node.body.with_changes(body=[*docstring, statement])
    entry = node.with_changes(body=body, leading_lines=blank)
    shared = file.helpers["launch_heuristics"]
    return with_flags(entry, plan.kernel, entries, file.gl, file.triton, merge=True, constexpr=False, shared=shared)


def _missing(plan: KernelPlan, names: Mapping[int, tuple[str, str]]) -> str:
    """When a launch takes the pointers: it has no descriptor where it comes to a copy."""
    tests: dict[str, str] = {}
    for tile in (*plan.loads, *plan.stores):
        name = names[id(tile.access.node)][0]
        asked = [one.in_kernel for one in tile.switches]
        tests[f"({' and '.join([*asked, f'{name} is None'])})" if asked else f"{name} is None"] = name
    return " or ".join(
        test for test, name in tests.items() if test == f"{name} is None" or f"{name} is None" not in tests
    )


def _by_position(node: cst.FunctionDef) -> cst.FunctionDef:
    """A function whose parameters are all given by position, those behind `*` too: the entry passes every one."""
    if not node.params.kwonly_params:
        return node
    every = [*_undefaulted(node), *(_without_default(one) for one in node.params.kwonly_params)]
    params = node.params.with_changes(
        params=_one_to_a_line(every, node), kwonly_params=[], star_arg=cst.MaybeSentinel.DEFAULT
    )
    return node.with_changes(params=params)


def _undefaulted(node: cst.FunctionDef) -> list[cst.Param]:
    """The parameters without their defaults: the caller passes all of them."""
    return [_without_default(one) for one in node.params.params]


def _without_default(param: cst.Param) -> cst.Param:
    return param.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)


def _one_to_a_line(params: list[cst.Param], node: cst.FunctionDef) -> list[cst.Param]:
    """Parameters laid out as the kernel has its own, without the comments behind them."""
    given = node.params.params
    first = given[0].comma if given else cst.MaybeSentinel.DEFAULT
    space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if (
        len(given) > 1
        and isinstance(first, cst.Comma)
        and isinstance(first.whitespace_after, cst.ParenthesizedWhitespace)
    ):
        line = first.whitespace_after.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        space = first.with_changes(whitespace_after=first.whitespace_after.with_changes(first_line=line))
    bare = cst.SimpleWhitespace("")
    commas = [one.with_changes(comma=_kept_comment(one, space), whitespace_after_param=bare) for one in params]
    last = given[-1].comma
    if isinstance(last, cst.Comma) and isinstance(last.whitespace_after, cst.ParenthesizedWhitespace):
        line = last.whitespace_after.first_line.with_changes(comment=None, whitespace=bare)
        last = last.with_changes(whitespace_after=last.whitespace_after.with_changes(first_line=line))
    return [*commas[:-1], commas[-1].with_changes(comma=last)] if commas else []


def _kept_comment(param: cst.Param, space: cst.Comma) -> cst.Comma:
    """The comma of a parameter whose comment is behind it, else a plain one."""
    own = param.comma
    if not isinstance(own, cst.Comma) or not isinstance(own.whitespace_after, cst.ParenthesizedWhitespace):
        return space
    comment = own.whitespace_after.first_line
    if comment.comment is None or not isinstance(space.whitespace_after, cst.ParenthesizedWhitespace):
        return space
    return space.with_changes(whitespace_after=space.whitespace_after.with_changes(first_line=comment))


__all__ = ["FileNames", "Tile", "with_descriptors"]
