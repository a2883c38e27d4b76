"""Timing: the original against each stage of its port, interleaved, beside ceilings measured in the same run."""
