"""What past tasks taught a lifetime of models: how often Boolean features are 1, what was useful.

Outside the rarer class of each task, how often every Boolean feature was sampled and how often it
was 1 (the *background*): later tasks then see sooner what their rarer class has more of
(docs/research). Beside that, which features were useful, for people, and what the numbers of
categories stand for.

Counts are kept by column, in blocks of columns that never change, so that a task writes the blocks
that it saw something of and shares the rest with the memory before it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from thrifty.cells import Cells
from thrifty.cells.ledger.purchase import pack_arrays, unpack_arrays
from thrifty.typing import Bools, Floats, Ints, Json, JsonLike

#: what the numbers of a category feature stand for
Categories: TypeAlias = tuple[str, ...]

#: columns of a block; counts are whole thousandths, so that the order of sums does not matter
_COLUMNS, _PARTS = 1 << 16, 1000
_KEPT = ("looks", "ones", "useful")
#: how blocks of counts and of categories are called in a store
_SAMPLES, _NOTE, _CATEGORIES = "looks", "note", "words of "


@dataclass(frozen=True, eq=False)
class FeatureCounts:
    """How often each feature was sampled, was 1, and was useful, a line each; some add up."""

    features: Ints
    counts: Ints

    @classmethod
    def of(cls, features: Ints, samples: Floats, ones: Floats, useful: Ints) -> FeatureCounts:
        """From what one task saw; ``useful`` are the features that were, once each."""
        seen = np.rint(np.array([samples, ones, 0.0 * samples]) * _PARTS).astype(np.int64)
        used = np.outer([0, 0, 1], np.ones(len(useful), dtype=np.int64))
        return cls.together([cls(features, seen), cls(useful, used)])

    @classmethod
    def together(cls, some: Sequence[FeatureCounts]) -> FeatureCounts:
        """The sum of some."""
        every = np.concatenate([np.zeros(0, dtype=np.int64), *(one.features for one in some)])
        known = np.unique(every).astype(np.int64)
        counts = np.zeros((len(_KEPT), len(known)), dtype=np.int64)
        for one in some:
            counts[:, np.searchsorted(known, one.features)] += one.counts
        return cls(known, counts)

    def by_block(self) -> dict[int, FeatureCounts]:
        """In blocks of columns, each by its number."""
        at = self.features // _COLUMNS
        return {int(block): self.part(at == block) for block in np.unique(at)}

    def part(self, which: slice | Bools) -> FeatureCounts:
        """Of some features."""
        return FeatureCounts(self.features[which], self.counts[:, which])

    def to_bytes(self) -> bytes:
        """Ascending features as steps, which compress well, and the counts."""
        samples, ones, useful = self.counts
        return pack_arrays(
            {
                "first": self.features[:1],
                "steps": np.diff(self.features).astype(np.int32),
                "looks": samples,
                "ones": ones,
                "useful": useful.astype(np.int32),
            }
        )

    @classmethod
    def from_bytes(cls, block: bytes) -> FeatureCounts:
        """The inverse of :meth:`to_bytes`."""
        found = {name: part.astype(np.int64) for name, part in unpack_arrays(block).items()}
        features = np.cumsum(np.concatenate([found["first"], found["steps"]]))
        if (found["steps"] < 1).any() or (features < 0).any() or len(found["first"]) > 1:
            raise ValueError("features of a memory that do not ascend")
        parts = [found[name] for name in _KEPT]
        if any(part.shape != features.shape or (part < 0).any() for part in parts):
            raise ValueError("counts of features that do not fit the features")
        return cls(features, np.array(parts))


@dataclass(frozen=True, eq=False)
class Note:
    """The categories of a feature as a block of a store; its number says which came first."""

    number: int
    words: Categories

    def to_bytes(self) -> bytes:
        return json.dumps(self.words).encode()


@dataclass(frozen=True, eq=False)
class MemoryUpdate:
    """What one task adds to the memory, whatever others have added meanwhile.

    ``features``, ``samples``, ``ones``: Boolean features that were sampled, how often, and how
    often they were 1, each class by its share. ``useful``: features that its model uses.
    ``categories``: what the numbers of each category feature stand for.
    """

    features: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    samples: Floats = field(default_factory=lambda: np.zeros(0))
    ones: Floats = field(default_factory=lambda: np.zeros(0))
    useful: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    is_task: bool = True
    categories: Mapping[str, Categories] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Memory:
    """The background of the features; immutable.

    >>> update = MemoryUpdate(np.array([4]), np.array([10.0]), np.array([3.0]), np.array([4]))
    >>> memory = Memory().after(update, n_features=6)
    >>> memory.tasks, memory.background(6)[0].tolist(), len(memory)
    (1, [0.0, 0.0, 0.0, 0.0, 10.0, 0.0], 1)
    """

    n_features: int = 0
    tasks: int = 0
    counts: Mapping[int, FeatureCounts] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many features were ever useful."""
        return len(self._useful.features)

    def __iter__(self) -> Iterator[int]:
        """The features that were useful, most often first."""
        found = self._useful
        return iter(found.features[np.argsort(-found.counts[2], kind="stable")].tolist())

    @cached_property
    def _useful(self) -> FeatureCounts:
        return FeatureCounts.together([one.part(one.counts[2] > 0) for one in self.counts.values()])

    @property
    def words(self) -> dict[str, Categories]:
        """What the numbers of each category feature stand for, in this lifetime."""
        return {name: note.words for name, note in self.notes.items()}

    def background(self, n_features: int) -> tuple[Floats, Floats]:
        """How often every feature was sampled and was 1; zeros for those that are new."""
        counts = np.zeros((2, max(n_features, self.n_features)), dtype=np.int64)
        for one in self.counts.values():
            counts[:, one.features] = one.counts[:2]
        samples, ones = counts[:, :n_features] / _PARTS
        return samples, ones

    def after(self, update: MemoryUpdate, n_features: int) -> Memory:
        """The memory with what one more task taught."""
        counts, notes = dict(self.counts), dict(self.notes)
        seen = FeatureCounts.of(update.features, update.samples, update.ones, update.useful)
        for block, new in seen.by_block().items():
            before = [counts[block]] if block in counts else []
            counts[block] = FeatureCounts.together([*before, new])
        for name, words in update.categories.items():
            if name not in notes or notes[name].words != tuple(words):
                free = 1 + max((note.number for note in notes.values()), default=-1)
                number = notes[name].number if name in notes else free
                notes[name] = Note(number, tuple(words))
        width = max(n_features, self.n_features)
        return Memory(width, self.tasks + update.is_task, counts, notes)

    def head(self) -> Json:
        """What a store rewrites after every task: a few numbers."""
        return {"n_features": self.n_features, "tasks": self.tasks}

    def blocks(self) -> dict[str, FeatureCounts | Note]:
        """The rest, by name; a block that is the same object as before is the same."""
        notes = {f"{_NOTE} {n.number} {_CATEGORIES}{name}": n for name, n in self.notes.items()}
        counts = {f"{_SAMPLES} {block} 0": one for block, one in self.counts.items()}
        return {**counts, **notes}

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        every = FeatureCounts.together(list(self.counts.values()))
        looked = base64.b64encode(every.to_bytes()).decode()
        words = {name: list(words) for name, words in self.words.items()}
        return {**self.head(), "looked": looked, "words": words}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Memory:
        """The inverse of :meth:`to_dict`; or of :meth:`head` with the bytes of all ``blocks``.

        Of a memory that an earlier version wrote, what is not known here is left out.
        """
        # features that a memory may know, whoever wrote it: what is read from a store takes
        # bounded memory
        widest = 50_000_000
        width = data["n_features"]
        if not isinstance(width, int) or not 0 <= width <= widest:
            raise ValueError(f"a memory of {width!r} features")
        counts, notes = _from_blocks(data["blocks"]) if "blocks" in data else _from_json(data)
        for one in counts.values():
            if one.features.max(initial=-1) >= width:
                raise ValueError(f"a memory of {width} features knows another one")
        return cls(width, int(data["tasks"]), counts, notes)


