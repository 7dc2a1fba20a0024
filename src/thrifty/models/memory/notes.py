"""What a memory keeps beside its layers: four kinds of notes, each with a field and a type.

A store knows a note by one name: a number that says which came first, and a key that says of which
kind it is. Names are written as 0.2 wrote them first, so that stores stay readable both ways.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from thrifty.typing import Json, JsonLike

__all__ = ["Note", "Notes", "PackedRows", "Words", "notes_from_blocks", "notes_from_json"]

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
