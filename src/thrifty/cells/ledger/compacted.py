"""Compacted columns: what is known of one feature, by example number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.cells.ledger.book import Column
from thrifty.typing import AnyArray
from thrifty.untrusted import readable

__all__ = ["Facts", "read_column", "write_column"]

#: bytes of a bitmap over examples: 32 million of them
_MOST = 1 << 22


@dataclass(slots=True, eq=False)
class Facts:
    """Known cells of one feature: example numbers ascending, values, when they were bought."""

    examples: NDArray[np.int32]
    values: NDArray[np.float64]
    times: NDArray[np.float64]

    def merged(self, other: Facts) -> Facts:
        """Both together; where both know a cell, the one bought later counts."""
        if not len(self.examples):
            return other
        examples = np.concatenate([self.examples, other.examples])
        times = np.concatenate([self.times, other.times])
        values = np.concatenate([self.values, other.values])
        order = np.lexsort((times, examples))
        last = np.append(examples[order][1:] != examples[order][:-1], True)
        keep = order[last]
        return Facts(examples[keep], values[keep], times[keep])


def write_column(kind: str, number: int, boolean: bool, facts: Facts) -> Column:
    """Facts as a block: a bit for known, a bit (or eight bytes) for the value, times in runs."""
    known = np.zeros(int(facts.examples[-1]) + 1 if len(facts.examples) else 0, dtype=np.bool_)
    known[facts.examples] = True
    starts = np.append(True, facts.times[1:] != facts.times[:-1])
    if boolean:
        values: NDArray[np.uint8 | np.float64] = np.packbits(facts.values != 0)
    else:
        values = facts.values
    block = pack_arrays(
        {
            "known": np.packbits(known),
            "values": values,
            "runs": np.flatnonzero(starts).astype(np.int32),
            "times": facts.times[starts],
        }
    )
    return Column(kind, number, boolean, block)


def read_column(column: Column) -> Facts:
    """The inverse of :func:`write_column`."""
    with readable("a column of the store"):
        return _facts(column, unpack_arrays(column.block))


def _facts(column: Column, a: dict[str, AnyArray]) -> Facts:
    if a["known"].dtype != np.uint8 or a["known"].ndim != 1 or len(a["known"]) > _MOST:
        raise ValueError(f"a bitmap of shape {a['known'].shape}")
    examples = np.flatnonzero(np.unpackbits(a["known"])).astype(np.int32)
    if column.boolean:
        values = np.unpackbits(a["values"], count=len(examples)).astype(np.float64)
    else:
        values = a["values"]
    lengths = np.diff(np.append(a["runs"], len(examples)))
    if values.shape != examples.shape or (len(lengths) and int(lengths.sum()) != len(examples)):
        raise ValueError(f"{len(examples)} examples and values of shape {values.shape}")
    return Facts(examples, values, np.repeat(a["times"], lengths))
