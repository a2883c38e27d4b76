"""What the cases of this folder share: random tensors, and gradients that leave their inputs alone."""

import torch

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class Random:
    """Tensors from the CPU's random numbers, so that every device gets the same."""

    def __init__(self, device, seed):
        self.device = device
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape, dtype="fp32"):
        return torch.randn(*shape, generator=self.generator).to(self.device, DTYPES[dtype])

    def log_softmax(self, *shape, dtype="fp32"):
        logits = 2.0 * torch.randn(*shape, generator=self.generator)
        return logits.log_softmax(dim=-1).to(self.device, DTYPES[dtype])

    def softmax(self, *shape, dtype="fp32"):
        return self.log_softmax(*shape).exp().to(DTYPES[dtype])

    def labels(self, rows, classes, ignored=None):
        """int64 labels; every third is `ignored`, where that is given."""
        labels = torch.randint(0, classes, (rows,), generator=self.generator)
        if ignored is not None:
            labels[1::3] = ignored
        return labels.to(self.device)


def leaf(tensor):
    """A copy that wants a gradient: the functions under test overwrite what they are given."""
    return tensor.detach().clone().requires_grad_()


def double_leaf(tensor):
    return tensor.detach().double().clone().requires_grad_()


def grad(outputs, inputs, upstream):
    """Gradients of `outputs` (one tensor or several); copies of `upstream` are handed down."""
    several = isinstance(outputs, tuple)
    upstream = tuple(one.clone() for one in upstream) if several else upstream.clone()
    return torch.autograd.grad(outputs, inputs, upstream)


def upstream_like(output, seed_tensor):
    """The gradient to send back into a loss: a scalar for a scalar, else of the loss's shape."""
    return seed_tensor.to(output.dtype).expand(output.shape)
