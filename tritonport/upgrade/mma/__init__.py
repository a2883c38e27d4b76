"""Stage mma: dots that stay under way while the loop goes on."""

from tritonport.upgrade.mma.stage import upgrade_gluon

__all__ = ["upgrade_gluon"]
