"""Gradients through the WY representation: `fla.ops.gated_delta_rule.wy_fast.prepare_wy_repr_bwd`."""

from fla.ops.gated_delta_rule.wy_fast import prepare_wy_repr_bwd
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    beta, g = random.normal(BATCH, TOKENS, HEADS).sigmoid(), random.decays(BATCH, TOKENS, HEADS)
    given = {"k": random.tokens(KEYS), "v": random.tokens(VALUES), "beta": beta, "A": random.tokens(CHUNK)}
    return {**given, "dw": random.tokens(KEYS), "du": random.tokens(VALUES), "g": g}


def launch(k, v, beta, A, dw, du, g):
    return [one for one in prepare_wy_repr_bwd(k, v, beta, A, dw, du, g=g) if one is not None]
