"""What the cases of this folder share: random tensors of a linear attention, from the CPU's random numbers."""

import torch

SMALL = "emulated" in torch.cuda.get_device_name() if torch.cuda.is_available() else True
BATCH, TOKENS, HEADS = (1, 96, 2) if SMALL else (4, 4096, 16)
KEYS, VALUES = (32, 64) if SMALL else (128, 128)
CHUNK = 32 if SMALL else 64


class Random:
    """bf16 tensors whose numbers do not depend on the device."""

    def __init__(self, device, seed):
        self.device = device
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape, dtype=torch.bfloat16, scale=1.0):
        return (scale * torch.randn(*shape, generator=self.generator)).to(self.device, dtype)

    def decays(self, *shape):
        """Sums of negative numbers over a chunk of tokens (dimension 1), as the kernels expect their gates."""
        steps = -0.1 * torch.rand(*shape, generator=self.generator)
        whole = [one.cumsum(1) for one in steps.split(CHUNK, dim=1)]
        return torch.cat(whole, dim=1).to(self.device)

    def tokens(self, width, **options):
        return self.normal(BATCH, TOKENS, HEADS, width, **options)

    def states(self, **options):
        return self.normal(BATCH, -(-TOKENS // CHUNK), HEADS, KEYS, VALUES, **options)