def categories_of(cells: Cells) -> dict[str, Categories]:
    """What the numbers of each category feature stand for, behind a reader."""
    return {cells.feature_names[f]: tuple(c) for f, c in cells.categories.items()}


def _from_blocks(blocks: Mapping[str, bytes]) -> tuple[dict[int, FeatureCounts], dict[str, Note]]:
    """Earlier versions have several levels of a block, which add up."""
    found: dict[int, dict[int, FeatureCounts]] = {}
    notes: dict[str, Note] = {}
    for name, block in blocks.items():
        kind, first, rest = name.split(" ", 2)
        if kind == _SAMPLES:
            found.setdefault(int(first), {})[int(rest)] = FeatureCounts.from_bytes(block)
        elif kind == _NOTE and rest.startswith(_CATEGORIES):
            notes[rest.removeprefix(_CATEGORIES)] = Note(int(first), tuple(json.loads(block)))
    for number, levels in found.items():
        if sorted(levels) != list(range(len(levels))):
            raise ValueError(f"a memory without a level of block {number}")
    counts = {n: FeatureCounts.together(list(levels.values())) for n, levels in found.items()}
    return counts, notes


def _from_json(data: JsonLike) -> tuple[dict[int, FeatureCounts], dict[str, Note]]:
    said = enumerate(data.get("words", {}).items())
    notes = {name: Note(i, tuple(words)) for i, (name, words) in said}
    if "looked" not in data:
        return {}, notes
    every = FeatureCounts.from_bytes(base64.b64decode(data["looked"], validate=True))
    return every.by_block(), notes
