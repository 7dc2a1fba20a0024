"""A model's later life in a store: its versions and the examples of each, what it answered and what
became true, prefixes that were made once and interviews that go on.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.errors import StoreError
from thrifty.stores.pages import SqlPages
from thrifty.typing import AnyArray, Json, JsonLike
from thrifty.untrusted import readable

__all__ = ["KeptPages", "OutcomePages", "VersionHead", "VersionPages", "VersionRow", "storable"]

#: seconds since 1970 that a version may be from: until the year 5000
_LATEST = 95e9
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


def _read_head(
    task: object, number: object, state: object, receipt: Any, at: Any, note: Any
) -> tuple[str, int, str, JsonLike, float, JsonLike]:
    """A row of the table, which a stranger may have written, as the head of a version."""
    with readable(f"a version of {str(task)!r} in the store"):
        said, when = _mapping(json.loads(note)), float(at)
        numbers = [said.get(key) for key in ("loss", "loss before", "rows")]
        if not 0 <= when < _LATEST or any(not isinstance(n, int | float | None) for n in numbers):
            raise ValueError("its numbers are none")
        return str(task), int(str(number)), str(state), _mapping(json.loads(receipt)), when, said


def _mapping(data: object) -> JsonLike:
    if not isinstance(data, dict):
        raise ValueError(f"a mapping was expected, not {type(data).__name__}")
    return data


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
        heads = [VersionHead(*_read_head(*row)) for row in rows]
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
        head = _read_head(name, v, state, receipt, at, note)
        with readable(f"version {number} of {task!r} in the store"):
            kept = [
                None if text is None else _mapping(json.loads(text)) for text in (model, family)
            ]
            return VersionRow(*head, kept[0] or {}, kept[1], str(token))

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

    def put_present(
        self, task: str, model: JsonLike, family: JsonLike | None, about: JsonLike
    ) -> None:
        """The model that answers for the task from now on; others hear of it as of a forgetting.

        ``about``: what is kept beside it, and stands with the receipt, which stays.
        """
        rows = self._run(
            "SELECT receipt FROM tasks WHERE lifetime = ? AND name = ?", (self._id, task)
        )
        for (receipt,) in rows:
            self._run(
                "UPDATE tasks SET receipt = ? WHERE lifetime = ? AND name = ?",
                (json.dumps({**json.loads(receipt), **about}), self._id, task),
            )
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


#: arrays of answers that are of all their rows together
_OF_ALL_ROWS = ("told", "asked_rows")


class OutcomePages:
    """Answers and outcomes of one lifetime, inside one transaction."""

    def __init__(self, pages: SqlPages) -> None:
        self._run, self._id = pages._run, pages._id

    def put_answers(
        self, account: str, task: str, version: int, at: float, arrays: dict[str, AnyArray]
    ) -> None:
        """What a prediction run answered: ``examples`` and ``scores``."""
        self._run(
            "INSERT INTO answers (lifetime, account, task, version, at, block) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (lifetime, account) DO NOTHING",
            (self._id, account, task, version, at, pack_arrays(arrays)),
        )

    def answers(self, task: str) -> list[tuple[int, float, dict[str, AnyArray]]]:
        """(version, when, what) of a task's runs, in their order."""
        rows = self._run(
            "SELECT version, at, block FROM answers WHERE lifetime = ? AND task = ? ORDER BY at",
            (self._id, task),
        )
        return [(int(v), float(at), unpack_arrays(bytes(b))) for v, at, b in rows]

    def add_outcomes(self, task: str, at: float, arrays: dict[str, AnyArray]) -> None:
        """A batch of what became true: ``examples`` and ``labels``."""
        self._run(
            "INSERT INTO outcomes (lifetime, task, batch, at, block) VALUES (?, ?, (SELECT "
            "COALESCE(MAX(batch), 0) + 1 FROM outcomes WHERE lifetime = ? AND task = ?), ?, ?)",
            (self._id, task, self._id, task, at, pack_arrays(arrays)),
        )

    def outcomes(self, task: str) -> list[tuple[float, dict[str, AnyArray]]]:
        """(when, what) of every batch, in their order."""
        rows = self._run(
            "SELECT at, block FROM outcomes WHERE lifetime = ? AND task = ? ORDER BY batch",
            (self._id, task),
        )
        return [(float(at), unpack_arrays(bytes(b))) for at, b in rows]

    def put_reference(self, task: str, version: int, arrays: dict[str, AnyArray]) -> None:
        """What a version said of rows left out when it was learned, and how inputs were spread."""
        self._run(
            "INSERT INTO references_left_out (lifetime, task, version, block) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (lifetime, task, version) DO UPDATE SET block = excluded.block",
            (self._id, task, version, pack_arrays(arrays)),
        )

    def reference(self, task: str, version: int) -> dict[str, AnyArray] | None:
        """The inverse; None where it was never worked out."""
        rows = self._run(
            "SELECT block FROM references_left_out WHERE lifetime = ? AND task = ? AND version = ?",
            (self._id, task, version),
        )
        return unpack_arrays(bytes(rows[0][0])) if rows else None

    def tasks(self) -> list[str]:
        """Tasks of which an outcome is known."""
        rows = self._run("SELECT DISTINCT task FROM outcomes WHERE lifetime = ?", (self._id,))
        return [str(task) for (task,) in rows]

    def take_out(self, example: int) -> None:
        """Every answer and outcome of one example, of the whole store."""
        for table, key in (("answers", "account"), ("outcomes", "batch")):
            rows = self._run(f"SELECT lifetime, task, {key}, block FROM {table}")
            for lifetime, task, name, block in rows:
                arrays = unpack_arrays(bytes(block))
                keep = arrays["examples"] != example
                if keep.all():
                    continue
                left = {  # counts of what all rows were told have no rows to leave out
                    k: v if k in _OF_ALL_ROWS else np.ascontiguousarray(v[keep])
                    for k, v in arrays.items()
                }
                self._run(
                    f"UPDATE {table} SET block = ? WHERE lifetime = ? AND task = ? AND {key} = ?",
                    (pack_arrays(left), lifetime, task, name),
                )


