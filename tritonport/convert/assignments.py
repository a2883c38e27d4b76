"""Statements that are not blocks: assignments, once per copy of the variable, returns, and calls for their effect."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.operators import AUGMENTED, BINARY
from tritonport.analysis.values import Value
from tritonport.convert.syntax import assignment, element, operand
from tritonport.convert.variables import VariableWriter
from tritonport.convert.wants import known, result_of, same_want, tensor_layouts

_BINARY_OF = {name: operator for operator, name in BINARY.items()}


class AssignmentWriter(VariableWriter):
    """Writes one small statement."""

    def small(self, small: cst.BaseSmallStatement) -> list[cst.BaseSmallStatement]:
        if isinstance(small, cst.Expr):
            return [small.with_changes(value=self.emit(small.value))]
        if isinstance(small, cst.Assign):
            return self._assign(small)
        if isinstance(small, cst.AnnAssign):
            return self._annotated(small)
        if isinstance(small, cst.AugAssign):
            return self._augmented(small)
        if isinstance(small, cst.Return):
            return [self._return(small)]
        if isinstance(small, cst.Assert):
            return [small.with_changes(test=self.emit(small.test))]
        return [small]

    def _reached(self, node: cst.CSTNode) -> bool:
        return any(node in frame.values or node in frame.targets for frame in self.frames)

    def _assign(self, small: cst.Assign) -> list[cst.BaseSmallStatement]:
        if not self._reached(small.value):
            return [small.with_changes(value=self.module.renamed(small.value))]
        if len(small.targets) > 1:
            plain = [target.target for target in small.targets]
            if any(len(self.copies(target)) > 1 for target in plain if isinstance(target, cst.Name)):
                single: list[cst.BaseSmallStatement] = []
                for one in small.targets:
                    single += self._assign(small.with_changes(targets=[one]))
                return single
        target = small.targets[-1].target
        if isinstance(target, cst.Name):
            web = self.web(target)
            if web is None or not web.is_tensor:
                return [small.with_changes(value=self._valued(small.value, target))]
            written: list[cst.BaseSmallStatement] = []
            for want, name in self.copies(target):
                with self.writing(web, name), self.adding(small, web) as adds:
                    value = self.emit(small.value, want)
                value = value if adds else self.stored(web, value)
                targets = [*small.targets[:-1], small.targets[-1].with_changes(target=target.with_changes(value=name))]
                written.append(small.with_changes(targets=targets, value=value))
            return written + self.conversions(target, web)
        if isinstance(target, (cst.Tuple, cst.List)):
            return self._unpack(small, target)
        return [small.with_changes(value=self.emit(small.value))]

    def _valued(self, value: cst.BaseExpression, target: cst.Name) -> cst.BaseExpression:
        definitions = [frame.targets.get(target) for frame in self.frames]
        items = [definition.value.items if definition is not None else () for definition in definitions]
        if isinstance(value, (cst.Tuple, cst.List)) and any(items):
            return self.spelled(value, items)
        return self.emit(value)

    def spelled(self, node: cst.Tuple | cst.List, items: Sequence[Sequence[Value]]) -> cst.BaseExpression:
        """A tuple that is spelled out, with its items in the layouts that the tuple's have, per frame."""
        elements = []
        for position, item in enumerate(node.elements):
            want = tensor_layouts(row[position] if position < len(row) else None for row in items)
            elements.append(item.with_changes(value=self.emit(item.value, known(want))))
        return node.with_changes(elements=elements)

    def _unpack(self, small: cst.Assign, target: cst.Tuple | cst.List) -> list[cst.BaseSmallStatement]:
        names = [element.value for element in target.elements]
        value = small.value
        after: list[cst.BaseSmallStatement] = []
        if (
            isinstance(value, (cst.Tuple, cst.List))
            and len(value.elements) == len(names)
            and all(isinstance(name, cst.Name) for name in names)
        ):
            left: list[cst.BaseElement] = []
            right: list[cst.BaseElement] = []
            for name, item, slot in zip(names, value.elements, target.elements, strict=True):
                assert isinstance(name, cst.Name)
                web = self.web(name)
                copies = self.copies(name)
                for index, (want, copy) in enumerate(copies):
                    written = self.emit(item.value, want)
                    left.append(element(slot, name.with_changes(value=copy), index + 1 < len(copies)))
                    right.append(element(item, written, index + 1 < len(copies)))
                if web is not None:
                    after += self.conversions(name, web)
            if not left:
                return [small]  # nothing has asked for any of them yet
            new_target = target.with_changes(elements=left)
            return [
                small.with_changes(
                    targets=[*small.targets[:-1], small.targets[-1].with_changes(target=new_target)],
                    value=value.with_changes(elements=right),
                ),
                *after,
            ]
        written_value = self.emit(value)
        for name in names:
            if isinstance(name, cst.Name):
                after += self._after_unpack(name)
        return [small.with_changes(value=written_value), *after]

    def _after_unpack(self, name: cst.Name) -> list[cst.BaseSmallStatement]:
        web = self.web(name)
        if web is None or not web.is_tensor:
            return []
        values = [frame.targets[name].value if name in frame.targets else None for frame in self.frames]
        written: list[cst.BaseSmallStatement] = []
        if web.expensive:
            converted = self.coerce(cst.Name(name.value), tensor_layouts(values), web.bound, values)
            if not isinstance(converted, cst.Name):
                written.append(assignment(name.value, converted))
        return written + self.conversions(name, web)

    def _annotated(self, small: cst.AnnAssign) -> list[cst.BaseSmallStatement]:
        annotation = small.annotation.with_changes(annotation=self.module.language_name(small.annotation.annotation))
        value = self.emit(small.value) if small.value is not None else None
        return [small.with_changes(annotation=annotation, value=value)]

    def _augmented(self, small: cst.AugAssign) -> list[cst.BaseSmallStatement]:
        target = small.target
        values = self.values(small)
        if not isinstance(target, cst.Name) or self.first(small) is None:
            return [small.with_changes(value=self.module.renamed(small.value))]
        web = self.web(target)
        if web is None or not web.is_tensor:
            return [small.with_changes(value=self.emit(small.value))]
        written: list[cst.BaseSmallStatement] = []
        for want, name in self.copies(target):
            focus = self.focus(values, want)
            if isinstance(small.operator, cst.AddAssign):
                with self.adding(small, web) as adds:
                    combined_dot = self.added_dot(values, target, small.value, focus)
                if combined_dot is not None:
                    combined_dot = self.coerce(combined_dot, result_of(values, focus), want)
                    # A dot of another layout than the sum's does not add to it where it stands.
                    written.append(assignment(name, combined_dot if adds else self.stored(web, combined_dot)))
                    continue
            with self.writing(web, name):
                left = self.operand(target, values, focus)
                right = self.operand(small.value, values, focus)
            result = result_of(values, focus)
            direct = isinstance(left, cst.Name) and left.value == name
            if direct and (want is None or same_want(result, want)):
                written.append(small.with_changes(target=target.with_changes(value=name), value=right))
                continue
            operator = _BINARY_OF[AUGMENTED[type(small.operator)]]
            combined: cst.BaseExpression = cst.BinaryOperation(left, operator(), operand(right))
            combined = self.stored(web, self.coerce(combined, result, want, values))
            written.append(assignment(name, combined))
        return written + self.conversions(target, web)

    def _return(self, small: cst.Return) -> cst.Return:
        if small.value is None or not self._reached(small.value):
            return small
        results = [
            frame.caller.values.get(frame.call) if frame.caller is not None and frame.call is not None else None
            for frame in self.frames
        ]
        if isinstance(small.value, (cst.Tuple, cst.List)):
            items = [result.items if result is not None else () for result in results]
            return small.with_changes(value=self.spelled(small.value, items))
        return small.with_changes(value=self.emit(small.value, known(tensor_layouts(results))))
