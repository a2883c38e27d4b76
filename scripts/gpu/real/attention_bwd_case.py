"""Causal attention, backward: `fla.ops.attn.parallel.parallel_attn_bwd`."""

from fla.ops.attn.parallel import parallel_attn_bwd
from inputs import BATCH, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    given = {"q": random.tokens(KEYS), "k": random.tokens(KEYS), "v": random.tokens(VALUES)}
    # Sums of exponentials that are larger than any score keep the probabilities below one.
    lse = 8.0 + random.normal(BATCH, TOKENS, HEADS).float().abs()
    return {**given, "o": random.tokens(VALUES), "lse": lse, "do": random.tokens(VALUES)}


def launch(q, k, v, o, lse, do):
    return [one for one in parallel_attn_bwd(q, k, v, o, None, lse, do, scale=KEYS**-0.5) if one is not None]
