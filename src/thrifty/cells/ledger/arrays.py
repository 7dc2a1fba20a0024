"""Plain arrays as bytes and back: a JSON header, raw numbers, zlib. Loading runs no code."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from thrifty.errors import StoreError
from thrifty.typing import AnyArray

_KINDS = {"u1", "i4", "i8", "f4", "f8"}

#: a block takes no more memory than this, whoever wrote it; calls are cut to fit (plan.py)
_LARGEST = 1 << 28

#: bytes of a block that is not worth compressing
_SMALL = 400


def pack_arrays(arrays: Mapping[str, AnyArray]) -> bytes:
    """Named arrays of bytes, integers or floats, as one compressed block.

    >>> block = pack_arrays({"rows": np.arange(3, dtype=np.int32)})
    >>> unpack_arrays(block)["rows"].tolist()
    [0, 1, 2]
    """
    kinds = [a.dtype.str for a in arrays.values()]
    head = _header(tuple((name, k[1:], a.shape) for (name, a), k in zip(arrays.items(), kinds)))
    size = sum([a.nbytes for a in arrays.values()])
    if size > _LARGEST - (1 << 20):
        raise StoreError(
            f"a block of values must stay below {_LARGEST >> 20} MB; this one has "
            f"{size >> 20} MB. Ask for fewer cells at once: max_cells=."
        )
    body = b"".join([_little(a, k).tobytes() for a, k in zip(arrays.values(), kinds)])
    raw = struct.pack("<I", len(head)) + head + body
    return zlib.compress(raw, int(len(raw) > _SMALL))


def _little(array: AnyArray, kind: str) -> AnyArray:
    """The least significant byte first, as nearly every machine has it anyway."""
    return array.astype(array.dtype.newbyteorder("<")) if kind[0] == ">" else array


@lru_cache(maxsize=256)
def _header(arrays: tuple[tuple[str, str, tuple[int, ...]], ...]) -> bytes:
    """Names, kinds and shapes; those of one text after another are the same."""
    unknown = {kind for _, kind, _ in arrays} - _KINDS
    if unknown:
        raise TypeError(f"arrays must be of kind {sorted(_KINDS)}; got {sorted(unknown)}")
    return json.dumps({name: [kind, list(shape)] for name, kind, shape in arrays}).encode()


def unpack_arrays(block: bytes) -> dict[str, AnyArray]:
    """The inverse of :func:`pack_arrays`; a damaged block is an error, never a value."""
    return dict(_small(block)) if len(block) <= _SMALL else _unpacked(block)


def _unpacked(block: bytes) -> dict[str, AnyArray]:
    try:
        reader = zlib.decompressobj()
        raw = reader.decompress(block, _LARGEST)
        if not reader.eof:
            raise ValueError("the block is cut short, or too large")
        (length,) = struct.unpack_from("<I", raw)
        header = json.loads(raw[4 : 4 + length])
        out, at = {}, 4 + length
        for name, (kind, shape) in header.items():
            if kind not in _KINDS:
                raise ValueError(f"unknown kind of array {kind!r}")
            if not all(isinstance(n, int) and 0 <= n <= _LARGEST for n in shape) or len(shape) > 2:
                raise ValueError(f"unknown shape {shape!r}")
            count = math.prod(shape)
            flat = np.frombuffer(raw, dtype="<" + kind, count=count, offset=at)
            out[str(name)] = flat.reshape(shape)
            at += flat.nbytes
    except (
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
        struct.error,
        zlib.error,
    ) as error:
        raise StoreError(
            f"a block of values in the store cannot be read ({error}). The file was changed by "
            "something else than Thrifty, or its disk is failing: restore a copy."
        ) from error
    return out


#: the same few answers come again and again; nobody can write into what was read
_small = lru_cache(maxsize=256)(_unpacked)
