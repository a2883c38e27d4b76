"""What the stage does with a kernel: its tiles, and what is left."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Access, Form
from tritonport.source.kernel import Kernel
from tritonport.source.walk import walk
from tritonport.upgrade.dots import Operand, cast_of
from tritonport.upgrade.edit import code
from tritonport.upgrade.legality import Refused
from tritonport.upgrade.tma.assume import Assumed
from tritonport.upgrade.tma.boxes import Box
from tritonport.upgrade.tma.in_place import Beside, Turned
from tritonport.upgrade.tma.switches import Switch


@dataclass(frozen=True)
class Choice:
    """Two loads of one tile, one in each branch of an `if` on what the launch knows.

    Attributes:
        test: its condition, as source text.
        box: the box that the load in the other branch reads; the tile's own is that of the first.
    """

    node: cst.If
    test: str
    other: Access
    box: Box


@dataclass(frozen=True)
class Lying:
    """The two ways in which one matrix may lie in memory, of which a compile-time argument chooses.

    Attributes:
        tiles: as the branches of the `if` on it load the matrix.
        orders: of its dimensions in each, the contiguous one first, as source text.
    """

    tiles: tuple[Tile, Tile]
    orders: tuple[str, str]


@dataclass(frozen=True)
class Tile:
    """A load or a store that goes through a descriptor.

    Attributes:
        coordinates: per side of the box, as source text of the kernel.
        order: the dimensions of the tile as the descriptor has them, the contiguous one last; None where the strides of
            a launch decide between the two orders of a matrix, of the last two dimensions.
        operand: how dots read a loaded tile.
        choice: the `if` whose two branches both load the tile, with other masks: it is copied once, before the `if`.
        switches: the `if`s on compile-time values that it stands under; a launch that goes another way needs no
            descriptor.
        inside: those of the switches that stand in the loops around it: its place is made before them.
        optional: it stands under other `if`s, so that its pointer may be None where no program comes to it.
        turns: it turns a phase of its own: some iterations of its loop copy it, and others do not.
        computed: the tests of `if`s on compile-time values that compute with it, in registers; empty without one.
        beside: the call that puts it where dots read it, if other statements read it in registers.
        filled: what it stores is a number, which fills it.
        turned: the statement that turns it for the dots, which read it turned where it was copied.
        lying: how it lies in memory in each branch of its choice, where that differs; its order is None then.
    """

    access: Access
    box: Box
    coordinates: tuple[str, ...]
    order: tuple[int, ...] | None
    operand: Operand
    choice: Choice | None = None
    switches: tuple[Switch, ...] = ()
    inside: tuple[Switch, ...] = ()
    optional: bool = False
    turns: bool = False
    computed: str = ""
    beside: Beside | None = None
    filled: bool = False
    turned: Turned | None = None
    lying: Lying | None = None

    @property
    def read_as(self) -> str:
        """The name by which a loaded tile is read."""
        return self.turned.name if self.turned is not None else self.access.target

    @property
    def layout(self) -> str:
        """The layout that the tile has in registers, as source text."""
        assert isinstance(self.access.address, Form) and self.access.address.layout is not None
        return self.access.address.layout


@dataclass(frozen=True)
class KernelPlan:
    """What the stage does with one kernel.

    Attributes:
        assumed: what holds of the launches whose tiles are copied.
        form: the kernel with the branches that these launches take, of which the copies are a part.
        only: branches without which there are no copies, where every copy stands under an `if`.
        opened: functions of the file whose bodies stand in the form where they were called.
        inside: what is refused with such bodies in it, where they are not opened as that gains nothing.
        apart: the arguments that loops with copies read, and others that these loops write to; None
            where there are none.
    """

    kernel: Kernel
    loads: tuple[Tile, ...]
    stores: tuple[Tile, ...]
    refused: tuple[Refused, ...]
    assumed: tuple[Assumed, ...]
    form: Kernel
    only: tuple[Switch, ...] = ()
    opened: frozenset[str] = frozenset()
    inside: tuple[Refused, ...] = ()
    apart: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def copied(self) -> list[Access]:
        """The accesses that become copies; of a tile that two branches load, both."""
        found: list[Access] = []
        for tile in (*self.loads, *self.stores):
            found.append(tile.access)
            found += [tile.choice.other] if tile.choice is not None else []
            found += [one.access for one in tile.lying.tiles] if tile.lying is not None else []
        return found

    @property
    def whole(self) -> bool:
        """Whether no load of a dot's operand in a loop stays as it was, and none gets another type before the dot.

        A tile of another type goes through registers: TMA spares it nothing, and a barrier for its place costs more
        than groups of cp.async do. These take no tile under an `if` of the loop, so then TMA takes all.
        """
        stays = any(one.access.kind == "load" and one.access.loops for one in self.refused)
        switched = any(tile.access.loops and tile.access.branch for tile in self.loads)
        return not stays and (switched or not any(_is_converted(tile.access) for tile in self.loads))


def _is_converted(access: Access) -> bool:
    """Whether a loop gives a tile that it loads another type: `w.to(x.dtype)`."""
    body = access.loops[-1].node.body if access.loops else cst.IndentedBlock([])
    nodes = list(walk(body))
    if not any(isinstance(node, cst.Assign) and node.value is access.node for node in nodes):
        return False  # its name stands for what is computed with it
    casts = (cast for node in nodes if isinstance(node, cst.BaseExpression) and (cast := cast_of(node)) is not None)
    return any(name.value == access.target and code(dtype) != f"{name.value}.dtype" for name, dtype in casts)


__all__ = ["Choice", "KernelPlan", "Tile"]
