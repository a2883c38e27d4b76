"""Attention to compressed blocks, forward: `fla.ops.nsa.compression.parallel_nsa_compression_fwd`."""

from fla.ops.nsa.compression import parallel_nsa_compression_fwd
from inputs import BATCH, KEYS, TOKENS, VALUES, Random

GROUP, BLOCK = 16, 32


def make_inputs(device, seed):
    random = Random(device, seed)
    blocks = -(-TOKENS // BLOCK)
    k, v = (random.normal(BATCH, blocks, 2, width) for width in (KEYS, VALUES))
    return {"q": random.normal(BATCH, TOKENS, 2 * GROUP, KEYS), "k": k, "v": v}


def launch(q, k, v):
    o, lse = parallel_nsa_compression_fwd(q, k, v, TOKENS, BLOCK, KEYS**-0.5)
    # Tokens before the end of the first block see none.
    return o[:, BLOCK:], lse[:, BLOCK:]
