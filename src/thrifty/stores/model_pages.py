"""A model's later life in a store: its versions and the examples of each, what it answered and what
outcomes were seen, prefixes that were made once and interviews that go on.
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
from thrifty.stores.task_pages import Statements, json_or_none
from thrifty.typing import AnyArray, Json, JsonLike
from thrifty.untrusted import readable


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
    latest = 95e9  # seconds since 1970 that a version may be from: until the year 5000
    with readable(f"a version of {str(task)!r} in the store"):
        said, when = _mapping(json.loads(note)), float(at)
        numbers = [said.get(key) for key in ("loss", "loss before", "rows")]
        if not 0 <= when < latest or any(not isinstance(n, int | float | None) for n in numbers):
            raise ValueError("its numbers are none")
        return str(task), int(str(number)), str(state), _mapping(json.loads(receipt)), when, said


def _mapping(data: object) -> JsonLike:
    if not isinstance(data, dict):
        raise ValueError(f"a mapping was expected, not {type(data).__name__}")
    return data


class _BesidePages(Statements):
    """More pages of the same lifetime, in the same transaction."""

    def __init__(self, pages: SqlPages) -> None:
        super().__init__(pages._run, pages._many, pages._id)
        self._pages = pages

    def _block(self, table: str, task: str, version: int) -> dict[str, AnyArray] | None:
        """The arrays that are kept of a version; None where there are none."""
        rows = self._rows("block", table, "AND task = ? AND version = ?", task, version)
        return unpack_arrays(bytes(rows[0][0])) if rows else None


class VersionPages(_BesidePages):
    """The versions of one lifetime, inside one transaction."""

    def heads(self, task: str | None = None) -> list[VersionHead]:
        """All versions, or those of a task, in their order."""
        columns = "task, version, state, receipt, learned_at, note"
        rows = self._rows(columns, "versions", "ORDER BY task, version")
        heads = [VersionHead(*_read_head(*row)) for row in rows]
        return [head for head in heads if task is None or head.task == task]

    def one(self, task: str, number: int) -> VersionRow | None:
        """One version, with its model."""
        columns = "task, version, state, receipt, learned_at, note, model, family, token"
        rows = self._rows(columns, "versions", "AND task = ? AND version = ?", task, number)
        if not rows:
            return None
        *head, model, family, token = rows[0]
        read = _read_head(*head)
        with readable(f"version {number} of {task!r} in the store"):
            kept = [
                None if text is None else _mapping(json.loads(text)) for text in (model, family)
            ]
            return VersionRow(*read, kept[0] or {}, kept[1], str(token))

    def add(self, row: VersionRow) -> None:
        self._add(
            "versions",
            task=row.task,
            version=row.number,
            state=row.state,
            model=json.dumps(row.model),
            receipt=json.dumps(row.receipt),
            family=json_or_none(row.family),
            learned_at=row.at,
            note=json.dumps(row.note),
            token=row.token,
        )

    def put_state(self, task: str, number: int, state: str) -> None:
        self._set("versions", {"task": task, "version": number}, state=state)

    def put_model(self, task: str, number: int, model: JsonLike) -> None:
        """Another model in the place of one, as a purge needs it."""
        self._set("versions", {"task": task, "version": number}, model=json.dumps(model))

    def put_present(
        self, task: str, model: JsonLike, family: JsonLike | None, about: JsonLike
    ) -> None:
        """The model that answers for the task from now on; others hear of it as of a forgetting.

        ``about``: what is kept beside it, and stands with the receipt, which stays.
        """
        now = {
            "receipt": json.dumps({**self._pages.receipt_of(task), **about}),
            "model": json.dumps(model),
            "family": json_or_none(family),
        }
        self._set("tasks", {"name": task}, **now)
        self._count_up("forgets")

    def put_features(self, names: tuple[str, ...], named: bool) -> None:
        """New columns; others hear of them, as of another representation."""
        self._pages.put_features(names, named)
        self._count_up("version")

    def drop(self, task: str) -> None:
        """A task was forgotten: its versions go, what they cost stays under other names."""
        for head in self.heads(task):
            self._pages.rename_account(head.name)
        for table in (*_OF_TASKS, "versions"):
            self._drop(table, task=task)

    def put_examples(self, task: str, number: int, examples: NDArray[np.int64]) -> None:
        """The number of each example that a version was learned from; -1: it has none."""
        block = pack_arrays({"examples": examples.astype(np.int64)})
        self._put("task_examples", {"task": task, "version": number}, block=block)

    def examples(self, task: str, number: int) -> NDArray[np.int64] | None:
        """The inverse; None where the examples had no ids."""
        arrays = self._block("task_examples", task, number)
        return None if arrays is None else arrays["examples"]


#: tables beside that of the versions that a task has rows in
_OF_TASKS = ("task_examples", "answers", "outcomes", "references_left_out")
#: arrays of answers that are of all their rows together
_OF_ALL_ROWS = ("told", "asked_rows")


class OutcomePages(_BesidePages):
    """Answers and outcomes of one lifetime, inside one transaction."""

    def put_answers(
        self, account: str, task: str, version: int, at: float, arrays: dict[str, AnyArray]
    ) -> None:
        """What a prediction run answered: ``examples`` and ``scores``."""
        if self._rows("1", "answers", "AND account = ?", account):
            return  # written already, as the connection was lost
        block = pack_arrays(arrays)
        self._add("answers", account=account, task=task, version=version, at=at, block=block)

    def answers(self, task: str) -> list[tuple[int, float, dict[str, AnyArray]]]:
        """(version, when, what) of a task's runs, in their order."""
        rows = self._rows("version, at, block", "answers", "AND task = ? ORDER BY at", task)
        return [(int(v), float(at), unpack_arrays(bytes(b))) for v, at, b in rows]

    def add_outcomes(self, task: str, at: float, arrays: dict[str, AnyArray]) -> None:
        """A batch of observed outcomes: ``examples`` and ``labels``."""
        batch = self._next("batch", "outcomes", task=task)
        self._add("outcomes", task=task, batch=batch, at=at, block=pack_arrays(arrays))

    def outcomes(self, task: str) -> list[tuple[float, dict[str, AnyArray]]]:
        """(when, what) of every batch, in their order."""
        rows = self._rows("at, block", "outcomes", "AND task = ? ORDER BY batch", task)
        return [(float(at), unpack_arrays(bytes(b))) for at, b in rows]

    def put_reference(self, task: str, version: int, arrays: dict[str, AnyArray]) -> None:
        """What a version said of held-out rows when it was learned, and how inputs were spread."""
        key: dict[str, object] = {"task": task, "version": version}
        self._put("references_left_out", key, block=pack_arrays(arrays))

    def reference(self, task: str, version: int) -> dict[str, AnyArray] | None:
        """The inverse; None where it was never worked out."""
        return self._block("references_left_out", task, version)

    def tasks(self) -> list[str]:
        """Tasks of which an outcome is known."""
        return [str(task) for (task,) in self._rows("DISTINCT task", "outcomes")]

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


class KeptPages(_BesidePages):
    """Pages of one lifetime by kind and name, inside one transaction; plain JSON, packed."""

    def get(self, kind: str, name: str) -> JsonLike | None:
        """A page, or None."""
        rows = self._rows("block", "kept", "AND kind = ? AND name = ?", kind, storable(name))
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
        self._put("kept", {"kind": kind, "name": storable(name)}, block=block)

    def drop(self, kind: str, name: str) -> None:
        """Take a page out."""
        self._drop("kept", kind=kind, name=storable(name))
