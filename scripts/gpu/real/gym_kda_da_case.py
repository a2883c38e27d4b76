"""Gradient of a chunk's inverse: `attn_gym.linear.kda.bwd.triton.chunk_kda_bwd_wy_triton`."""

import torch
from attn_gym.linear.kda.bwd.triton.chunk_kda_bwd_wy_triton import chunk_kda_bwd_wy_dA_triton_kernel
from inputs import SMALL, Random

TOKENS, HEADS, SIDE, BLOCK = (128, 2, 64, 32) if SMALL else (16384, 16, 128, 64)


def make_inputs(device, seed):
    random = Random(device, seed)
    k, v, dw, dv = (random.normal(TOKENS, HEADS, SIDE, scale=0.1) for _ in range(4))
    gate = random.decays(1, TOKENS, HEADS, SIDE)[0]
    beta, inverse = random.normal(TOKENS, HEADS).sigmoid(), random.normal(TOKENS, HEADS, 64, scale=0.1)
    return {"k": k, "v": v, "gate": gate, "beta": beta, "inverse": inverse, "dw": dw, "dv": dv}


def launch(k, v, gate, beta, inverse, dw, dv):
    da = torch.empty_like(inverse, dtype=torch.float32)
    chunk_kda_bwd_wy_dA_triton_kernel[(TOKENS // 64, HEADS)](
        k, v, gate, beta, inverse, dw, dv, da, None, None, 0, k.stride(0), k.stride(1), v.stride(0), v.stride(1),
        H=HEADS, K=SIDE, V=SIDE, BT=64, BK=BLOCK, BV=BLOCK, IS_RAGGED=False, USE_INT64_OFFSETS=False, FASTMATH=True,
        num_warps=4, num_stages=2,
    )  # fmt: skip
    return da
