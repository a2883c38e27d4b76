"""Output of the gated delta product: `chunk_gated_delta_product_fwd_o` of `fla.ops.gated_delta_product`.

Two Householder steps a token.
"""

from fla.ops.gated_delta_product.chunk_deltaproduct_o import chunk_gated_delta_product_fwd_o
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random

STEPS = 2


def make_inputs(device, seed):
    random = Random(device, seed)
    k, v = (random.normal(BATCH, TOKENS * STEPS, HEADS, width) for width in (KEYS, VALUES))
    g = random.decays(BATCH, TOKENS, HEADS)
    return {"q": random.tokens(KEYS), "k": k, "v": v, "h": random.states(), "g": g}


def launch(q, k, v, h, g):
    scale = KEYS**-0.5
    return chunk_gated_delta_product_fwd_o(q, k, v, h, g, scale, chunk_size=CHUNK, num_householder=STEPS)
