"""One purchase: what was asked of a provider in one call, and what became of it.

pending ─┬─> settled      values stored, money spent
         ├─> refused      the provider said that nothing was billed
         ├─> failed       the provider tried and failed; costs a share of the price
         ├─> malformed    billed, kept, never used
         ├─> changed      billed, kept, never used: it contradicts a known value
         └─> doubt        nobody knows; stays so where a repetition is refused
malformed, changed, doubt and a pending one whose process died wait for the user, who says
what happened:  settled (with the values) | void (not billed) | lost (billed, no values)
Should an answer come after that, it is settled, or kept as *late* where its cells were bought
again meanwhile: billed, counted, never used.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from thrifty.cells.ledger.owner import is_alive, me, process
from thrifty.cells.prices.money import total
from thrifty.cells.sources.answered import divided
from thrifty.errors import StoreError
from thrifty.typing import AnyArray, Bools, Floats, Ints, Numbers
from thrifty.untrusted import readable

#: purchases of these kinds keep their cells from being bought again
BLOCKING = ("pending", "doubt", "malformed", "changed")


@dataclass(frozen=True, slots=True, eq=False)
class CellBlock:
    """The cells of one call, in the ledger's numbers: examples x features, and draws.

    ``draw_rows[i, j]`` says that draw i is paid with this purchase for the j-th example; ``costs``
    is what each example costs by the list, in minor units; ``paid`` what it really cost, where that
    is something else.
    """

    examples: Numbers
    features: Numbers
    boolean: Bools
    draws: Numbers
    draw_rows: Bools
    costs: Ints
    paid: Ints | None = None

    @property
    def price(self) -> int:
        return total(self.costs)

    @property
    def n_cells(self) -> int:
        return len(self.examples) * len(self.features)

    def to_bytes(self) -> bytes:
        raw = pack_arrays(
            {
                "examples": self.examples,
                "features": self.features,
                "boolean": self.boolean.astype(np.uint8),
                "draws": self.draws,
                "draw_rows": np.packbits(self.draw_rows, axis=1),
                "costs": self.costs,
                **({} if self.paid is None else {"paid": self.paid}),
            }
        )
        _keep(raw, self)
        return raw

    @classmethod
    def from_bytes(cls, block: bytes) -> CellBlock:
        found = _BLOCKS.get(block)
        if found is None:
            with readable("a purchase in the store"):
                found = cls._from(unpack_arrays(block))
            _keep(block, found)
        return found

    @classmethod
    def _from(cls, a: dict[str, AnyArray]) -> CellBlock:
        n, k = len(a["examples"]), len(a["features"])
        shapes = [a[name].shape for name in ("examples", "features", "boolean", "draws", "costs")]
        if shapes != [(n,), (k,), (k,), (len(a["draws"]),), (n,)] or n * k > 1 << 28:
            raise ValueError(f"arrays of shapes {shapes}")
        if (n and int(a["examples"].min()) < 0) or (k and int(a["features"].min()) < 0):
            raise ValueError("a negative number")
        if len(a["draws"]) and a["draw_rows"].shape != (len(a["draws"]), -(-n // 8)):
            raise ValueError(f"draws of shape {a['draw_rows'].shape}")
        bits = np.unpackbits(a["draw_rows"], axis=1, count=n) if len(a["draws"]) else None
        rows = bits.astype(np.bool_) if bits is not None else np.zeros((0, n), dtype=np.bool_)
        boolean, paid = a["boolean"].astype(np.bool_), a.get("paid")
        if paid is not None and paid.shape != (n,):
            raise ValueError(f"amounts of shape {paid.shape}")
        return cls(a["examples"], a["features"], boolean, a["draws"], rows, a["costs"], paid)


#: small blocks that were written or read last: open purchases are looked at before every call
_BLOCKS: dict[bytes, CellBlock] = {}


def _keep(raw: bytes, block: CellBlock) -> None:
    if len(_BLOCKS) >= 512:
        _BLOCKS.clear()
    if len(raw) <= 2048:
        _BLOCKS[raw] = block


@dataclass(frozen=True, slots=True, eq=False)
class Purchase:
    """A line of the ledger."""

    key: str
    task: str
    provider: str
    status: str
    owner: str
    created_at: float
    give_up_at: float
    block: CellBlock
    reserved: int = 0
    spent: int = 0
    answer: bytes | None = None
    note: str = ""
    settled_at: float = 0.0
    sequence: int = 0
    compacted: bool = False
    id: int = 0
    lifetime: int = 0
    #: what was billed beyond the reservation, or beyond a limit: owed, and never counted as spent
    over: int = 0

    @property
    def counted(self) -> Ints:
        """What each example counts at present: reserved, or spent."""
        costs, paid = self.block.costs, self.block.paid
        if self.reserved:
            return costs
        if not self.spent:
            return np.zeros_like(costs)
        if paid is not None:
            return paid
        return costs if self.spent == self.block.price else divided(self.spent, costs)

    def with_(self, **changes: Any) -> Purchase:
        """The same purchase with some fields changed."""
        values = list(_ALL(self))  # many times for every call: faster than dataclasses.replace
        for name, value in changes.items():
            values[_PLACE[name]] = value
        return Purchase(*values)


_FIELDS = tuple(field.name for field in fields(Purchase))
_PLACE = {name: i for i, name in enumerate(_FIELDS)}
_ALL = attrgetter(*_FIELDS)


def is_live(purchase: Purchase, now: float) -> bool:
    """Whether somebody is making this purchase at this moment.

    On this machine the life of its process decides, and no clock: a process may be stopped for an
    hour and then go on to call. On another machine it counts as alive until its time is over.
    """
    if purchase.status != "pending":
        return False
    if purchase.owner == me():
        return purchase.key in process().in_flight
    alive = is_alive(purchase.owner)
    return now <= purchase.give_up_at if alive is None else alive


def pack_values(values: Floats, boolean: Bools) -> bytes:
    """Values of a block (examples x features): a bit for a Boolean, eight bytes for a real."""
    bits = np.packbits(values[:, boolean] != 0, axis=None)
    return pack_arrays({"bits": bits, "reals": np.ascontiguousarray(values[:, ~boolean])})


def unpack_values(answer: bytes, block: CellBlock) -> Floats:
    """The inverse of :func:`pack_values`."""
    with readable("an answer in the store"):
        a = unpack_arrays(answer)
        n, wide = len(block.examples), int(block.boolean.sum())
        out = np.empty((n, len(block.features)))
        out[:, block.boolean] = np.unpackbits(a["bits"], count=n * wide).reshape(n, wide)
        out[:, ~block.boolean] = a["reals"]
    return out


# -- plain arrays as bytes and back: a JSON header, raw numbers, zlib; loading runs no code ----

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
