"""A tree from scratch on a table that no single machine holds: features sharded over workers.

Each worker holds some of the features of every example, packed. For a level of the tree the workers
are told which rows belong to which node (one bit per row says how it answered the last split); each
counts its own features and answers with its best gain and feature for every node. The best of
these, ties to the lowest feature, is the split; the worker that has the feature answers with one
bit per row. What travels is a bit per row and level and a few numbers per node and worker.

The tree is the one that :func:`thrifty.trees.growing.scratch.grow_from_scratch` grows, to the last
bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells import Source, as_source
from thrifty.cells.sources.packed import PackedSource
from thrifty.engines.pools import Actor, Pool, open_pool
from thrifty.errors import BadInput, BadParameter
from thrifty.labels.classes import Labels, read_classes
from thrifty.trees.gains.gain import gain_named
from thrifty.trees.growing.boolean_counts import BUFFER, Pending, batches, by_class, children, count
from thrifty.trees.growing.candidates import AllFeatures
from thrifty.trees.growing.grow import Chosen, grow
from thrifty.trees.growing.stuck import or_leaf
from thrifty.trees.tree import Split, Tree
from thrifty.typing import LabelsLike, TableLike

__all__ = ["Shard", "grow_sharded"]

_RETRIES = 3


class _Packed(Protocol):
    """Columns that are packed already: a source's own, or those on their way to a worker."""

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]: ...


class Shard:
    """The features first..last - 1 of every example, on a worker."""

    def __init__(
        self,
        source: _Packed,
        first: int,
        last: int,
        codes: NDArray[np.int64],
        n_classes: int,
        gain: str,
    ) -> None:
        self.first = first
        features = np.arange(first, last)
        self._tiles = kernels.empty_tiles(len(features), len(codes))
        for b in range(len(self._tiles)):
            some = features[b * kernels.TILE : (b + 1) * kernels.TILE]
            kernels.tile_of_columns(source.columns(some), self._tiles[b])
        self._gain, self._n = gain_named(gain), len(features)
        labels = Labels(codes, np.arange(n_classes))
        self._level = [Pending((), *labels.rows_by_class())]

    def best(self) -> list[tuple[float, int]]:
        """The best gain, and the feature that has it, for every node of the level."""
        found = []
        prices = np.ones(self._n)
        for batch in batches(self._level, self._tiles, len(self._level[0].starts) - 1):
            count(batch, self._tiles)
            for node in batch:
                assert node.counts is not None
                gains = self._gain(node.counts[:, : self._n], node.totals, prices)
                at = int(np.argmax(gains))
                found.append((float(gains[at]), self.first + at))
            self._forget_if_many(batch)
        return found

    def _forget_if_many(self, batch: list[Pending]) -> None:
        """Counts are kept for subtraction only where those of the whole level fit."""
        if len(self._level) * batch[0].counts.nbytes > BUFFER:  # type: ignore[union-attr]
            for node in batch:
                node.counts = None

    def answers(self, nodes: dict[int, int]) -> NDArray[np.uint64]:
        """One bit per example: how those of the given nodes answer the given features."""
        n = self._tiles.shape[1]
        mask = np.zeros(kernels.words_for(n), dtype=np.uint64)
        for node, feature in nodes.items():
            at = np.array([feature - self.first])
            here = kernels.mask_of_rows(self._level[node].rows, n)
            mask |= kernels.columns_of_tiles(self._tiles, at)[0] & here
        return mask

    def descend(self, split: list[int], answers: NDArray[np.uint64], grow: list[bool]) -> None:
        """Go to the next level: children of the nodes that were split, those that are to grow."""
        n = self._tiles.shape[1]
        one = _one_tile(answers, n)
        nodes = [self._level[i] for i in split]
        kept = all(node.counts is not None for node in nodes)
        below = (
            children(nodes, [0] * len(nodes), one, keep=False)
            if not kept
            else (_counted_children(nodes, one, self._tiles))
        )
        self._level = [child for child, grows in zip(below, grow) if grows]


def _counted_children(
    nodes: list[Pending], answers: NDArray[np.uint64], tiles: NDArray[np.uint64]
) -> list[Pending]:
    """As :func:`children`, with the answers given by another worker."""
    counts = [node.counts for node in nodes]
    below = children(nodes, [0] * len(nodes), answers, keep=False)
    small_ones, rest = [], []
    for i, whole in enumerate(counts):
        small, large = sorted(below[2 * i : 2 * i + 2], key=lambda child: len(child.rows))
        if not large.pure():
            small_ones.append(small)
            rest.append((whole, small, large))
    count(small_ones, tiles)
    for whole, small, large in rest:
        assert whole is not None and small.counts is not None
        large.counts = whole - small.counts
    return below


