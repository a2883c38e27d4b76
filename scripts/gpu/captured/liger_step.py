"""One training step's worth of Liger-Kernel: RMSNorm, SwiGLU and cross-entropy, forward and backward."""

import torch
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

SMALL = "emulated" in torch.cuda.get_device_name()
TOKENS, HIDDEN, VOCABULARY = (6, 256, 1000) if SMALL else (512, 4096, 32000)


def leaf(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=True)


def main():
    torch.manual_seed(0)
    for casting, dtype in (("llama", torch.bfloat16), ("gemma", torch.bfloat16), ("none", torch.float32)):
        x, weight = leaf(TOKENS, HIDDEN, dtype=dtype), leaf(HIDDEN, dtype=dtype)
        y = LigerRMSNormFunction.apply(x, weight, 1e-6, 0.0, casting, False, None)
        y.backward(torch.randn_like(y))
    out = LigerSiLUMulFunction.apply(leaf(TOKENS, HIDDEN), leaf(TOKENS, HIDDEN))
    out.backward(torch.randn_like(out))
    target = torch.randint(0, VOCABULARY, (TOKENS,), device="cuda")
    target[1] = -100
    for smoothing in (0.0, 0.1):
        logits = leaf(TOKENS, VOCABULARY)
        loss = LigerCrossEntropyFunction.apply(logits, target, None, -100, 0.0, smoothing, "mean", None, False)[0]
        (3 * loss).backward()


main()
