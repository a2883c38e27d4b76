"""Proving a port: offline compiles, the CPU emulator, cases, comparison, and the runner of the tiers."""
