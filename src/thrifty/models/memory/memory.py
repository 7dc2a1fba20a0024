"""What past tasks taught a lifetime of models: the background of the features, and notes beside it.

Of every feature: how often it was looked at outside the rare class, and how often it was 1 there;
of numbers a quantile sketch; how often it was useful. Kept by column (:mod:`.layers`): a task
adds what it saw, and shares the rest with the memory before it, in memory and in a store. Beside
that stand notes of four kinds, each with a field and a type.

A store knows a note by one name: a number that says which came first, and a key that says of which
kind it is. Names are written as 0.2 wrote them first, so that stores stay readable both ways.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.cells.ledger.arrays import unpack_arrays
from thrifty.models.memory.layers import PARTS, Layered, LookLayer, Sketch, SketchLayer
from thrifty.typing import AnyArray, Json, JsonLike

__all__ = [
    "Lesson",
    "Memory",
    "words_of",
    "Note",
    "Notes",
    "PackedRows",
    "Words",
    "notes_from_blocks",
    "notes_from_json",
]

#: what the numbers of a category feature stand for
Words: TypeAlias = tuple[str, ...]
#: rows of a task or of a cohort, packed as text (:mod:`.controls`)
PackedRows: TypeAlias = str

# What keys begin with in a store; rows of a cohort before other rows, whose key theirs begins with.
_WORDS = "words of "
_COHORT = "rows:cohort "
_CONTROLS = "rows:"
_HYPOTHESIS = "model "
#: how the blocks of notes are called in a store; a purge takes out those of rows, by this name
_NOTE = "note"
_ROWS = "rows"

Key = TypeVar("Key")
#: covariant, as a note never changes
Value = TypeVar("Value", covariant=True)


@dataclass(frozen=True, eq=False)
class Note(Generic[Value]):
    """A note as a block of a store; its number says which came first."""

    number: int
    value: Value

    def to_bytes(self) -> bytes:
        return json.dumps(self.value).encode()


@dataclass(frozen=True, eq=False)
class Notes:
    """All notes of a memory; immutable.

    ``words``: of category features, by name. ``controls``: rows of the latest tasks, by place.
    ``cohorts``: rows of cohorts, by number. ``hypotheses``: earlier models, by digest.

    >>> notes = Notes().plus(words={"colour": ("red", "blue")}, controls={0: "..."})
    >>> notes.to_json()
    {'rows:0': '...', 'words of colour': ['red', 'blue']}
    >>> sorted(notes.blocks())
    ['note 1 words of colour', 'rows 0 rows:0']
    """

    words: Mapping[str, Note[Words]] = field(default_factory=dict)
    controls: Mapping[int, Note[PackedRows]] = field(default_factory=dict)
    cohorts: Mapping[int, Note[PackedRows]] = field(default_factory=dict)
    hypotheses: Mapping[str, Note[JsonLike]] = field(default_factory=dict)

    def plus(
        self,
        *,
        controls: Mapping[int, PackedRows] | None = None,
        cohort: PackedRows | None = None,
        words: Mapping[str, Words] | None = None,
        hypotheses: Mapping[str, JsonLike] | None = None,
    ) -> Notes:
        """With what a task adds; a note that says what it said before stays the same object."""
        free = 1 + max((note.number for note in self._by_key().values()), default=-1)
        cohorts = {} if cohort is None else {len(self.cohorts): cohort}
        new_controls, free = _put(self.controls, controls or {}, free)
        new_cohorts, free = _put(self.cohorts, cohorts, free)
        new_words, free = _put(self.words, words or {}, free)
        return Notes(
            new_words, new_controls, new_cohorts, _put(self.hypotheses, hypotheses or {}, free)[0]
        )

    def blocks(self) -> dict[str, Note[object]]:
        """Every note under the name that a store gives it."""
        return {
            f"{_ROWS if key.startswith(_CONTROLS) else _NOTE} {note.number} {key}": note
            for key, note in self._by_key().items()
        }

    def to_json(self) -> Json:
        """What each says, by its key, the oldest first."""
        found = sorted(self._by_key().items(), key=lambda item: (item[1].number, item[0]))
        said = {key: note.value for key, note in found}
        return {key: list(v) if isinstance(v, tuple) else v for key, v in said.items()}

    def _by_key(self) -> dict[str, Note[object]]:
        return {
            **{f"{_WORDS}{name}": note for name, note in self.words.items()},
            **{f"{_CONTROLS}{place}": note for place, note in self.controls.items()},
            **{f"{_COHORT}{number}": note for number, note in self.cohorts.items()},
            **{f"{_HYPOTHESIS}{digest}": note for digest, note in self.hypotheses.items()},
        }


def _put(
    notes: Mapping[Key, Note[Value]], new: Mapping[Key, Value], free: int
) -> tuple[Mapping[Key, Note[Value]], int]:
    """Further notes, numbered from ``free`` on; and the number that is free then."""
    after = dict(notes)
    for key, value in new.items():
        if key not in after:
            after[key], free = Note(free, value), free + 1
        elif after[key].value != value:
            after[key] = Note(after[key].number, value)
    return after, free


def notes_from_blocks(blocks: Mapping[str, bytes]) -> Notes:
    """The inverse of :meth:`Notes.blocks`, among other blocks of a memory."""
    found: dict[tuple[int, str], Any] = {}
    for name, block in blocks.items():
        kind, number, key = name.split(" ", 2)
        if kind in (_NOTE, _ROWS):
            found[int(number), key] = json.loads(block)
    return _sorted_out({key: Note(number, found[number, key]) for number, key in sorted(found)})


def notes_from_json(said: JsonLike) -> Notes:
    """The inverse of :meth:`Notes.to_json`."""
    return _sorted_out({key: Note(i, value) for i, (key, value) in enumerate(said.items())})


def _sorted_out(notes: Mapping[str, Note[Any]]) -> Notes:
    """By kind, from keys; in a store they may be of any kind that this version does not know."""
    words: dict[str, Note[Words]] = {}
    controls: dict[int, Note[PackedRows]] = {}
    cohorts: dict[int, Note[PackedRows]] = {}
    hypotheses: dict[str, Note[JsonLike]] = {}
    for key, note in notes.items():
        if key.startswith(_WORDS):
            words[key.removeprefix(_WORDS)] = Note(note.number, tuple(note.value))
        elif key.startswith(_COHORT):
            cohorts[int(key.removeprefix(_COHORT))] = note
        elif key.startswith(_CONTROLS):
            controls[int(key.removeprefix(_CONTROLS))] = note
        elif key.startswith(_HYPOTHESIS):
            hypotheses[key.removeprefix(_HYPOTHESIS)] = note
    return Notes(words, controls, cohorts, hypotheses)


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
