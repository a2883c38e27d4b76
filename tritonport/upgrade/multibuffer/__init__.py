"""Stage `multibuffer`: rings of tiles for the loops whose tiles TMA copies one at a time."""

from tritonport.upgrade.multibuffer.stage import STAGE, Copied, Finding, copies_of, multibuffered

__all__ = ["STAGE", "Copied", "Finding", "copies_of", "multibuffered"]
