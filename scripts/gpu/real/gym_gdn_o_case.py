"""Output of the gated delta rule: `attn_gym.linear.gdn.fwd.triton.chunk_gdn_fwd_output`."""

from attn_gym.linear.gdn.fwd.triton.chunk_gdn_fwd_output import chunk_gdn_fwd_output_dense
from inputs import SMALL, Random

TOKENS, HEADS, SIDE = (128, 2, 64) if SMALL else (16384, 16, 128)


def make_inputs(device, seed):
    random = Random(device, seed)
    q, k, v = (random.normal(1, TOKENS, HEADS, SIDE) for _ in range(3))
    h = random.normal(1, TOKENS // 64, HEADS, SIDE, SIDE)
    return {"q": q, "k": k, "v": v, "h": h, "gate": random.decays(1, TOKENS, HEADS)}


def launch(q, k, v, h, gate):
    return chunk_gdn_fwd_output_dense(q, k, v, h, gate, SIDE**-0.5)
