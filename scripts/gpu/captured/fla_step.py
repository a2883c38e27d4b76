"""One layer of fla-core, forward and backward: gated linear attention over a short sequence."""

import torch
from fla.layers import GatedLinearAttention

SMALL = "emulated" in torch.cuda.get_device_name()
BATCH, TOKENS, HIDDEN, HEADS = (1, 40, 64, 2) if SMALL else (2, 512, 512, 4)


def main():
    torch.manual_seed(0)
    layer = GatedLinearAttention(hidden_size=HIDDEN, num_heads=HEADS, mode="chunk").cuda().to(torch.bfloat16)
    x = torch.randn(BATCH, TOKENS, HIDDEN, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    y = layer(x)[0]
    y.backward(torch.randn_like(y))


main()
