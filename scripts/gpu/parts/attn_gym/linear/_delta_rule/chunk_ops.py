"""Stands for the registration of the package's operations with torch, which happens once in a process."""


def prepare_chunk_offsets_op(*given, **named):
    """Lengths that differ are not measured."""
    raise NotImplementedError
