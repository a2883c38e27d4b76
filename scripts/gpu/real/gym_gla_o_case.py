"""Output of gated linear attention: `attn_gym.linear.kda.fwd.triton.chunk_gla_fwd_o.chunk_gla_fwd_kernel_o`."""

import torch
import triton
from attn_gym.linear.kda.fwd.triton.chunk_gla_fwd_o import chunk_gla_fwd_kernel_o
from inputs import BATCH, HEADS, KEYS, SMALL, VALUES, Random

TOKENS = 128 if SMALL else 4096


def make_inputs(device, seed):
    random = Random(device, seed)
    q, v = random.normal(BATCH, TOKENS, HEADS, KEYS), random.normal(BATCH, TOKENS, HEADS, VALUES)
    g = random.decays(BATCH, TOKENS, HEADS, KEYS)
    h = random.normal(BATCH, TOKENS // 64, HEADS, KEYS, VALUES)
    return {"q": q, "v": v, "g": g, "h": h, "A": random.normal(BATCH, TOKENS, HEADS, 64)}


def launch(q, v, g, h, A):
    o = torch.empty_like(v)
    chunk_gla_fwd_kernel_o[lambda meta: (triton.cdiv(VALUES, meta["BV"]), TOKENS // 64, BATCH * HEADS)](
        q, v, g, h, o, A, None, None, KEYS**-0.5, TOKENS, q.stride(1), q.stride(2),
        H=HEADS, K=KEYS, V=VALUES, BT=64, num_sequences=0,
    )  # fmt: skip
    return o
