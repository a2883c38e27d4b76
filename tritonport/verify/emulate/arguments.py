"""From the arguments of a launch to the values a kernel sees, with Triton's specialisation.

An int equal to 1 becomes a compile-time constant (unless ``do_not_specialize`` or the annotation says otherwise), and
so does None; the other ints, floats and bools become scalars of the type the launcher gives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.jit import mangle_type

from tritonport.verify.emulate.descriptors import is_host_descriptor, make_descriptor
from tritonport.verify.emulate.errors import EmulationError, NotEmulated
from tritonport.verify.emulate.generator import as_argument
from tritonport.verify.emulate.values import Value


class Binder:
    """Converts the arguments of one launch and registers the tensors among them with its memory."""

    def __init__(self, semantic: Any) -> None:
        self._semantic = semantic
        self._memory = semantic.builder.memory

    def value(self, parameter: Any, argument: Any) -> Any:
        """The value of one parameter (a ``KernelParam``)."""
        argument = argument.value if isinstance(argument, tl.constexpr) else argument
        if parameter.is_constexpr:
            return as_argument(argument)
        return self._convert(parameter.name, argument, parameter)

    def _convert(self, name: str, argument: Any, parameter: Any) -> Any:
        if isinstance(argument, tuple) and not is_host_descriptor(argument):
            items = [self._convert(f"{name}[{i}]", item, parameter) for i, item in enumerate(argument)]
            fields = getattr(argument, "_fields", None)
            return tl.tuple(items, tl.core.tuple_type([item.type for item in items], fields))
        if is_host_descriptor(argument):
            self._register(f"{name}.base", argument.base)
            return make_descriptor(self._semantic, argument)
        if hasattr(argument, "data_ptr"):
            return self._pointer(name, argument, parameter)
        try:
            kind = mangle_type(argument, not parameter.do_not_specialize)
        except TypeError as error:
            raise EmulationError(f"argument {name}: {error}") from error
        annotated = parameter.annotation_type
        if annotated and not annotated.startswith("*") and argument is not None:
            kind = annotated
        if kind == "constexpr":
            return tl.constexpr(argument)
        return self._scalar(name, argument, tl.str_to_ty(kind, None))

    def _scalar(self, name: str, argument: Any, dtype: Any) -> Any:
        builder = self._semantic.builder
        if dtype.is_floating():
            handle = getattr(builder, f"get_{dtype.name}")(float(argument))
        elif dtype.is_int1():
            handle = builder.get_int1(argument)
        elif dtype.is_int():
            if not dtype.get_int_min_value() <= int(argument) <= dtype.get_int_max_value():
                raise EmulationError(f"argument {name}: {argument} does not fit {dtype}")
            handle = getattr(builder, f"get_{dtype.name}")(int(argument))
        else:
            raise NotEmulated(f"argument {name}: a value of type {dtype} cannot be passed")
        return tl.tensor(handle, dtype)

    def _pointer(self, name: str, argument: Any, parameter: Any) -> Any:
        kind = mangle_type(argument)
        if parameter.is_const and not kind.startswith("*k"):
            kind = "*k" + kind[1:]
        self._register(name, argument)
        dtype = tl.str_to_ty(parameter.annotation_type or kind, None)
        return tl.tensor(Value(np.array(argument.data_ptr(), np.uint64), dtype), dtype)

    def _register(self, name: str, tensor: Any) -> None:
        # triton.reinterpret wraps a tensor to give it another element type.
        base = getattr(tensor, "base", tensor)
        if not hasattr(base, "untyped_storage"):
            raise NotEmulated(f"argument {name}: the extent of a {type(tensor).__name__} is not known")
        if base.device.type != "cpu":
            raise EmulationError(f"argument {name} is on {base.device}: an emulated launch takes tensors of the CPU")
        self._memory.add(name, base)
