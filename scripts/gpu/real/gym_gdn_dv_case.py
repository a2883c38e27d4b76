"""Gradient of the values inside of a chunk: `attn_gym.linear.gdn.bwd.triton.chunk_gdn_bwd_delta_h`."""

import torch
from attn_gym.linear.gdn.bwd.triton.chunk_gdn_bwd_delta_h import chunk_gdn_bwd_dv_local_kernel
from inputs import SMALL, Random

TOKENS, HEADS, SIDE = (128, 2, 64) if SMALL else (16384, 16, 128)


def make_inputs(device, seed):
    random = Random(device, seed)
    q, k, do = (random.normal(1, TOKENS, HEADS, SIDE) for _ in range(3))
    return {"q": q, "k": k, "gate": random.decays(1, TOKENS, HEADS), "do": do}


def launch(q, k, gate, do):
    dv = torch.empty_like(do)
    chunk_gdn_bwd_dv_local_kernel[(TOKENS // 64, HEADS)](
        q, k, q.stride(1), k.stride(1), gate, do, dv, None, None, SIDE**-0.5, 0,
        H=HEADS, HK=HEADS, GROUPS=1, K=SIDE, V=SIDE, BT=64,
    )  # fmt: skip
    return dv