#: bytes of JSON that a page may hold when it is unpacked; a bomb is refused
_MOST = 1 << 28


def storable(name: str) -> str:
    """A name as PostgreSQL can hold it too: without the character 0, which parts others.

    >>> storable("ward\\0p7")
    'ward\\x1fp7'
    """
    return name.replace("\0", "\x1f")


class KeptPages:
    """Pages of one lifetime by kind and name, inside one transaction; plain JSON, packed."""

    def __init__(self, pages: SqlPages) -> None:
        self._run, self._id = pages._run, pages._id

    def get(self, kind: str, name: str) -> JsonLike | None:
        """A page, or None."""
        rows = self._run(
            "SELECT block FROM kept WHERE lifetime = ? AND kind = ? AND name = ?",
            (self._id, kind, storable(name)),
        )
        if not rows:
            return None
        with readable("the store"):
            opener = zlib.decompressobj()
            text = opener.decompress(bytes(rows[0][0]), _MOST)
            if opener.unconsumed_tail:
                raise StoreError(f"{kind} {name!r} in the store is larger than it may be.")
            found: JsonLike = json.loads(text)
            return found

    def put(self, kind: str, name: str, data: Json) -> None:
        """Write a page, over one of that name."""
        block = zlib.compress(json.dumps(data).encode(), 1)
        self._run(
            "INSERT INTO kept (lifetime, kind, name, block) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (lifetime, kind, name) DO UPDATE SET block = excluded.block",
            (self._id, kind, storable(name), block),
        )

    def drop(self, kind: str, name: str) -> None:
        """Take a page out."""
        self._run(
            "DELETE FROM kept WHERE lifetime = ? AND kind = ? AND name = ?",
            (self._id, kind, storable(name)),
        )
