"""The stages beyond the literal port: each takes a file one step further, where that is proved to be right."""

from tritonport.upgrade.stages import STAGES, no_such_pair, upgrade_text

__all__ = ["STAGES", "no_such_pair", "upgrade_text"]
