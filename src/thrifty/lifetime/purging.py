"""Forgetting one example, wherever a store has put something of it.

Its cells and bought labels, what was answered of it, its outcomes, interviews, and its rows
in the tables that models were fitted on, of every version: those models are fitted again without
it. Rows that a task borrowed from earlier ones have no ids; those that hold the example's values
are taken out too. What models keep for speed and what a memory knows of single values (controls,
cohorts, quantiles, hypotheses) is made anew when it is needed. In the place of its id a fingerprint
stays, so that whoever asks for it again is told. What it cost stays on the bill.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from thrifty.cells.ledger.compacted import compact_all, purge_example, read_column
from thrifty.cells.sources.base import key_of
from thrifty.cells.sources.checks import one_form
from thrifty.errors import ThriftyError
from thrifty.models.table import Table, table_from_dict
from thrifty.stores.pages import SqlPages
from thrifty.stores.settings import family_from_dict
from thrifty.typing import Bools, Ints, Json, JsonLike
from thrifty.untrusted import readable

#: in the place of a category that nobody has any more
_GONE = "(purged)"
#: parts of a representation that hold single values, by how their names begin
_SINGLE = ("rows %", "spreads %", "note % model %")


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge found: features that had a value, models fitted again, models that could not be.

    A model that cannot be fitted without the example is forgotten.
    """

    features: int
    fitted_again: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()


@dataclass(eq=False)
class _KeptModel:
    """A model in a store: of which task and version (0: the task's own row)."""

    pages: SqlPages
    task: str
    version: int
    numbered: int
    family: JsonLike
    data: JsonLike
    names: tuple[str, ...]
    table: Table
    #: rows of the example, and rows of which nobody knows whose they are
    gone: Bools = field(init=False)
    nameless: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.gone = np.zeros(self.table.n_rows, dtype=bool)
        self.nameless = np.ones(self.table.n_rows, dtype=bool)

    def values(self, rows: Iterable[int]) -> Iterator[tuple[str, float]]:
        """What these rows hold, by the feature's name."""
        for row in rows:
            for j in np.flatnonzero(self.table.bought[row]).tolist():
                yield self.names[int(self.table.features[j])], float(self.table.values[row, j])


def purge_everywhere(pages: SqlPages, example: str, at: float) -> Purged:
    """Take out every value of an example, and its id, in the transaction of these pages."""
    example = one_form(example)  # the same letters, however they are typed
    number = int(pages.numbers("example", [example])[0])
    compact_all(pages)  # what was answered stands in columns then
    values = _values_in_columns(pages, number) if number >= 0 else {}
    features = purge_example(pages, example, at)
    pages.take_out_answers(number)
    keys = _keys(pages, example)
    kept = list(_models(pages))
    for one in kept:
        numbers = one.pages.task_examples(one.task, one.numbered)
        if numbers is not None and len(numbers) == one.table.n_rows:
            one.gone |= numbers == number
            one.nameless &= numbers < 0
        if one.table.keys is not None:
            one.gone |= np.isin(one.table.keys, keys)
            one.nameless &= one.table.keys == 0
        for name, value in one.values(np.flatnonzero(one.gone).tolist()):
            values.setdefault(name, set()).add(value)
    for one in kept:
        one.gone |= _borrowed(one, values)
    again, forgotten = _fit_again([one for one in kept if one.gone.any()])
    _forget_categories(pages)
    for pattern in _SINGLE:
        pages._run("DELETE FROM known_blocks WHERE name LIKE ?", (pattern,))
    pages._run("DELETE FROM kept WHERE kind = ?", ("prefixes",))
    _old_representations(pages)
    pages._run("UPDATE lifetimes SET version = version + 1, forgets = forgets + 1")
    return Purged(features, again, forgotten)


def _values_in_columns(pages: SqlPages, number: int) -> dict[str, set[float]]:
    """What a provider has answered of it, by the feature's name, whichever source."""
    found: dict[str, set[float]] = {}
    named = pages.sources_of("feature")
    for column in pages.columns("feature"):
        facts = read_column(column)
        for value in facts.values[facts.examples == number].tolist():
            found.setdefault(named[column.number][1], set()).add(float(value))
    return found


def _forget_categories(pages: SqlPages) -> None:
    """Categories that no cell holds any more: another name stands in their place.

    A table names all of its categories, also those of cells that nobody has read: which of
    them were hers alone nobody knows.
    """
    listed, named = pages.words(), pages.sources_of("feature")
    used: dict[int, set[str]] = {}
    for column in pages.columns("feature", list(listed)):
        places = np.unique(read_column(column).values)
        here = listed[column.number]
        used[column.number] = {here[int(p)] for p in places[~np.isnan(places)].tolist()}
    for feature, every in listed.items():
        for category in set(every) - used.get(feature, set()):
            numbers = pages._run(
                "SELECT number FROM cell_names WHERE kind = ? AND source = ? AND name = ?",
                ("word", str(feature), category),
            )
            for (number,) in numbers:
                pages.rename("word", int(number), f"{_GONE} {int(number)}")
            name = named[feature][1]
            if not any(category in used.get(f, ()) for f in listed if named[f][1] == name):
                _forget_category(pages, name, category)


