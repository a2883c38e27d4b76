"""Abstract interpretation of kernels: a walk over a function once per call that reaches it.

Values are symbolic. Loops are walked until the kinds of the values they carry stop changing. Where a test is known (an
argument that is `None`, a flag a helper was called with) only the branch that runs is read; otherwise both are, and
their definitions are merged.
"""

from __future__ import annotations

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.frame import Definition, Environment, Frame
from tritonport.analysis.loops import MAX_ROUNDS, Loops
from tritonport.analysis.merging import merge_values
from tritonport.analysis.values import Kind, Operand, Refusal, Value, constant, none, scalar
from tritonport.source.embedded import launch_facts
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule

MAX_CALL_DEPTH = 16


class Interpreter(Loops):
    """Walks the kernels of one module. `frame` and `environment` are those of the function being read."""

    def __init__(self, module: SourceModule) -> None:
        super().__init__(module)
        self.call_depth = 0

    def run(self, kernel: Kernel) -> Frame:
        """Read a kernel as it is launched: parameters are unknown scalars, pointers or constexprs.

        It is read again while something is learned of its descriptors that an earlier line could have used.
        """
        for _ in range(MAX_ROUNDS):
            self.descriptors.changed = False
            frame = self._read(kernel)
            if not self.descriptors.changed:
                break
        return frame

    def _read(self, kernel: Kernel) -> Frame:
        frame = Frame(kernel)
        environment: Environment = {}
        for parameter in kernel.parameters:
            if parameter.star:
                raise Refusal("TP105", f"a kernel parameter *{parameter.name}", kernel.node)
            if parameter.constexpr:
                value = Value(
                    Kind.CONSTEXPR,
                    dim=dims.symbol(parameter.name),
                    factor=strides.argument(parameter.name, compile_time=True),
                    multiples=frozenset({parameter.name}),
                )
            else:
                name = parameter.name
                value = scalar(strides.argument(name), (name,), frozenset({name}))
            definition = Definition(parameter.name, value, "parameter", frame)
            environment[parameter.name] = frame.parameters[parameter.name] = definition
        self._launched(kernel, frame)
        with self.reading(kernel.module):
            self._body(frame, environment)
        return frame

    def _launched(self, kernel: Kernel, frame: Frame) -> None:
        """What the file says of the arguments beside the parameters: which are numbers, which are constants."""
        facts = launch_facts(kernel)
        self.integers |= facts.integers
        for name, definition in frame.parameters.items():
            if facts.types.get(name) == "constexpr" and definition.value.kind is Kind.SCALAR:
                factor = strides.argument(name, compile_time=True)
                definition.value = Value(Kind.CONSTEXPR, dim=dims.symbol(name), factor=factor)

    def inline(self, kernel: Kernel, call: cst.Call, arguments: dict[str, Value], variant: bool = False) -> Value:
        """Read a helper for one call and return what the call gives back."""
        if self.call_depth >= MAX_CALL_DEPTH:
            raise Refusal("TP105", f"{kernel.name} calls itself", call)
        caller = self.frame
        frame = Frame(kernel, caller=caller, call=call, depth=self.depth)
        if variant:
            caller.variants[call].append(frame)
        else:
            caller.calls[call] = frame
        environment: Environment = {}
        for parameter in kernel.parameters:
            given = arguments.get(parameter.name)
            if given is None:
                if parameter.default is None:
                    raise Refusal("TP105", f"{kernel.name} is called without {parameter.name}", call)
                with self.reading(kernel.module):
                    given = self.module_value(parameter.default)
            definition = Definition(parameter.name, self._boundary(given, "parameter", call), "parameter", frame)
            if parameter.constexpr and given.kind is Kind.CONSTEXPR:
                definition.value = given
            environment[parameter.name] = frame.parameters[parameter.name] = definition
        saved = self.frame, self.environment, self.depth
        self.call_depth += 1
        try:
            with self.reading(kernel.module):
                self._body(frame, environment)
        except Refusal as refusal:
            if kernel.module is not caller.kernel.module:
                raise self._from_elsewhere(refusal, kernel, call) from None
            raise
        finally:
            self.call_depth -= 1
            self.frame, self.environment, _ = saved
            self.depth = saved[2]
        returned = [value for _, value in frame.returns]
        if not returned:
            return none()
        if len({len(value.items) for value in returned if value.kind is Kind.TUPLE}) > 1:
            # Which of them comes back is decided by an argument; the caller unpacks the number it expects.
            choices = tuple(self._boundary(value, "call", call) for value in returned)
            return Value(Kind.OBJECT, op="choices", items=choices)
        result = merge_values(returned, "return", self.depth) if len(returned) > 1 else returned[0]
        return self._boundary(result, "call", call)

    def _from_elsewhere(self, refusal: Refusal, kernel: Kernel, call: cst.Call) -> Refusal:
        """What stands in another file is reported at the call that leads there."""
        line, _ = kernel.module.position(refusal.node) if refusal.node is not None else (1, 1)
        return Refusal(
            refusal.code, f"{refusal.message} (in {kernel.name}, {kernel.module.path}:{line})", call, refusal.hint
        )

    def _boundary(self, value: Value, op: str, node: cst.CSTNode) -> Value:
        """A value that crosses a call: a tensor keeps one layout there, whatever it was made of."""
        if value.kind is Kind.TUPLE:
            return Value(Kind.TUPLE, items=tuple(self._boundary(item, op, node) for item in value.items))
        if not value.is_tensor:
            return value
        return Value(
            Kind.TENSOR,
            shape=value.shape,
            strides=value.strides,
            pointers=value.pointers,
            element=value.element,
            multiples=value.multiples,
            op=op,
            operands=[Operand(None, value)],
            depth=self.depth,
            node=node,
        )

    def _body(self, frame: Frame, environment: Environment) -> None:
        self.frame, self.environment = frame, environment
        body = frame.kernel.node.body
        if isinstance(body, cst.SimpleStatementSuite):
            for small in body.body:
                self._small(small)
            return
        assert isinstance(body, cst.IndentedBlock)
        self._suite(body.body)

    # -- statements

    # -- loops


__all__ = ["Interpreter", "constant"]
