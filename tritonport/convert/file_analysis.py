"""What the analysis says of the kernels of one file, and of the helpers that they call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tritonport.analysis.dims import canonical
from tritonport.analysis.frame import Frame
from tritonport.analysis.interpreter import Interpreter
from tritonport.analysis.pinned import Pinned
from tritonport.analysis.terms import Root, Term, root_of
from tritonport.analysis.values import Refusal
from tritonport.convert.alignment import Alignment, tile_names
from tritonport.convert.callers import Callers
from tritonport.convert.places import Places
from tritonport.layouts.recover.claims import RecoveredLayouts
from tritonport.layouts.solver import collect, frames_of, recompute_addresses, solve
from tritonport.layouts.stores import split_types, split_unaligned
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule


@dataclass
class Analysed:
    kernel: Kernel
    frame: Frame
    integers: set[str]


class FileAnalysis:
    """The kernels of one file with their values and layouts.

    Attributes:
        kernels: those that are analysed, in order.
        helper_frames: per helper, the calls of it that its Gluon versions have to serve.
        not_recovered: kernels that cannot be written with the layouts they are given, with the reason.
    """

    def __init__(self, module: SourceModule, recovered: Mapping[str, RecoveredLayouts] | None = None) -> None:
        self.module = module
        self.callers = Callers(module)
        self.kernels: dict[Kernel, Analysed] = {}
        self.helper_frames: dict[Kernel, list[Frame]] = {}
        self.not_recovered: dict[Kernel, Refusal] = {}
        self._recovered = recovered or {}
        self._places = Places()
        self._integers: dict[Frame, set[str]] = {}
        self._terms_by_shape: dict[Frame, dict[tuple[str, ...], Term]] = {}

    def clear(self) -> None:
        """Forget the kernels: they are analysed again."""
        self.kernels.clear()
        self.helper_frames.clear()
        self._integers.clear()
        self._terms_by_shape.clear()

    def analyse(self, kernel: Kernel) -> None:
        """Walk a kernel and all it calls, and solve for its layouts.

        Raises:
            Refusal: it does something that the port has no form for.
        """
        interpreter = Interpreter(self.module)
        frame = interpreter.run(kernel)
        frames = list(frames_of(frame))
        values = solve(frames, self._pins(kernel, frames))
        self.kernels[kernel] = Analysed(kernel, frame, interpreter.integers)
        self._integers[frame] = interpreter.integers
        alignment = self.alignment_of(frame, (root_of(value.focus) for value in values if value.focus is not None))
        split = split_types(values)
        split += split_unaligned(values, alignment.depends)
        recompute_addresses(split)
        self._add_helpers(frames, interpreter.integers)

    def all_frames(self) -> list[Frame]:
        """The frames of helpers and of kernels."""
        helpers = [frame for frames in self.helper_frames.values() for frame in frames]
        return [*helpers, *(analysed.frame for analysed in self.kernels.values())]

    def analyse_alone(self, kernel: Kernel) -> Frame:
        """Walk a function that is passed on, with the helpers that it calls."""
        interpreter = Interpreter(self.module)
        frame = interpreter.run(kernel)
        frames = list(frames_of(frame))
        solve(frames)
        self._add_helpers(frames, interpreter.integers)
        return frame

    def _add_helpers(self, frames: list[Frame], integers: set[str]) -> None:
        """The calls of helpers among the frames of a function, whose own is the first."""
        for inner in frames[1:]:
            self._integers[inner] = integers
            self.helper_frames.setdefault(inner.kernel, []).append(inner)

    def recovered(self, kernel: Kernel) -> RecoveredLayouts | None:
        """The layouts that a kernel is given, unless it cannot be written with them."""
        return None if kernel in self.not_recovered else self._recovered.get(kernel.name)

    def _pins(self, kernel: Kernel, frames: list[Frame]) -> dict[int, Pinned]:
        recovered = self.recovered(kernel)
        if recovered is None:
            return {}
        placed = self._places.values(frames)
        return {id(value): recovered.layouts[chain] for chain, *_, value in placed if chain in recovered.layouts}

    def integers_of(self, frame: Frame) -> set[str]:
        return self._integers.get(frame, set())

    def alignment_of(self, frame: Frame, roots: Iterable[Root]) -> Alignment:
        """What a launch of a kernel can say of how its rows lie; `roots` are the kernel's layouts."""
        parameters = {parameter.name for parameter in frame.kernel.parameters if not parameter.constexpr}
        compile_time = {parameter.name for parameter in frame.kernel.parameters} - parameters
        return Alignment(
            frozenset(self.integers_of(frame) & parameters),
            frozenset(compile_time - tile_names(roots)),
            self.callers.may_specialise(frame.kernel),
            frozenset(compile_time),
        )

    def terms_by_shape(self, frame: Frame) -> dict[tuple[str, ...], Term]:
        """Some layout term for each shape that a kernel works on; the caller may add to it."""
        root = frame.chain[-1]
        if root not in self._terms_by_shape:
            self._terms_by_shape[root] = self._read_terms(root)
        return dict(self._terms_by_shape[root])

    @staticmethod
    def _read_terms(root: Frame) -> dict[tuple[str, ...], Term]:
        found: dict[tuple[str, ...], Term] = {}
        for value in collect(frames_of(root)):
            if value.is_tensor and value.focus is not None and value.op not in ("store", "parameter", "call"):
                found.setdefault(tuple(canonical(size) for size in value.shape), value.term)
        return found
