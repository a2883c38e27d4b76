"""Recurrences that read and write a vector each step: rows and columns of a state in registers."""

import triton
import triton.language as tl


@triton.jit
def recurrent(k_ptr, v_ptr, out_ptr, steps, K: tl.constexpr, V: tl.constexpr):
    offs_k = tl.arange(0, K)
    offs_v = tl.arange(0, V)
    state = tl.zeros((V, K), dtype=tl.float32)
    k_ptrs = k_ptr + offs_k
    v_ptrs = v_ptr + offs_v
    for step in range(steps):
        k = tl.load(k_ptrs).to(tl.float32)
        v = tl.load(v_ptrs).to(tl.float32)
        k_ptrs += K
        v_ptrs += V
        v -= tl.sum(state * k[None, :], axis=1)
        state += v[:, None] * k[None, :]
        tl.store(out_ptr + step * V + offs_v, tl.sum(state * k[None, :], axis=1).to(tl.bfloat16))
