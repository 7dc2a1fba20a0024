"""What past tasks taught a lifetime of models: the background of the features.

Of every feature: how often it was looked at outside the rare class, and how often it was 1 there;
of numbers a quantile sketch; how often it was useful. Kept by column (:mod:`.layers`): a task
adds what it saw, and shares the rest with the memory before it, in memory and in a store. Beside
that rows, words and models (:mod:`.notes`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.cells.ledger.arrays import unpack_arrays
from thrifty.models.memory.layers import PARTS, Layered, LookLayer, Sketch, SketchLayer
from thrifty.models.memory.notes import (
    Note,
    Notes,
    PackedRows,
    Words,
    notes_from_blocks,
    notes_from_json,
)
from thrifty.typing import AnyArray, Json, JsonLike

__all__ = ["Lesson", "Memory", "words_of"]

#: counts of more features than this are packed as text: JSON of lists grows long. Set by hand
_FEW = 1000
#: how an earlier version named the sketch of a feature's values among its notes
_OLD_SKETCH = "values:"
#: what the blocks of layers are called in a store
_LOOKS = "looks"
_SKETCHES = "spreads"
#: features that a memory may know, whoever wrote it: what is read from a store takes no more memory
_WIDEST = 50_000_000

_Parts: TypeAlias = "tuple[Layered[LookLayer], Layered[SketchLayer], Notes]"


@dataclass(frozen=True, eq=False)
class Lesson:
    """What one task adds to the memory, whatever others have added meanwhile.

    ``features``, ``looks``, ``ones``: Boolean features that were looked at, how often, and how
    often they were 1, each class weighted by its share. ``useful``: features that its model uses.
    ``sketches``: of other features how their values are spread, with what was known before.
    ``controls``: rows that later tasks may take for controls, by the place they take; ``cohort``:
    rows that were bought whole. ``words``: what the numbers of each category feature stand for.
    ``hypotheses``: models that later tasks may accept, by digest. Of sketches, words and what
    stands at the same place the newest stays.
    """

    features: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    looks: Floats = field(default_factory=lambda: np.zeros(0))
    ones: Floats = field(default_factory=lambda: np.zeros(0))
    useful: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    is_task: bool = True
    sketches: Mapping[int, Sketch] = field(default_factory=dict)
    controls: Mapping[int, PackedRows] = field(default_factory=dict)
    cohort: PackedRows | None = None
    words: Mapping[str, Words] = field(default_factory=dict)
    hypotheses: Mapping[str, JsonLike] = field(default_factory=dict)


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
    sketches: Layered[SketchLayer] = field(default_factory=Layered)
    notes: Notes = field(default_factory=Notes)

    def __len__(self) -> int:
        """How many features were ever useful."""
        return len(self._useful[0])

    def __iter__(self) -> Iterator[int]:
        """The features that were useful, most often first."""
        features, often = self._useful
        return iter(features[np.argsort(-often, kind="stable")].tolist())

    @cached_property
    def _useful(self) -> tuple[Ints, Ints]:
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
    def words(self) -> dict[str, Words]:
        """What the numbers of each category feature stand for, in this lifetime."""
        return {name: note.value for name, note in self.notes.words.items()}

    @property
    def hypotheses(self) -> list[JsonLike]:
        """Earlier models that a task may accept, the oldest first."""
        return [note.value for note in self.notes.hypotheses.values()]

    @property
    def controls(self) -> list[PackedRows]:
        """Rows of earlier tasks, packed."""
        return [note.value for note in self.notes.controls.values()]

    @property
    def cohorts(self) -> list[PackedRows]:
        """Rows of cohorts, packed, the oldest first."""
        return [note.value for note in self.notes.cohorts.values()]

    def sketch(self, feature: int) -> Sketch | None:
        """How the values of a feature are spread, as far as tasks have seen it."""
        for layer, at in self.sketches.of(feature):
            return layer.sketch(at)
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
        counts, sketches = self.counts, self.sketches
        seen = LookLayer.of(lesson.features, lesson.looks, lesson.ones, lesson.useful)
        if len(seen.features):
            counts = counts.plus(seen)
        if lesson.sketches:
            sketches = sketches.plus(SketchLayer.of(lesson.sketches))
        notes = self.notes.plus(
            controls=lesson.controls,
            cohort=lesson.cohort,
            words=lesson.words,
            hypotheses=lesson.hypotheses,
        )
        width = max(n_features, self.n_features)
        return Memory(width, self.tasks + lesson.is_task, counts, sketches, notes)

    def head(self) -> Json:
        """What a store rewrites after every task: a few numbers."""
        return {"n_features": self.n_features, "tasks": self.tasks}

    def blocks(self) -> dict[str, LookLayer | SketchLayer | Note[object]]:
        """The rest, by name; a block that is the same object as before is the same."""
        return {
            **self.counts.named(_LOOKS),
            **self.sketches.named(_SKETCHES),
            **self.notes.blocks(),
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
        sketches: dict[int, Sketch] = {}
        for layer in self.sketches:
            sketches |= layer.by_feature()
        by_name = {str(f): sketches[f] for f in sorted(sketches)}
        return {**self.head(), **counts, "spreads": by_name, "notes": self.notes.to_json()}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Memory:
        """The inverse of :meth:`to_dict`; or of :meth:`head` with the bytes of all ``blocks``."""
        width = data["n_features"]
        if not isinstance(width, int) or not 0 <= width <= _WIDEST:
            raise ValueError(f"a memory of {width!r} features")
        if "blocks" in data:
            counts, sketches, notes = _from_blocks(data["blocks"])
        else:
            counts, sketches, notes = _from_json(data)
        for layer in (*counts, *sketches):
            if len(layer.features) and layer.features[-1] >= width:
                raise ValueError(f"a memory of {width} features knows another one")
        return cls(width, int(data["tasks"]), counts, sketches, notes)


def words_of(cells: Cells) -> dict[str, Words]:
    """What the numbers of each category feature stand for, behind a door."""
    return {cells.feature_names[f]: tuple(c) for f, c in cells.categories.items()}


def _from_blocks(blocks: Mapping[str, bytes]) -> _Parts:
    """What a store holds, by name."""
    looked: dict[tuple[int, int], LookLayer] = {}
    sketched: dict[tuple[int, int], SketchLayer] = {}
    for name, block in blocks.items():
        kind, first, rest = name.split(" ", 2)
        if kind == _LOOKS:
            looked[int(first), int(rest)] = LookLayer.from_bytes(block)
        elif kind == _SKETCHES:
            sketched[int(first), int(rest)] = SketchLayer.from_bytes(block)
    return Layered.at(looked), Layered.at(sketched), notes_from_blocks(blocks)


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
    notes, sketches = {}, {int(f): sketch for f, sketch in data.get("spreads", {}).items()}
    for key, note in data["notes"].items():
        if key.startswith(_OLD_SKETCH):
            sketches[int(key.removeprefix(_OLD_SKETCH))] = note
        else:
            notes[key] = note
    none: Layered[SketchLayer] = Layered()
    return (
        Layered[LookLayer]().plus(every) if len(every.features) else Layered(),
        none.plus(SketchLayer.of(sketches)) if sketches else none,
        notes_from_json(notes),
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
