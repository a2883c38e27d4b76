"""The GPU that is here."""

from tritonport.rules_data import TargetFacts, load_targets


def has_gpu() -> bool:
    """Whether torch can use a GPU."""
    import torch

    return bool(torch.cuda.is_available())


def gpu_target() -> str:
    """The architecture to write for, for the current GPU."""
    import torch

    major, minor = torch.cuda.get_device_capability()
    return target_for(10 * major + minor)


def target_for(capability: int) -> str:
    """The newest known architecture that is no newer than a GPU (90 for compute capability 9.0), or the oldest."""
    known = list(load_targets().values())
    return max((one for one in known if one.capability <= capability), key=_capability, default=known[0]).name


def _capability(facts: TargetFacts) -> int:
    return facts.capability
