"""Versions of a task's model, and the examples that each was learned from, in a store."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.stores.pages import SqlPages
from thrifty.typing import JsonLike

__all__ = ["VersionHead", "VersionPages", "VersionRow"]

_ALL = "task, version, state, model, receipt, family, learned_at, note, token"


@dataclass(frozen=True, slots=True)
class VersionHead:
    """A version without its model."""

    task: str
    number: int
    state: str
    receipt: JsonLike
    at: float
    note: JsonLike

    @property
    def name(self) -> str:
        """As it is asked for, and as its bill is kept: ``diabetes@2``."""
        return f"{self.task}@{self.number}"


@dataclass(frozen=True, slots=True)
class VersionRow(VersionHead):
    """A version as it stands in a store."""

    model: JsonLike
    family: JsonLike | None
    token: str


class VersionPages:
    """The versions of one lifetime, inside one transaction."""

    def __init__(self, pages: SqlPages) -> None:
        self._pages, self._run, self._id = pages, pages._run, pages._id

    def heads(self, task: str | None = None) -> list[VersionHead]:
        """All versions, or those of a task, in their order."""
        rows = self._run(
            "SELECT task, version, state, receipt, learned_at, note FROM versions "
            "WHERE lifetime = ? ORDER BY task, version",
            (self._id,),
        )
        heads = [
            VersionHead(str(t), int(v), str(s), json.loads(r), float(at), json.loads(n))
            for t, v, s, r, at, n in rows
        ]
        return [head for head in heads if task is None or head.task == task]

    def one(self, task: str, number: int) -> VersionRow | None:
        """One version, with its model."""
        rows = self._run(
            f"SELECT {_ALL} FROM versions WHERE lifetime = ? AND task = ? AND version = ?",
            (self._id, task, number),
        )
        if not rows:
            return None
        name, v, state, model, receipt, family, at, note, token = rows[0]
        return VersionRow(
            str(name), int(v), str(state), json.loads(receipt), float(at), json.loads(note),
            json.loads(model), None if family is None else json.loads(family), str(token),
        )  # fmt: skip

    def add(self, row: VersionRow) -> None:
        self._run(
            f"INSERT INTO versions (lifetime, {_ALL}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._id, row.task, row.number, row.state, json.dumps(row.model),
                json.dumps(row.receipt), None if row.family is None else json.dumps(row.family),
                row.at, json.dumps(row.note), row.token,
            ),
        )  # fmt: skip

    def put_state(self, task: str, number: int, state: str) -> None:
        self._run(
            "UPDATE versions SET state = ? WHERE lifetime = ? AND task = ? AND version = ?",
            (state, self._id, task, number),
        )

    def put_model(self, task: str, number: int, model: JsonLike) -> None:
        """Another model in the place of one, as a purge needs it."""
        self._run(
            "UPDATE versions SET model = ? WHERE lifetime = ? AND task = ? AND version = ?",
            (json.dumps(model), self._id, task, number),
        )

    def put_present(self, task: str, model: JsonLike, family: JsonLike | None) -> None:
        """The model that answers for the task from now on; others hear of it as of a forgetting."""
        self._run(
            "UPDATE tasks SET model = ?, family = ? WHERE lifetime = ? AND name = ?",
            (json.dumps(model), None if family is None else json.dumps(family), self._id, task),
        )
        self._run("UPDATE lifetimes SET forgets = forgets + 1 WHERE id = ?", (self._id,))

    def put_features(self, names: tuple[str, ...], named: bool) -> None:
        """New columns; others hear of them, as of another representation."""
        self._pages.put_features(names, named)
        self._run("UPDATE lifetimes SET version = version + 1 WHERE id = ?", (self._id,))

    def drop(self, task: str) -> None:
        """A task was forgotten: its versions go, what they cost stays under other names."""
        for head in self.heads(task):
            before = f"{head.name} (forgotten {self._pages.forgets() + 1})"
            for table in ("accounts", "purchases", "bookings"):
                self._run(
                    f"UPDATE {table} SET task = ? WHERE lifetime = ? AND task = ?",
                    (before, self._id, head.name),
                )
        for table in (
            "versions", "task_examples", "answers", "outcomes", "references_left_out"
        ):  # fmt: skip
            self._run(f"DELETE FROM {table} WHERE lifetime = ? AND task = ?", (self._id, task))

    def put_examples(self, task: str, number: int, examples: NDArray[np.int64]) -> None:
        """The number of each example that a version was learned from; -1: it has none."""
        self._run(
            "INSERT INTO task_examples (lifetime, task, version, block) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (lifetime, task, version) DO UPDATE SET block = excluded.block",
            (self._id, task, number, pack_arrays({"examples": examples.astype(np.int64)})),
        )

    def examples(self, task: str, number: int) -> NDArray[np.int64] | None:
        """The inverse; None where the examples had no ids."""
        rows = self._run(
            "SELECT block FROM task_examples WHERE lifetime = ? AND task = ? AND version = ?",
            (self._id, task, number),
        )
        return unpack_arrays(bytes(rows[0][0]))["examples"] if rows else None

    def all_examples(self) -> list[tuple[int, str, int, NDArray[np.int64]]]:
        """Of the whole store: (lifetime, task, version, examples)."""
        rows = self._run("SELECT lifetime, task, version, block FROM task_examples")
        return [
            (int(life), str(t), int(v), unpack_arrays(bytes(b))["examples"])
            for life, t, v, b in rows
        ]
