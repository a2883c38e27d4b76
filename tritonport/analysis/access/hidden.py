"""Names that mean something else inside of a loop: what is known by the index of a loop that another one hides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tritonport.analysis.access.forms import Axis, Condition, Each, Form, Mask, Opaque, Several, Value
from tritonport.analysis.access.indexed import polynomial
from tritonport.analysis.dims import Dim


class Hiding:
    """A loop over `index`: an outer index of that name, an argument of that name, and how often an outer loop of that
    name has gone round are numbers without a name in it.

    Args:
        origins: what stands behind an atom that is one of several results.
    """

    def __init__(self, index: str, origins: Mapping[str, str]) -> None:
        self.index, self.origins = index, origins
        # `iteration of k` is about `k`, and not about `iteration`, which is the index of a `while`.
        self.word = re.compile(rf"(?<!\w){re.escape(index)}(?!\w)(?! of )")

    def seen(self, environment: Mapping[str, Value]) -> dict[str, Value]:
        """What names are inside of the loop."""
        return {name: self._value(value) for name, value in environment.items()}

    def is_about(self, condition: Condition) -> bool:
        """Whether a comparison of numbers is about what is hidden."""
        return any(self._hides(atom) for form in (condition.form, condition.bound) for atom in _atoms(form))

    def _hides(self, atom: str) -> bool:
        return any(self.word.search(text) is not None for text in (atom, self.origins.get(atom, "")))

    def _value(self, value: Value) -> Value:
        if isinstance(value, Form):
            return self._form(value)
        if isinstance(value, Mask):
            made = (replace(one, form=self._form(one.form), bound=self._form(one.bound)) for one in value.conditions)
            return replace(value, conditions=tuple(made))
        if isinstance(value, Several):
            return Several(tuple(map(self._value, value.items)))
        if isinstance(value, Each):
            return Each(lambda place: self._value(value.item(place)))
        assert isinstance(value, Opaque)
        return value if value.number is None else replace(value, number=self._form(value.number))

    def _form(self, form: Form) -> Form:
        if not any(map(self._hides, _atoms(form))):
            return form
        axes = tuple(None if axis is None else self._axis(axis) for axis in form.axes)
        return replace(form, offset=self._dim(form.offset), axes=axes)

    def _axis(self, axis: Axis) -> Axis:
        return replace(
            axis,
            stride=self._dim(axis.stride),
            start=self._dim(axis.start),
            wrap=None if axis.wrap is None else self._dim(axis.wrap),
            clamp=None if axis.clamp is None else self._dim(axis.clamp),
            parts=tuple(map(self._dim, axis.parts)),
        )

    def _dim(self, dim: Dim) -> Dim:
        found = {tuple(sorted(map(self._atom, key))): value for key, value in dim.terms}
        return polynomial(found)

    def _atom(self, atom: str) -> str:
        return f"{atom} outside of {self.index}" if self._hides(atom) else atom


def _atoms(form: Form) -> Iterator[str]:
    yield from form.offset.atoms()
    for axis in form.axes:
        if axis is not None:
            parts = (axis.stride, axis.start, axis.wrap, axis.clamp, *axis.parts)
            yield from (atom for part in parts if part is not None for atom in part.atoms())


__all__ = ["Hiding"]
