"""What some commands need beyond the core of the package, and how to get it."""

from importlib.util import find_spec

INSTALL = "pip install 'tritonport[gpu]'"
"""The extra with Triton, torch and NumPy."""


def lacking(*names: str) -> str:
    """Which of these packages are not installed, and what installs them; empty where all of them are."""
    missing = [name for name in names if find_spec(name) is None]
    if not missing:
        return ""
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: {INSTALL}"