def _forget_category(pages: SqlPages, feature: str, category: str) -> None:
    """In models that hold no such row, and in what lifetimes know of the feature."""
    held = False
    for one in _models(pages):
        named = one.data.get("words") or {}
        if category not in named.get(feature, ()):
            continue
        at = [j for j, f in enumerate(one.table.features.tolist()) if one.names[int(f)] == feature]
        column = one.table.values[:, at][one.table.bought[:, at]]
        if (column == named[feature].index(category)).any():
            held = True
            continue
        data = {**one.data, "words": {**named, feature: _instead(named[feature], category)}}
        one.pages.put_model(one.task, data, one.version)
    for lifetime, name, block in pages._run("SELECT lifetime, name, block FROM known_blocks"):
        if held or not re.fullmatch(rf"note \d+ words of {re.escape(feature)}", str(name)):
            continue
        with readable("what the store knows of categories"):
            listed = [str(one) for one in json.loads(bytes(block))]
        if category in listed:
            pages._run(
                "UPDATE known_blocks SET block = ? WHERE lifetime = ? AND name = ?",
                (json.dumps(_instead(listed, category)).encode(), lifetime, name),
            )


def _instead(listed: list[str], category: str) -> list[str]:
    """Each category keeps its place."""
    return [f"{_GONE} {at}" if one == category else one for at, one in enumerate(listed)]


def _keys(pages: SqlPages, example: str) -> Ints:
    """What its rows are called in tables, in whichever source."""
    sources = {source for kind in ("feature", "counted") for source, _ in
               pages.sources_of(kind).values()}  # fmt: skip
    return np.array([key_of(source, example) for source in sources], dtype=np.uint64)


def _models(pages: SqlPages) -> Iterator[_KeptModel]:
    """Every model of the store that keeps a table."""
    for lifetime, family in pages._run("SELECT id, family FROM lifetimes"):
        there = SqlPages(pages._run, pages._many, int(lifetime))
        names = there.state().features or ()
        present = {h.task: h.number for h in there.versions() if h.state == "present"}
        rows = there._rows("name, 0, model, family", "tasks")
        rows += there._rows("task, version, model, family", "versions")
        for task, version, model, own in rows:
            with readable(f"the task {str(task)!r} in the store"):
                data = json.loads(model)
                if not isinstance(data, dict) or "table" not in data:
                    continue
                told, n = data.get("feature_names"), int(version)
                here = tuple(names[:told] if isinstance(told, int) else told or ())
                numbered = n or present.get(str(task), 1)
                yield _KeptModel(
                    there, str(task), n, numbered, json.loads(own or family), data,
                    here, table_from_dict(data["table"]),
                )  # fmt: skip


def _borrowed(one: _KeptModel, values: Mapping[str, set[float]]) -> Bools:
    """Rows without an id that hold what the example holds, and nothing else."""

    def held(name: str, value: float) -> bool:
        # a table may keep a value in fewer digits than a provider gave
        near = [np.isclose(value, v, rtol=1e-6, atol=0, equal_nan=True) for v in values[name]]
        return bool(np.any(near))

    alike = np.zeros(one.table.n_rows, dtype=bool)
    for row in np.flatnonzero(one.nameless & ~one.gone).tolist():
        cells = one.values([row])
        known = [(name, v) for name, v in cells if name in values and not np.isnan(v)]
        alike[row] = bool(known) and all(held(name, value) for name, value in known)
    return alike


def _fit_again(kept: list[_KeptModel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same models on the other rows; names of those fitted again, and of those forgotten."""
    again: list[str] = []
    forgotten: list[str] = []
    for one in kept:
        rest, pages = np.flatnonzero(~one.gone), one.pages
        try:
            data = _without(one, rest)
        except ThriftyError:
            forgotten.append(one.task)
            pages.forget(one.task)
            continue
        if one.task in forgotten:
            continue
        pages.put_model(one.task, data, one.version)
        numbers = pages.task_examples(one.task, one.numbered)
        if numbers is not None and len(numbers) == one.table.n_rows:
            pages.put_task_examples(one.task, one.numbered, numbers[rest])
        pages.drop_references(one.task)
        again.append(one.task if one.version in (0, 1) else f"{one.task}@{one.version}")
    return tuple(dict.fromkeys(again)), tuple(dict.fromkeys(forgotten))


def _without(one: _KeptModel, rest: Ints) -> Json:
    """A model's plain data without some rows; one of a user's estimator is fitted when opened."""
    if one.data.get("fitted") is None:
        return {**one.data, "table": one.table.of_rows(rest).to_dict()}
    whole = {**one.data, "feature_names": list(one.names)}
    model = family_from_dict(one.family).load_estimator(whole)
    others = model.of_rows(rest).to_dict()  # type: ignore[attr-defined]  # a model with a table
    return {**others, "feature_names": one.data["feature_names"]}


def _old_representations(pages: SqlPages) -> None:
    """Representations that earlier versions wrote whole: their notes hold rows, too."""
    for lifetime, text in pages._run("SELECT id, representation FROM lifetimes"):
        with readable("the store"):
            state = json.loads(text)
        known = state.get("representation") if isinstance(state, dict) else None
        known = known if isinstance(known, dict) else state
        notes = known.get("notes") if isinstance(known, dict) else None
        if not isinstance(notes, dict):
            continue
        known["notes"] = {k: v for k, v in notes.items() if k.startswith("words of ")}
        known.pop("spreads", None)
        pages._run(
            "UPDATE lifetimes SET representation = ? WHERE id = ?", (json.dumps(state), lifetime)
        )
