"""Stands for flag_gems: what the files with kernels import, without the package's own start."""

device = "cuda"
