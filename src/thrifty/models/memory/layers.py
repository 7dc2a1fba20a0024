"""What is known of each feature, kept by column: blocks of columns, in each a few sorted layers.

A task adds one layer to each block it saw something of, with the features it saw there alone. Where
the layer below is not twice as large the two become one, so that a block has few layers and a
feature is written again a number of times that goes with the logarithm of the features known, not
with the tasks (O'Neil et al., *The log-structured merge-tree*, 1996). Layers never change: what a
task did not touch is shared with the memory before it, and need not be written again.

Quantile sketches say how a feature's values are spread among all rows, as earlier tasks saw it: how
many rows that rests on, the share of gaps, and up to 32 quantiles of the values. Rows of each class
count as the class does in the task, so that it is the spread among all rows, whatever the task
bought most of. The choice of features does not use it: looking at rows of the rare class alone and
comparing them with it did not pay (docs/models.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypedDict, TypeVar

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.typing import AnyArray

__all__ = ["COLUMNS", "Layered", "LookLayer", "SketchLayer", "remember"]

# Both set by hand before 0.2; nothing that is bought depends on them.
#: quantiles kept
_QUANTILES = 32
#: rows beyond which a sketch rests on no more, so that it can still change
_MOST = 2000


def remember(old: Sketch | None, values: Floats, weights: Floats) -> Sketch:
    """The sketch with further values, each weighted by what its row stands for.

    >>> note = remember(None, np.array([1.0, 2.0, np.nan, 3.0]), np.ones(4))
    >>> note["rows"], note["gaps"], note["at"][0], note["at"][-1]
    (4.0, 0.25, 1.0, 3.0)
    >>> remember(note, np.full(12, np.nan), np.ones(12))["gaps"]
    0.8125
    """
    here = ~np.isnan(values) & np.isfinite(values)
    n = float(weights.sum() ** 2 / (weights**2).sum()) if len(values) else 0.0  # Kish's rows
    mass = weights / weights.sum() * n if n else weights
    gaps = float(mass[np.isnan(values)].sum())
    known, parts = values[here], mass[here]
    rows = n
    if old:
        before = float(old["rows"])
        gaps += float(old["gaps"]) * before
        rows += before
        at = np.array(old["at"], dtype=np.float64)
        if len(at):
            known = np.concatenate([known, at])
            share = before * (1 - float(old["gaps"])) / len(at)
            parts = np.concatenate([parts, np.full(len(at), share)])
    return {
        "rows": min(rows, float(_MOST)),
        "gaps": gaps / rows if rows else 0.0,
        "at": _quantiles(known, parts).tolist(),
    }


def _quantiles(values: Floats, mass: Floats) -> Floats:
    """At most 32 values, each standing for the same mass."""
    if not len(values) or mass.sum() <= 0:
        return np.zeros(0)
    order = np.argsort(values, kind="stable")
    below = np.cumsum(mass[order]) - mass[order] / 2
    n = min(_QUANTILES, len(values))
    wanted = (np.arange(n) + 0.5) / n * mass.sum()
    at = np.clip(np.searchsorted(below, wanted), 0, len(values) - 1)
    return np.asarray(values[order][at])


#: columns of a block: what a store writes at most anew for one feature. Set by hand; what a task
#: writes then is in docs/models.md, *Memory*
COLUMNS = 1 << 16
#: counts are whole thousandths, so that their sums do not depend on the order of the layers
PARTS = 1000
_NONE = np.zeros(0, dtype=np.int64)


class Sketch(TypedDict):
    """A quantile sketch of a feature: rows it rests on, share of gaps, quantiles of its values."""

    rows: float
    gaps: float
    at: list[float]


class Layer(Protocol):
    """Something about some features of a block."""

    @property
    def features(self) -> Ints:
        """Ascending, each once."""

    def with_later(self, later: Self) -> Self:
        """Both as one."""

    def part(self, start: int, end: int) -> Self:
        """Of the features at these places alone."""

    def to_bytes(self) -> bytes:
        """For a store."""


AnyLayer = TypeVar("AnyLayer", bound=Layer)


@dataclass(frozen=True, eq=False)
class Layered(Generic[AnyLayer]):
    """The layers of every block, the oldest first; immutable.

    >>> one = LookLayer.of(np.array([3, 70_000]), np.array([2.0, 4.0]), np.ones(2), np.array([3]))
    >>> first = Layered().plus(one)
    >>> both = first.plus(one.part(0, 1))
    >>> sorted(both.blocks), both.blocks[1] is first.blocks[1]
    ([0, 1], True)
    """

    blocks: Mapping[int, tuple[AnyLayer, ...]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[AnyLayer]:
        """All layers, those of a block in the order in which they came."""
        for layers in self.blocks.values():
            yield from layers

    def plus(self, layer: AnyLayer) -> Layered[AnyLayer]:
        """With a further layer, cut into blocks."""
        blocks = dict(self.blocks)
        at = layer.features // COLUMNS
        ends = np.flatnonzero(np.diff(at, append=-1)) + 1
        start = 0
        for end in ends.tolist():
            block = int(at[start])
            blocks[block] = _stacked(blocks.get(block, ()), layer.part(start, end))
            start = end
        return Layered(blocks)

    @classmethod
    def at(cls, places: Mapping[tuple[int, int], AnyLayer]) -> Layered[AnyLayer]:
        """The inverse of :meth:`named`: layers by block and level."""
        blocks: dict[int, tuple[AnyLayer, ...]] = {}
        for block, level in sorted(places):
            if level != len(blocks.get(block, ())):
                raise ValueError(f"a memory without level {len(blocks.get(block, ()))} of a block")
            blocks[block] = (*blocks.get(block, ()), places[block, level])
        return cls(blocks)

    def named(self, kind: str) -> dict[str, AnyLayer]:
        """Every layer by its place, as a store names it."""
        return {
            f"{kind} {block} {level}": layer
            for block, layers in self.blocks.items()
            for level, layer in enumerate(layers)
        }

    def of(self, feature: int) -> Iterator[tuple[AnyLayer, int]]:
        """The layers that hold a feature, the newest first, each with its place there."""
        for layer in reversed(self.blocks.get(feature // COLUMNS, ())):
            at = int(np.searchsorted(layer.features, feature))
            if at < len(layer.features) and layer.features[at] == feature:
                yield layer, at


def _stacked(layers: tuple[AnyLayer, ...], new: AnyLayer) -> tuple[AnyLayer, ...]:
    below = list(layers)
    while below and len(below[-1].features) < 2 * len(new.features):
        new = below.pop().with_later(new)
    return (*below, new)


@dataclass(frozen=True, eq=False)
class LookLayer:
    """How often each feature was looked at, was 1, and was useful; layers add up."""

    features: Ints
    looks: Ints
    ones: Ints
    useful: Ints

    @classmethod
    def of(cls, features: Ints, looks: Floats, ones: Floats, useful: Ints) -> LookLayer:
        """From what one task saw; ``useful`` are the features that were, once each."""
        known = np.union1d(features, useful).astype(np.int64)
        counts = np.zeros((3, len(known)), dtype=np.int64)
        at = np.searchsorted(known, features)
        counts[0, at] = np.rint(np.asarray(looks) * PARTS)
        counts[1, at] = np.rint(np.asarray(ones) * PARTS)
        counts[2, np.searchsorted(known, useful)] = 1
        return cls(known, *counts)

    @classmethod
    def together(cls, layers: Sequence[LookLayer]) -> LookLayer:
        """The sum of some."""
        known = np.unique(np.concatenate([_NONE, *(layer.features for layer in layers)]))
        counts = np.zeros((3, len(known)), dtype=np.int64)
        for layer in layers:
            at = np.searchsorted(known, layer.features)
            counts[:, at] += (layer.looks, layer.ones, layer.useful)
        return cls(known, *counts)

    def with_later(self, later: LookLayer) -> LookLayer:
        return LookLayer.together([self, later])

    def only_useful(self) -> LookLayer:
        """Of the features that were useful alone."""
        at = self.useful > 0
        return LookLayer(self.features[at], self.looks[at], self.ones[at], self.useful[at])

    def part(self, start: int, end: int) -> LookLayer:
        at = slice(start, end)
        return LookLayer(self.features[at], self.looks[at], self.ones[at], self.useful[at])

    def to_bytes(self) -> bytes:
        return pack_arrays(
            {
                **_steps(self.features),
                "looks": self.looks,
                "ones": self.ones,
                "useful": self.useful.astype(np.int32),
            }
        )

    @classmethod
    def from_bytes(cls, block: bytes) -> LookLayer:
        """The inverse of :meth:`to_bytes`."""
        found = unpack_arrays(block)
        features = _features(found)
        parts = [found[name].astype(np.int64) for name in ("looks", "ones", "useful")]
        if any(part.shape != features.shape or (part < 0).any() for part in parts):
            raise ValueError("counts of features that do not fit the features")
        return cls(features, *parts)


@dataclass(frozen=True, eq=False)
class SketchLayer:
    """A quantile sketch of each feature (:mod:`thrifty.models.memory.layers`).

    Of a feature the newest counts: it was made from the one before.
    """

    features: Ints
    rows: Floats
    gaps: Floats
    ends: Ints  #: of each feature, where its quantiles end in ``at``
    at: Floats

    @classmethod
    def of(cls, sketches: Mapping[int, Sketch]) -> SketchLayer:
        """From a sketch for each feature."""
        features = np.array(sorted(sketches), dtype=np.int64)
        each = [sketches[f] for f in features.tolist()]
        at = [np.array(sketch["at"], dtype=np.float64) for sketch in each]
        return cls(
            features,
            np.array([sketch["rows"] for sketch in each], dtype=np.float64),
            np.array([sketch["gaps"] for sketch in each], dtype=np.float64),
            np.cumsum([len(values) for values in at], dtype=np.int64),
            np.concatenate([np.zeros(0), *at]),
        )

    def sketch(self, place: int) -> Sketch:
        """That of the feature at a place."""
        start = int(self.ends[place - 1]) if place else 0
        return {
            "rows": float(self.rows[place]),
            "gaps": float(self.gaps[place]),
            "at": self.at[start : int(self.ends[place])].tolist(),
        }

    def by_feature(self) -> dict[int, Sketch]:
        """Every sketch."""
        return {f: self.sketch(i) for i, f in enumerate(self.features.tolist())}

    def with_later(self, later: SketchLayer) -> SketchLayer:
        return SketchLayer.of({**self.by_feature(), **later.by_feature()})

    def part(self, start: int, end: int) -> SketchLayer:
        first, last = (int(self.ends[i - 1]) if i else 0 for i in (start, end))
        cut = slice(start, end)
        return SketchLayer(
            self.features[cut],
            self.rows[cut],
            self.gaps[cut],
            self.ends[cut] - first,
            self.at[first:last],
        )

    def to_bytes(self) -> bytes:
        return pack_arrays(
            {
                **_steps(self.features),
                "rows": self.rows,
                "gaps": self.gaps,
                "sizes": np.diff(self.ends, prepend=0).astype(np.int32),
                "at": self.at,
            }
        )

    @classmethod
    def from_bytes(cls, block: bytes) -> SketchLayer:
        """The inverse of :meth:`to_bytes`."""
        found = unpack_arrays(block)
        features, sizes = _features(found), found["sizes"].astype(np.int64)
        each = (found["rows"], found["gaps"], sizes)
        odd = any(part.shape != features.shape for part in each) or (sizes < 0).any()
        if odd or sizes.sum() != len(found["at"]):
            raise ValueError("sketches of features that do not fit the features")
        rows, gaps, at = (found[name].astype(np.float64) for name in ("rows", "gaps", "at"))
        return cls(features, rows, gaps, np.cumsum(sizes), at)


def _steps(features: Ints) -> dict[str, AnyArray]:
    """Ascending numbers as steps, which compress well."""
    first = features[:1]
    return {"first": first, "steps": np.diff(features).astype(np.int32)}


def _features(found: Mapping[str, AnyArray]) -> Ints:
    """The inverse of :func:`_steps`, checked."""
    steps = found["steps"].astype(np.int64)
    features: Ints = np.cumsum(np.concatenate([found["first"].astype(np.int64), steps]))
    if (steps < 1).any() or (features < 0).any() or len(found["first"]) > 1:
        raise ValueError("features of a memory that do not ascend")
    return features
