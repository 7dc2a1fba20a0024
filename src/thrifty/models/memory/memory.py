"""What past tasks taught a lifetime of models: the background of the features.

Of every feature: how often it was looked at outside the rare class, and how often it was 1 there;
of numbers how they are spread; how often it was useful. Kept by column (:mod:`.layers`): a task
adds what it saw, and shares the rest with the memory before it, in memory and in a store.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Floats
from thrifty.cells import Cells
from thrifty.cells.ledger.arrays import unpack_arrays
from thrifty.models.memory.layers import PARTS, Layered, LookLayer, Spread, SpreadLayer
from thrifty.typing import AnyArray, Json, JsonLike

__all__ = ["Lesson", "Memory", "words_of"]

#: counts of more features than this are packed as text
_FEW = 1000
#: notes that name the categories of a feature
_WORDS = "words of "
#: how an earlier version named the spread of a feature's values among its notes
_OLD_SPREAD = "values:"
#: what the blocks of a memory are called in a store
_LOOKS, _SPREADS, _NOTE = "looks", "spreads", "note"
#: what notes of whole rows begin with, and their blocks: a purge takes these out of a store
ROWS = "rows:"
_ROWS = "rows"
#: features that a memory may know, whoever wrote it
_WIDEST = 50_000_000

_Parts: TypeAlias = "tuple[Layered[LookLayer], Layered[SpreadLayer], Mapping[str, _Note]]"


@dataclass(frozen=True, eq=False)
class Lesson:
    """What one task adds to the memory, whatever others have added meanwhile.

    ``features``, ``looks``, ``ones``: Boolean features that were looked at, how often, and how
    often they were 1, each class weighted by its share. ``spreads``: of other features how their
    values are spread, with what was known before. ``notes``: anything else, as JSON. Of spreads
    and notes the newest stays.
    """

    features: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    looks: Floats = field(default_factory=lambda: np.zeros(0))
    ones: Floats = field(default_factory=lambda: np.zeros(0))
    useful: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    notes: JsonLike = field(default_factory=dict)
    is_task: bool = True
    spreads: Mapping[int, Spread] = field(default_factory=dict)

    def with_words(self, words: Mapping[str, tuple[str, ...]]) -> Lesson:
        """The lesson, with what the numbers of each category feature stand for."""
        said = {f"{_WORDS}{name}": list(categories) for name, categories in words.items()}
        return replace(self, notes={**self.notes, **said})


@dataclass(frozen=True, eq=False)
class _Note:
    """A note as a block of a store; its number says which came first."""

    number: int
    said: Any

    def to_bytes(self) -> bytes:
        return json.dumps(self.said).encode()


@dataclass(frozen=True, eq=False)
class Memory:
    """The background of the features; immutable.

    >>> lesson = Lesson(np.array([4]), np.array([10.0]), np.array([3.0]), np.array([4]))
    >>> memory = Memory().after(lesson, n_features=6)
    >>> memory.tasks, memory.looks.tolist(), len(memory)
    (1, [0.0, 0.0, 0.0, 0.0, 10.0, 0.0], 1)
    """

    n_features: int = 0
    tasks: int = 0
    counts: Layered[LookLayer] = field(default_factory=Layered)
    spreads: Layered[SpreadLayer] = field(default_factory=Layered)
    written: Mapping[str, _Note] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many features were ever useful."""
        return len(self._useful[0])

    def __iter__(self) -> Iterator[int]:
        """The features that were useful, most often first."""
        features, often = self._useful
        return iter(features[np.argsort(-often, kind="stable")].tolist())

    @cached_property
    def _useful(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Features that were useful, ascending, and how often."""
        every = LookLayer.together([layer.only_useful() for layer in self.counts])
        return every.features, every.useful

    @property
    def looks(self) -> Floats:
        """How often each feature was looked at."""
        return self.background(self.n_features)[0]

    @property
    def ones(self) -> Floats:
        """How often each was 1."""
        return self.background(self.n_features)[1]

    @property
    def useful(self) -> Floats:
        """In how many tasks each was useful."""
        return self.usefulness(self.n_features)

    @property
    def notes(self) -> Json:
        """What tasks wrote down beside it."""
        return {key: note.said for key, note in self.written.items()}

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """What the numbers of each category feature stand for, in this lifetime."""
        return {
            key.removeprefix(_WORDS): tuple(note.said)
            for key, note in self.written.items()
            if key.startswith(_WORDS)
        }

    def noted(self, kind: str) -> list[Any]:
        """Notes whose key begins so, the oldest first."""
        return [note.said for key, note in self.written.items() if key.startswith(kind)]

    def spread(self, feature: int) -> Spread | None:
        """How the values of a feature are spread, as far as tasks have seen it."""
        for layer, at in self.spreads.of(feature):
            return layer.spread(at)
        return None

    def background(self, n_features: int) -> tuple[Floats, Floats]:
        """Looks and ones of every feature; zeros for those that are new."""
        width = max(n_features, self.n_features)
        counts = np.zeros((2, width), dtype=np.int64)
        for layer in self.counts:
            counts[0, layer.features] += layer.looks
            counts[1, layer.features] += layer.ones
        looks, ones = counts[:, :n_features] / PARTS
        return looks, ones

    def usefulness(self, n_features: int) -> Floats:
        """In how many tasks each feature was useful."""
        found = np.zeros(max(n_features, self.n_features))
        features, often = self._useful
        found[features] = often
        return found[:n_features]

    def after(self, lesson: Lesson, n_features: int) -> Memory:
        """The memory with what one more task taught."""
        counts, spreads = self.counts, self.spreads
        seen = LookLayer.of(lesson.features, lesson.looks, lesson.ones, lesson.useful)
        if len(seen.features):
            counts = counts.plus(seen)
        if lesson.spreads:
            spreads = spreads.plus(SpreadLayer.of(lesson.spreads))
        return Memory(
            max(n_features, self.n_features), self.tasks + lesson.is_task, counts, spreads,
            _with_notes(self.written, lesson.notes),
        )  # fmt: skip

    def head(self) -> Json:
        """What a store rewrites after every task: a few numbers."""
        return {"n_features": self.n_features, "tasks": self.tasks}

    def blocks(self) -> dict[str, LookLayer | SpreadLayer | _Note]:
        """The rest, by name; a block that is the same object as before is the same."""
        return {
            **self.counts.named(_LOOKS),
            **self.spreads.named(_SPREADS),
            **{f"{_kind(key)} {note.number} {key}": note for key, note in self.written.items()},
        }

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        every = LookLayer.together(list(self.counts))
        counts: Json = {
            "features": every.features.tolist(),
            "looks": (every.looks / PARTS).tolist(),
            "ones": (every.ones / PARTS).tolist(),
            "useful": every.useful.tolist(),
        }
        if len(every.features) > _FEW:
            counts = {"looked": base64.b64encode(every.to_bytes()).decode()}
        spreads: dict[int, Spread] = {}
        for layer in self.spreads:
            spreads |= layer.by_feature()
        by_name = {str(f): spreads[f] for f in sorted(spreads)}
        return {**self.head(), **counts, "spreads": by_name, "notes": self.notes}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Memory:
        """The inverse of :meth:`to_dict`; or of :meth:`head` with the bytes of all ``blocks``."""
        width = data["n_features"]
        if not isinstance(width, int) or not 0 <= width <= _WIDEST:
            raise ValueError(f"a memory of {width!r} features")
        if "blocks" in data:
            counts, spreads, notes = _from_blocks(data["blocks"])
        else:
            counts, spreads, notes = _from_json(data)
        for layer in (*counts, *spreads):
            if len(layer.features) and layer.features[-1] >= width:
                raise ValueError(f"a memory of {width} features knows another one")
        return cls(width, int(data["tasks"]), counts, spreads, notes)


def words_of(cells: Cells) -> dict[str, tuple[str, ...]]:
    """What the numbers of each category feature stand for, behind a door."""
    return {cells.feature_names[f]: tuple(c) for f, c in cells.categories.items()}


def _kind(key: str) -> str:
    return _ROWS if key.startswith(ROWS) else _NOTE


def _with_notes(written: Mapping[str, _Note], new: JsonLike) -> Mapping[str, _Note]:
    """Further notes; one that says what it said before stays as it is."""
    after = dict(written)
    free = 1 + max((note.number for note in written.values()), default=-1)
    for key, said in new.items():
        if key not in after:
            after[key], free = _Note(free, said), free + 1
        elif after[key].said != said:
            after[key] = _Note(after[key].number, said)
    return after


def _from_blocks(blocks: Mapping[str, bytes]) -> _Parts:
    """What a store holds, by name."""
    looked: dict[tuple[int, int], LookLayer] = {}
    spread: dict[tuple[int, int], SpreadLayer] = {}
    notes: dict[tuple[int, str], _Note] = {}
    for name, block in blocks.items():
        kind, first, rest = name.split(" ", 2)
        if kind == _LOOKS:
            looked[int(first), int(rest)] = LookLayer.from_bytes(block)
        elif kind == _SPREADS:
            spread[int(first), int(rest)] = SpreadLayer.from_bytes(block)
        elif kind in (_NOTE, _ROWS):
            notes[int(first), rest] = _Note(int(first), json.loads(block))
    written = {key: notes[number, key] for number, key in sorted(notes)}
    return Layered.at(looked), Layered.at(spread), written


def _from_json(data: JsonLike) -> _Parts:
    """What :meth:`Memory.to_dict` says now, and what it said before."""
    if "looked" in data:
        every = LookLayer.from_bytes(base64.b64decode(data["looked"], validate=True))
    else:
        said = _unpacked(data["packed"]) if "packed" in data else data
        numbers = np.array(said["features"], dtype=np.int64)
        looks, ones = (np.array(said[name], dtype=np.float64) for name in ("looks", "ones"))
        often = np.array(said["useful"], dtype=np.int64)
        seen = LookLayer.of(numbers, looks, ones, numbers)
        if often.shape != seen.features.shape:
            raise ValueError("counts of features that do not fit the features")
        every = replace(seen, useful=often)
    notes, spreads = {}, {int(f): spread for f, spread in data.get("spreads", {}).items()}
    for key, note in data["notes"].items():
        if key.startswith(_OLD_SPREAD):
            spreads[int(key.removeprefix(_OLD_SPREAD))] = note
        else:
            notes[key] = note
    none: Layered[SpreadLayer] = Layered()
    return (
        Layered[LookLayer]().plus(every) if len(every.features) else Layered(),
        none.plus(SpreadLayer.of(spreads)) if spreads else none,
        _with_notes({}, notes),
    )


def _unpacked(text: str) -> dict[str, AnyArray]:
    """Counts of many features as an earlier version packed them."""
    small = unpack_arrays(base64.b64decode(text, validate=True))
    return {
        "features": np.cumsum(small["steps"].astype(np.int64)),
        "looks": small["looks"] / PARTS,
        "ones": small["ones"] / PARTS,
        "useful": small["useful"],
    }
