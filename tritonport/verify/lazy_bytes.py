"""Large memory full of one byte that takes up room, and time, only where it is touched.

A case that is far apart to try 32-bit offsets asks for gigabytes and touches a few rows. One chunk of the pattern is
mapped over and over, privately: a page is copied when it is first written.
"""

import ctypes
import mmap
import os
import weakref
from functools import cache
from typing import Any

import torch

LEAST = 1 << 26
"""Bytes from which a mapping is made: below it, writing the pattern costs less than is worth a thought."""
_CHUNK = 1 << 24
"""Bytes of the pattern that exist; Linux gives a process 65530 mappings: enough for a tebibyte of chunks."""
_FIXED = 0x10
"""MAP_FIXED of mmap(2) on Linux, which Python does not name."""
_FAILED = ctypes.c_void_p(-1).value


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc


@cache
def _chunk(byte: int) -> int:
    """The descriptor of a file in memory: one chunk of the byte. It stays open: it may be mapped again at any time."""
    file = os.memfd_create(f"tritonport-{byte:#x}")
    os.write(file, bytes([byte]) * _CHUNK)
    return file


def _map(start: int | None, size: int, flags: int, file: int) -> int:
    address: int | None = _libc().mmap(start, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, 0)
    if address is None or address == _FAILED:
        raise OSError(ctypes.get_errno(), f"cannot map {size} bytes")
    return address


def lazy_bytes(size: int, byte: int) -> Any:
    """A CPU tensor of `size` bytes (uint8) that all hold `byte`; its storage cannot be resized.

    None where the system has no such mappings (they are Linux's), or no more of them.
    """
    if not hasattr(os, "memfd_create"):
        return None
    try:
        file = _chunk(byte)
        # Reserved first, so that the chunks have a place of their own, side by side.
        start = _map(None, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
        try:
            for offset in range(0, size, _CHUNK):
                length = min(_CHUNK, size - offset)
                _map(start + offset, length, mmap.MAP_PRIVATE | _FIXED, file)
        except OSError:
            _libc().munmap(start, size)
            raise
    except OSError:
        return None
    memory = (ctypes.c_uint8 * size).from_address(start)
    weakref.finalize(memory, _libc().munmap, start, size).atexit = False
    return torch.frombuffer(memory, dtype=torch.uint8)
