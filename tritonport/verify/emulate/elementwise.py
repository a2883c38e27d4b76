"""``map_elementwise``: a scalar device function applied to every element of its operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from tritonport.verify.emulate.errors import Divergence
from tritonport.verify.emulate.values import Array, Value


def map_elementwise(generator: Any, function: Any, arguments: list[Any], pack: int = 1) -> Any:
    """The result, or the tuple of results, of ``function`` on each element.

    With ``pack`` above 1 the function takes that many neighbouring elements of each operand and returns as many of each
    result; which elements are neighbours is the layout's choice on a GPU, here they are consecutive.
    """
    semantic = generator.semantic
    tensors = semantic.broadcast_tensors(*(semantic.to_tensor(argument) for argument in arguments))
    shape = tensors[0].handle.data.shape
    groups: list[tuple[Array, Any]] = []
    for tensor in tensors:
        flat = tensor.handle.data.reshape(-1, pack)
        groups.extend((flat[:, lane], tensor.type.scalar) for lane in range(pack))
    try:
        results, single = _apply(generator, function, [(np.ascontiguousarray(d), t) for d, t in groups])
    except Divergence:
        rows = [_apply(generator, function, [(d[i], t) for d, t in groups]) for i in range(len(groups[0][0]))]
        single = rows[0][1]
        results = [(np.array([row[0][k][0] for row in rows]), rows[0][0][k][1]) for k in range(len(rows[0][0]))]
    outputs = []
    for first in range(0, len(results), pack):
        dtype = results[first][1]
        lanes = [np.broadcast_to(data, groups[0][0].shape) for data, _ in results[first : first + pack]]
        data = np.ascontiguousarray(np.stack(lanes, axis=-1)).reshape(shape)
        handle = Value(data, dtype, tensors[0].handle.layout)
        outputs.append(tl.tensor(handle, tensors[0].type.with_element_ty(dtype) if shape else dtype))
    return outputs[0] if single and pack == 1 else tl.tuple(outputs)


def _apply(generator: Any, function: Any, operands: list[tuple[Any, Any]]) -> tuple[list[tuple[Array, Any]], bool]:
    arguments = [tl.tensor(Value(np.asarray(data), dtype), dtype) for data, dtype in operands]
    returned = generator.call_JitFunction(function, arguments, {})
    single = isinstance(returned, tl.tensor)
    values = [returned] if single else list(returned)
    return [(np.asarray(value.handle.data), value.type.scalar) for value in values], single


def convert_fp8e4b15(operand: Any, dtype: Any, rounding: Any = None, _semantic: Any = None) -> Any:
    """The cast from or to fp8e4b15, which the compiler writes in inline assembly."""
    to = operand.type.with_element_ty(dtype.scalar) if operand.type.is_block() else dtype.scalar
    handle = _semantic.builder.create_fp_to_fp(operand.handle, to.to_ir(_semantic.builder), rounding)
    return tl.tensor(handle, to)
