"""The builder the front end emits into: every operation is computed on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import triton.language as tl

from tritonport.verify.emulate.arithmetic import ArithmeticOps
from tritonport.verify.emulate.descriptors import DescriptorOps
from tritonport.verify.emulate.errors import Fault, Unsupported
from tritonport.verify.emulate.floats import from_float
from tritonport.verify.emulate.libdevice import call_libdevice
from tritonport.verify.emulate.memory import GlobalMemory, MemoryOps
from tritonport.verify.emulate.ptx import AsmResult, run_inline_asm, split_fences
from tritonport.verify.emulate.regions import RegionOps
from tritonport.verify.emulate.scaled_dots import ScaledDotOps
from tritonport.verify.emulate.shapes import ShapeOps
from tritonport.verify.emulate.values import BlockType, Value, layout_of, shape_of, storage

_EMITTERS = ("create_", "get_", "to_", "is_")


class Builder(ArithmeticOps, DescriptorOps, MemoryOps, RegionOps, ScaledDotOps, ShapeOps):
    """Stands in for ``ir.builder``.

    ``options`` are the launch options of the target's backend. One builder serves every program of a launch;
    ``program`` is the id of the one that runs.
    """

    def __init__(self, options: Any, codegen_fns: dict[str, Any], module_map: dict[str, Any]) -> None:
        self.options = options
        self.arch = options.arch
        self.codegen_fns = codegen_fns
        self.module_map = module_map
        self.memory = GlobalMemory()
        self.poison_masked = False
        self.masks = None
        self.grid = (1, 1, 1)
        self.program = (0, 0, 0)

    @property
    def num_warps(self) -> int:
        """Of what runs."""
        return int(self.options.num_warps)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(_EMITTERS):
            raise Unsupported(f"the operation {name.removeprefix('create_')} is not emulated")
        raise AttributeError(name)

    # Places in the code. There is none to emit.

    def get_loc(self) -> None:
        return None

    def set_loc(self, *_: object) -> None:
        pass

    def get_insertion_point(self) -> None:
        return None

    def restore_insertion_point(self, _: object) -> None:
        pass

    def get_insertion_block(self) -> None:
        return None

    # Types.

    def get_void_ty(self) -> Any:
        return tl.void

    def get_int1_ty(self) -> Any:
        return tl.int1

    def get_int8_ty(self) -> Any:
        return tl.int8

    def get_int16_ty(self) -> Any:
        return tl.int16

    def get_int32_ty(self) -> Any:
        return tl.int32

    def get_int64_ty(self) -> Any:
        return tl.int64

    def get_half_ty(self) -> Any:
        return tl.float16

    def get_bf16_ty(self) -> Any:
        return tl.bfloat16

    def get_float_ty(self) -> Any:
        return tl.float32

    def get_double_ty(self) -> Any:
        return tl.float64

    def get_fp8e4nv_ty(self) -> Any:
        return tl.float8e4nv

    def get_fp8e4b8_ty(self) -> Any:
        return tl.float8e4b8

    def get_fp8e4b15_ty(self) -> Any:
        return tl.float8e4b15

    def get_fp8e5_ty(self) -> Any:
        return tl.float8e5

    def get_fp8e5b16_ty(self) -> Any:
        return tl.float8e5b16

    def get_ptr_ty(self, element: Any, address_space: int) -> Any:
        return tl.pointer_type(element, address_space)

    def get_block_ty(self, element: Any, shape: Any) -> BlockType:
        return BlockType(element, shape)

    # Constants.

    def get_int1(self, value: Any) -> Value:
        return Value(np.array(bool(value)), tl.int1)

    def _integer(self, value: Any, dtype: Any) -> Value:
        bits = storage(dtype).itemsize * 8
        if not -(1 << (bits - 1)) <= int(value) < (1 << bits):
            raise Fault(f"the constant {value} does not fit {dtype}")
        wrapped = (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
        return Value(np.array(wrapped, storage(dtype)), dtype)

    def get_int8(self, value: Any) -> Value:
        return self._integer(value, tl.int8)

    def get_int16(self, value: Any) -> Value:
        return self._integer(value, tl.int16)

    def get_int32(self, value: Any) -> Value:
        return self._integer(value, tl.int32)

    def get_int64(self, value: Any) -> Value:
        return self._integer(value, tl.int64)

    get_uint8, get_uint16, get_uint32, get_uint64 = get_int8, get_int16, get_int32, get_int64

    def _floating(self, value: Any, dtype: Any) -> Value:
        return Value(np.asarray(from_float(np.array(float(value), np.float64), dtype)), dtype)

    def get_fp16(self, value: Any) -> Value:
        return self._floating(value, tl.float16)

    def get_bf16(self, value: Any) -> Value:
        return self._floating(value, tl.bfloat16)

    def get_fp32(self, value: Any) -> Value:
        return self._floating(value, tl.float32)

    def get_fp64(self, value: Any) -> Value:
        return self._floating(value, tl.float64)

    def get_null_value(self, ir_type: Any) -> Value:
        return Value(np.zeros(shape_of(ir_type), storage(ir_type.scalar)), ir_type.scalar, _layout(ir_type))

    def get_all_ones_value(self, ir_type: Any) -> Value:
        kind = storage(ir_type.scalar)
        ones = np.full(shape_of(ir_type), True if kind == np.bool_ else -1, kind)
        return Value(ones, ir_type.scalar, _layout(ir_type))

    # Calls out of the language.

    def create_extern_elementwise(
        self, library: str, path: str, symbol: str, arguments: list[Value], ir_type: Any, pure: bool
    ) -> Value:
        data = call_libdevice(symbol, arguments, ir_type.scalar)
        shape = np.broadcast_shapes(*(np.shape(each.data) for each in arguments)) if arguments else shape_of(ir_type)
        return Value(np.asarray(np.broadcast_to(data, shape)), ir_type.scalar, layout_of(*arguments))

    def create_inline_asm(
        self, asm: str, constraints: str, arguments: list[Value], ir_types: list[Any], pure: bool, pack: int
    ) -> AsmResult:
        rest = self._without_fences(str(asm), pure)
        if rest is None:
            # Nothing is computed: the result is there for the syntax.
            return AsmResult([self.get_null_value(ir_type) for ir_type in ir_types])
        return run_inline_asm(rest, arguments, ir_types, int(pack))

    def create_threadwise_inline_asm(
        self, asm: str, constraints: str, arguments: list[Value], ir_types: list[Any], pure: bool, *_: object
    ) -> AsmResult:
        rest = self._without_fences(str(asm), pure)
        if rest is not None or arguments or ir_types:
            raise Unsupported(f"inline_asm is not emulated: {' '.join(str(asm).split())[:80]}")
        return AsmResult([])

    def _without_fences(self, asm: str, pure: bool) -> str | None:
        """Make the fences that inline PTX begins with; what follows them, None for nothing."""
        spaces, rest = split_fences(asm)
        if spaces and pure:
            raise Fault("inline PTX with a fence must say is_pure=False: else the compiler may move or drop it")
        for space in spaces:
            self.fence_proxies(space)
        return rest

    def fence_proxies(self, space: str) -> None:
        """A ``fence.proxy.async`` of a state space (".global" ..., "" for all). In Triton kernels it orders nothing."""

    # Checks and messages.

    def create_assert(self, condition: Value, message: Any) -> None:
        if not bool(np.all(condition.data)):
            raise Fault(f"device_assert failed: {message}" if message else "device_assert failed")

    def create_assume(self, condition: Value) -> None:
        if not bool(np.all(condition.data)):
            raise Fault("an assumption (tl.assume) does not hold")

    def create_print(self, prefix: str, as_hex: bool, values: list[Value], is_signed: Sequence[Any]) -> None:
        text = "".join(self._printed(value, as_hex, sign) for value, sign in zip(values, is_signed, strict=True))
        print(f"pid {self.program}{prefix}{text}")

    def _printed(self, value: Value, as_hex: bool, is_signed: Any) -> str:
        from tritonport.verify.emulate.floats import to_float
        from tritonport.verify.emulate.values import unsigned

        if as_hex:
            digits = value.data.dtype.itemsize * 2
            bits = np.ascontiguousarray(value.data).view(f"u{value.data.dtype.itemsize}").reshape(value.data.shape)
            return " " + np.array2string(bits, formatter={"int": lambda x: f"0x{int(x):0{digits}x}"})
        if value.dtype.is_floating():
            return f" {to_float(value.data, value.dtype)}"
        return f" {value.data if is_signed else unsigned(value.data)}"


def _layout(ir_type: Any) -> Any:
    return ir_type.layout if isinstance(ir_type, BlockType) else None
