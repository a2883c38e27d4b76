"""Keys of gated slot attention: `fla.ops.gsa.chunk_fwd.chunk_gsa_fwd_k`, which computes the states too."""

from fla.ops.gsa.chunk_fwd import chunk_gsa_fwd_k
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    g = random.decays(BATCH, TOKENS, HEADS, VALUES)
    return {"q": random.tokens(KEYS), "k": random.tokens(KEYS), "v": random.tokens(VALUES), "g": g}


def launch(q, k, v, g):
    h, _, o = chunk_gsa_fwd_k(q, k, v, g, scale=KEYS**-0.5, chunk_size=CHUNK)
    return h, o