def grow_sharded(
    source: TableLike,
    y: LabelsLike,
    *,
    engine: object = "dask",
    n_jobs: int | None = None,
    n_shards: int | None = None,
    gain: str = "entropy",
    max_depth: int | None = None,
) -> Tree:
    """The tree learned from scratch, its features sharded over workers.

    ``source`` is a packed file (:meth:`Source.from_packed`; its folder must be readable where the
    workers are) or anything small enough to be sent. Leaves carry the codes of the sorted classes.

    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> print(grow_sharded(X, [0, 1, 1, 0], engine="threads", n_jobs=2, n_shards=2))
    x0?
    ├─ no: x1?
    │  ├─ no: 0
    │  └─ yes: 1
    └─ yes: x1?
       ├─ no: 1
       └─ yes: 0
    """
    read = as_source(source)
    labels = read_classes(y)
    if len(labels) != read.n_examples:
        raise BadInput(
            f"y must hold one label per example; X has {read.n_examples} examples and y has "
            f"{len(labels)} labels."
        )
    if not read.boolean.all():
        raise BadInput("sharded scratch takes Boolean features; some here are real-valued.")
    if engine == "loky":
        raise BadParameter(
            "joblib's processes keep nothing between calls, so they cannot hold a shard. Choose "
            "engine='threads', 'dask' or 'ray'."
        )
    if not isinstance(gain, str):
        raise BadParameter("gain must be a name: a function cannot be sent to every engine.")
    pool = open_pool(engine, n_jobs)
    try:
        for attempt in range(_RETRIES):
            try:
                shards = _open_shards(pool, read, labels, gain, n_shards or pool.n_jobs)
                return _grow(shards, labels, max_depth)
            except BadInput:
                raise
            except Exception:
                # A worker died and its shard with it: nothing was bought, so begin again.
                if attempt == _RETRIES - 1:
                    raise
        raise AssertionError("unreachable")
    finally:
        if pool is not engine:
            pool.close()


def _open_shards(
    pool: Pool, source: Source, labels: Labels, gain: str, n_shards: int
) -> list[tuple[int, Actor]]:
    """Whole tiles to each worker, as even as possible: (first feature, worker)."""
    n_tiles = -(-source.n_features // kernels.TILE)
    per_tile = n_tiles >= n_shards
    units = n_tiles if per_tile else source.n_features
    cuts = np.linspace(0, units, min(n_shards, units) + 1).astype(np.int64)
    if per_tile:
        cuts = np.minimum(cuts * kernels.TILE, source.n_features)
    shards = []
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist()):
        part: _Packed = source
        if not isinstance(source, PackedSource):
            part = _Columns(first, source.columns(np.arange(first, last)))
        made = pool.actor(Shard, part, first, last, labels.codes, labels.n_classes, gain)
        shards.append((first, made))
    return shards


@dataclass(frozen=True, eq=False)
class _Columns:
    """Some packed columns, on their way to a worker."""

    first: int
    packed: NDArray[np.uint64]

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        return np.ascontiguousarray(self.packed[features - self.first])


def _grow(shards: list[tuple[int, Actor]], labels: Labels, max_depth: int | None) -> Tree:
    n = len(labels)

    def choose(
        level: list[Pending], asked: list[NDArray[np.int64]]
    ) -> list[Chosen[Pending] | None]:
        found = [shard.call("best") for _, shard in shards]
        best = [max(each, key=_by_gain) for each in zip(*(f.result() for f in found))]
        chosen = {i: feature for i, (gain, feature) in enumerate(best) if gain > -np.inf}
        answers = _ask(shards, chosen, n)
        below = _children([level[i] for i in chosen], answers, n)
        last = max_depth is not None and len(level[0].path) + 1 >= max_depth
        grows = [not last and not child.pure() for child in below]
        going = [s.call("descend", list(chosen), answers, grows) for _, s in shards]
        for done in going:
            done.result()
        pairs = dict(zip(chosen, zip(below[::2], below[1::2])))
        return [
            Chosen(Split(best[i][1]), *pairs[i]) if i in pairs else None for i in range(len(level))
        ]

    on_stuck = or_leaf(None, max_depth, labels, by_class)
    root = Pending((), *labels.rows_by_class())
    everything = AllFeatures(1)  # the shards know their own
    return grow(root, everything, choose, on_stuck, max_depth=max_depth, by_level=True)


def _by_gain(found: tuple[float, int]) -> tuple[float, int]:
    return found[0], -found[1]


def _ask(shards: list[tuple[int, Actor]], chosen: dict[int, int], n: int) -> NDArray[np.uint64]:
    """Each worker answers for the nodes whose feature it has."""
    firsts = [first for first, _ in shards]
    asked: dict[int, dict[int, int]] = {}
    for node, feature in chosen.items():
        owner = int(np.searchsorted(firsts, feature, side="right")) - 1
        asked.setdefault(owner, {})[node] = feature
    mask = np.zeros(kernels.words_for(n), dtype=np.uint64)
    for answer in [shards[owner][1].call("answers", nodes) for owner, nodes in asked.items()]:
        mask |= answer.result()
    return mask


def _children(nodes: list[Pending], answers: NDArray[np.uint64], n: int) -> list[Pending]:
    return children(nodes, [0] * len(nodes), _one_tile(answers, n), keep=False)


def _one_tile(answers: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """A bit per example as the first feature of a tile."""
    one = np.zeros((1, n, 8), dtype=np.uint64)
    one[0, :, 0] = np.unpackbits(answers.view(np.uint8), bitorder="little", count=n)
    return one
