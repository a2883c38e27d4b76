"""States of the gated delta rule: `flag_gems.fused.FLA.chunk_delta_h.chunk_gated_delta_rule_fwd_h`."""

from flag_gems.fused.FLA.chunk_delta_h import chunk_gated_delta_rule_fwd_h
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    g = random.decays(BATCH, TOKENS, HEADS)
    return {
        "k": random.tokens(KEYS, scale=0.1),
        "w": random.tokens(KEYS, scale=0.1),
        "u": random.tokens(VALUES),
        "g": g,
    }


def launch(k, w, u, g):
    h, v_new, _ = chunk_gated_delta_rule_fwd_h(k, w, u, g=g, chunk_size=CHUNK)
    return h, v_new
