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

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

import numpy as np

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.cells.ledger.owner import is_alive, me, process
from thrifty.cells.prices.money import total
from thrifty.cells.sources.answered import divided
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
