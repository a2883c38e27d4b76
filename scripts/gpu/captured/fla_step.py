"""One layer of fla-core's parts, forward and backward: gated linear attention over a short sequence.

Projections, a decay for each head, the chunked kernels of `fla.ops.simple_gla`, and a gated RMSNorm on the way out. The
layers themselves are in flash-linear-attention, which asks for transformers.
"""

import sys

import torch
from fla.modules.norm import FusedRMSNormGated
from fla.ops.simple_gla import chunk_simple_gla

SMALL = "emulated" in torch.cuda.get_device_name()
BATCH, TOKENS, HEADS, KEYS, VALUES = (1, 40, 1, 32, 32) if SMALL else (2, 500, 4, 64, 128)
HIDDEN = 64 if SMALL else 512


class SimpleGatedLinearAttention(torch.nn.Module):
    """q, k, v, output gate and decay from the input; the recurrence; a norm for each head, gated."""

    def __init__(self):
        super().__init__()
        keys, values = HEADS * KEYS, HEADS * VALUES
        self.q, self.k = (torch.nn.Linear(HIDDEN, keys, bias=False) for _ in range(2))
        self.decay = torch.nn.Linear(HIDDEN, HEADS)
        self.v, self.gate = (torch.nn.Linear(HIDDEN, values, bias=False) for _ in range(2))
        self.norm = FusedRMSNormGated(VALUES, activation="swish")
        self.out = torch.nn.Linear(values, HIDDEN, bias=False)

    def forward(self, x):
        q, k = (layer(x).unflatten(-1, (HEADS, KEYS)) for layer in (self.q, self.k))
        v, gate = (layer(x).unflatten(-1, (HEADS, VALUES)) for layer in (self.v, self.gate))
        decay = torch.nn.functional.logsigmoid(self.decay(x).float()) / 16
        y, _ = chunk_simple_gla(q, k, v, decay)
        return self.out(self.norm(y, gate).flatten(-2))


def tune_briefly(most=2):
    """Leaves the tuned kernels of fla the first configurations: to compile and time all of them takes minutes."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "fla"]
    for kernel in [value for module in modules for value in vars(module).values()]:
        while hasattr(kernel, "fn"):
            if hasattr(kernel, "configs"):
                kernel.configs = kernel.configs[:most]
            kernel = kernel.fn


def main():
    tune_briefly()
    torch.manual_seed(0)
    layer = SimpleGatedLinearAttention().cuda().to(torch.bfloat16)
    x = torch.randn(BATCH, TOKENS, HIDDEN).to(torch.bfloat16).cuda().requires_grad_(True)
    y = layer(x)
    y.backward(torch.randn(BATCH, TOKENS, HIDDEN).to(torch.bfloat16).cuda())


main()
