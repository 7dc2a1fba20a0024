"""A lifetime's own pages: what it was given, its tasks and their versions, predictions, outcomes.

First the few statements that all pages are written with, in SQL that SQLite and PostgreSQL both
speak: every value travels as a parameter, and only names of our own tables and columns are put
together.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from thrifty.attempt import Route
from thrifty.cells.ledger.purchase import pack_arrays, unpack_arrays
from thrifty.cells.ledger.receipt import ToBuy, runs_of
from thrifty.errors import StoreError
from thrifty.stores.settings import names_from_text, names_to_text
from thrifty.typing import AnyArray, Json, JsonLike
from thrifty.untrusted import readable

#: bytes of JSON that a page may hold when it is unpacked; a bomb is refused
_MOST = 1 << 28

#: a row as a database gives it: what a column holds is read and checked by whoever asked
SqlRow: TypeAlias = Sequence[Any]
#: (sql, parameters) to rows
Run: TypeAlias = Callable[..., list[SqlRow]]


class Statements:
    """Statements about one lifetime, in one transaction; ``run(sql, params)`` gives rows."""

    def __init__(self, run: Run, many: Callable[..., None], lifetime: int) -> None:
        self._run, self._many, self._id = run, many, lifetime

    def _rows(self, columns: str, table: str, also: str = "", *values: object) -> list[SqlRow]:
        """This lifetime's rows of a table; ``also`` is what else they must be, and their order."""
        sql = f"SELECT {columns} FROM {table} WHERE lifetime = ? {also}"
        return self._run(sql, (self._id, *values))

    def _of_lifetime(self, column: str) -> Any:
        """One thing that stands with the lifetime itself."""
        return self._run(f"SELECT {column} FROM lifetimes WHERE id = ?", (self._id,))[0][0]

    def _set_lifetime(self, **values: object) -> None:
        named = ", ".join(f"{column} = ?" for column in values)
        self._run(f"UPDATE lifetimes SET {named} WHERE id = ?", (*values.values(), self._id))

    def count_up(self, column: str) -> None:
        """Others hear of it: they look at this number."""
        self._run(f"UPDATE lifetimes SET {column} = {column} + 1 WHERE id = ?", (self._id,))

    def _set(self, table: str, key: dict[str, object], **values: object) -> None:
        """Change this lifetime's rows that have these keys."""
        named = ", ".join(f"{column} = ?" for column in values)
        where = " AND ".join(f"{column} = ?" for column in ("lifetime", *key))
        parameters = (*values.values(), self._id, *key.values())
        self._run(f"UPDATE {table} SET {named} WHERE {where}", parameters)

    def _put(self, table: str, key: dict[str, object], **values: object) -> None:
        """Write a row, over the one that has its keys."""
        self._put_many(table, key.keys(), [{**key, **values}])

    def _put_many(self, table: str, key: Iterable[str], rows: Sequence[dict[str, object]]) -> None:
        """Write rows that have the same columns, over those of their keys."""
        if not rows:
            return
        columns, keys = ("lifetime", *rows[0]), ("lifetime", *key)
        then = ", ".join(f"{c} = excluded.{c}" for c in columns if c not in keys)
        self._many(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({_marks(columns)}) "
            f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {then}",
            [(self._id, *row.values()) for row in rows],
        )

    def _add(self, table: str, **values: object) -> None:
        """Write a new row."""
        columns = ("lifetime", *values)
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({_marks(columns)})"
        self._run(sql, (self._id, *values.values()))

    def _next(self, column: str, table: str, first: int = 1, **key: object) -> int:
        """The number after the highest of this lifetime's rows that have these keys."""
        also = "".join(f" AND {column} = ?" for column in key)
        found = self._rows(f"MAX({column})", table, also, *key.values())[0][0]
        return first if found is None else int(found) + 1

    def _drop(self, table: str, **key: object) -> None:
        where = " AND ".join(f"{column} = ?" for column in ("lifetime", *key))
        self._run(f"DELETE FROM {table} WHERE {where}", (self._id, *key.values()))

    def _among(self, select: str, values: Sequence[object], *before: object) -> list[SqlRow]:
        """Rows of a statement in which ``{}`` stands for these values, after those ``before``."""
        found: list[SqlRow] = []
        for some in batches(values):
            found += self._run(select.format(_marks(some)), (*before, *some))
        return found


def batches(values: Sequence[object]) -> Iterator[Sequence[object]]:
    """As many values as one statement takes, and the next ones."""
    at_once = 500  # values in one statement; both databases take more
    for i in range(0, len(values), at_once):
        yield values[i : i + at_once]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def json_or_none(data: JsonLike | None) -> str | None:
    """As text, where there is something."""
    return None if data is None else json.dumps(data)


def _columns(row: TaskRow | VersionRow) -> Json:
    """What is written of a task or a version: its fields under the names of their columns."""
    values = {one.name: getattr(row, one.name) for one in fields(row)}
    other = {"number": "version", "at": "learned_at"}
    return {
        other.get(name, name): json.dumps(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }


_TASK = "name, route, model, receipt, failure, token, learned_at, family"
_VERSION = "task, version, state, receipt, learned_at, note"


@dataclass(frozen=True, slots=True)
class State:
    """A lifetime as it stands in a store; JSON is read, nothing is run."""

    family: JsonLike
    features: tuple[str, ...] | None
    named: bool
    representation: JsonLike
    version: int
    settings: JsonLike


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A learned task as it stands in a store."""

    name: str
    route: str
    model: JsonLike
    receipt: JsonLike
    failure: JsonLike | None
    token: str
    learned_at: float
    family: JsonLike | None = None


@dataclass(frozen=True, slots=True)
class TaskHead:
    """As much of a learned task as opening a lifetime needs."""

    position: int
    name: str
    route: Route


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """A prediction run as it stands in a store; without a receipt it has not ended."""

    run: int
    task: str
    account: str
    owner: str
    begun_at: float
    receipt: JsonLike | None


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


def storable(name: str) -> str:
    """A name as PostgreSQL can hold it too: without the character 0, which parts others.

    >>> storable("ward\\0p7")
    'ward\\x1fp7'
    """
    return name.replace("\0", "\x1f")


#: tables beside that of the versions that a task has rows in
_OF_TASKS = ("task_examples", "answers", "outcomes", "references_left_out", "versions")
#: arrays of answers that are of all their rows together
_OF_ALL_ROWS = ("told", "asked_rows")


class LifetimePages(Statements):
    """The pages of one lifetime."""

    # -- the lifetime and its tasks -----------------------------------------------------------

    def version(self) -> int:
        return int(self._of_lifetime("version"))

    def state(self) -> State:
        family, features, named, representation, version, settings = self._run(
            "SELECT family, features, named, representation, version, settings FROM lifetimes "
            "WHERE id = ?",
            (self._id,),
        )[0]
        return State(
            json.loads(family),
            None if features is None else names_from_text(features),
            bool(named),
            json.loads(representation),
            int(version),
            json.loads(settings),
        )

    def forgets(self) -> int:
        """How many tasks were forgotten so far."""
        return int(self._of_lifetime("forgets"))

    def settings(self) -> JsonLike:
        found: JsonLike = json.loads(str(self._of_lifetime("settings")))
        return found

    def put_settings(self, settings: JsonLike) -> None:
        self._set_lifetime(settings=json.dumps(settings))

    def put_family(self, family: dict[str, object]) -> None:
        self._set_lifetime(family=json.dumps(family))

    def note_change(self, at: float, what: str, before: object, after: object) -> None:
        """Write down that something of the lifetime was changed by its user."""
        self._add("changes", at=at, what=what, before=json.dumps(before), after=json.dumps(after))

    def changes(self) -> list[tuple[float, str, object, object]]:
        rows = self._rows("at, what, before, after", "changes", "ORDER BY at")
        return [(float(t), str(w), json.loads(b), json.loads(a)) for t, w, b, a in rows]

    def note_purge(self, at: float, example: int) -> None:
        """Write down that the values of an example were taken out; its number is no secret."""
        self.note_change(at, "purge", None, example)

    def purged(self) -> dict[int, float]:
        """Examples whose values were taken out of the store, by any lifetime, and when last."""
        rows = self._run("SELECT after, at FROM changes WHERE what = ? ORDER BY at", ("purge",))
        return {int(json.loads(number)): float(at) for number, at in rows}

    def note_transaction(self, task: str, at: float) -> None:
        """A task or a prediction has looked at cells of a table; they bear this moment."""
        self._add("bookings", task=task, at=at)

    def transactions(self) -> dict[float, tuple[str, str]]:
        """Of the whole store: when, and then (lifetime, task)."""
        rows = self._run(
            "SELECT b.at, l.name, b.task FROM bookings b JOIN lifetimes l ON l.id = b.lifetime"
        )
        return {float(at): (str(lifetime), str(task)) for at, lifetime, task in rows}

    def put_representation(self, representation: dict[str, object]) -> int:
        self._set_lifetime(representation=json.dumps(representation))
        self.count_up("version")
        return self.version()

    def known_blocks(self) -> dict[str, bytes]:
        """The parts of a representation that is kept in parts."""
        return {str(n): bytes(block) for n, block in self._rows("name, block", "known_blocks")}

    def put_known_blocks(self, new: Mapping[str, bytes], gone: Iterable[str]) -> None:
        """Write some of the parts, and take out others."""
        for name in gone:
            self._drop("known_blocks", name=name)
        rows: list[dict[str, object]] = [{"name": n, "block": block} for n, block in new.items()]
        self._put_many("known_blocks", ["name"], rows)

    def drop_known_blocks(self) -> None:
        """Another family begins with nothing."""
        self._drop("known_blocks")

    def drop_known_rows(self) -> None:
        """Take out the parts, of every lifetime, that hold values of single examples.

        A representation says so in the name of such a part: it begins with ``rows``.
        """
        self._run("DELETE FROM known_blocks WHERE name LIKE ?", ("rows %",))

    def drop_interviews(self, example: str) -> None:
        """Take out the interviews about an example, of every lifetime; others go on.

        An interview is kept under its source, the example and its tasks.
        """
        for (name,) in self._run("SELECT DISTINCT name FROM kept WHERE kind = ?", ("interview",)):
            if str(name).split("\x1f")[1:2] == [example]:
                self._run("DELETE FROM kept WHERE kind = ? AND name = ?", ("interview", name))

    def n_features(self) -> int | None:
        """How many features the lifetime knows; they only grow, so this says which."""
        number = self._of_lifetime("n_features")
        return None if number is None else int(number)

    def put_features(self, names: Sequence[str], named: bool) -> None:
        """New columns; others hear of them, as of another representation."""
        text = names_to_text(names)
        self._set_lifetime(features=text, named=int(named), n_features=len(names))
        self.count_up("version")

    def add_task(self, task: TaskRow) -> None:
        position = self._next("position", "tasks", first=0)
        self._add("tasks", position=position, **_columns(task))

    def put_model(self, name: str, model: JsonLike, version: int = 0) -> None:
        """Another model of a task, or of a version, in the place of its own; what it cost stays."""
        key: Json = {"task": name, "version": version} if version else {"name": name}
        self._set("versions" if version else "tasks", key, model=json.dumps(model))

    def task_token(self, name: str) -> str | None:
        rows = self._rows("token", "tasks", "AND name = ?", name)
        return str(rows[0][0]) if rows else None

    def heads(self, after: int) -> list[TaskHead]:
        """Tasks in the order of learning, those after a position, without what they hold."""
        order = "AND position > ? ORDER BY position"
        rows = self._rows("position, name, route", "tasks", order, after)
        return [TaskHead(int(at), str(name), _route(route)) for at, name, route in rows]

    def task(self, name: str) -> TaskRow | None:
        rows = self._rows(_TASK, "tasks", "AND name = ?", name)
        return _task(rows[0]) if rows else None

    def bill_of(self, name: str) -> tuple[JsonLike, JsonLike | None] | None:
        """A task's receipt and what stands with it, and its failure, without its model."""
        for receipt, failure in self._rows("receipt, failure", "tasks", "AND name = ?", name):
            return json.loads(receipt), None if failure is None else json.loads(failure)
        return None

    def receipt_of(self, name: str) -> JsonLike:
        """The receipt; empty where there is no such task."""
        found = self.bill_of(name)
        return {} if found is None else found[0]

    def tasks(self, from_position: int = 0) -> list[TaskRow]:
        order = "AND position >= ? ORDER BY position"
        return [_task(row) for row in self._rows(_TASK, "tasks", order, from_position)]

    def forget(self, name: str) -> None:
        """Take a task and its versions out; what it bought stays owned, its cost stays spent."""
        for account in (name, *(head.name for head in self.versions(name))):
            self._rename_account(account)  # learned again it begins a bill of its own
        for table in _OF_TASKS:
            self._drop(table, task=name)
        self._drop("tasks", name=name)
        self.count_up("forgets")

    def _rename_account(self, name: str) -> None:
        """What a task or a version cost stands under the name of what was forgotten."""
        before = f"{name} (forgotten {self.forgets() + 1})"
        for table in ("accounts", "purchases", "bookings"):
            self._set(table, {"task": name}, task=before)

    # -- predictions, labels, and all there is to buy -----------------------------------------

    def begin_prediction(self, task: str, account: str, owner: str, at: float) -> None:
        if self._run("SELECT 1 FROM predictions WHERE account = ?", (account,)):
            return  # written already, as the connection was lost
        run = self._next("run", "predictions")
        self._add("predictions", run=run, task=task, account=account, owner=owner, begun_at=at)

    def end_prediction(self, account: str, receipt: dict[str, object]) -> bool:
        """Write its bill; False where that was done already.

        The bill of a run that was given up ("finished" is false) may be written again.
        """
        text = json.dumps(receipt)
        for (kept,) in self._rows("receipt", "predictions", "AND account = ?", account):
            if kept is not None and (kept == text or json.loads(kept).get("finished", True)):
                return False
        self._set("predictions", {"account": account}, receipt=text)
        return True

    def predictions(self, account: str | None = None) -> list[PredictionRow]:
        """All of them, or the one that has this account."""
        given = () if account is None else (account,)
        order = "ORDER BY run" if account is None else "AND account = ? ORDER BY run"
        columns = "run, task, account, owner, begun_at, receipt"
        return [
            PredictionRow(int(r), str(t), str(a), str(o), float(at), json.loads(d) if d else None)
            for r, t, a, o, at, d in self._rows(columns, "predictions", order, *given)
        ]

    def labels_of(self, source: str | None) -> set[str]:
        """Columns that were a label of this source; None: of any."""
        rows = self._run("SELECT source, name FROM label_columns")
        return {str(name) for where, name in rows if source in (None, where)}

    def note_label(self, source: str, name: str) -> None:
        self._run(
            "INSERT INTO label_columns (source, name) VALUES (?, ?) "
            "ON CONFLICT (source, name) DO NOTHING",
            (source, name),
        )

    def note_to_buy(self, entry: ToBuy) -> None:
        """Add to what there is to buy."""
        where = "AND place = ? AND features = ?"
        rows = self._rows("price, examples", "to_buy", where, entry.place, entry.features)
        if rows:
            entry = _to_buy(entry.place, entry.features, entry.n_features, *rows[0]).with_(entry)
        arrays: dict[str, AnyArray] = {"runs": entry.examples}
        if entry.which is not None:
            arrays["which"] = np.packbits(entry.which)
        key: dict[str, object] = {"place": entry.place, "features": entry.features}
        values = {"price": entry.price, "examples": pack_arrays(arrays)}
        self._put("to_buy", key, n_features=entry.n_features, **values)

    def to_buy(self) -> list[ToBuy]:
        rows = self._rows("place, features, n_features, price, examples", "to_buy")
        return [_to_buy(str(p), str(f), int(n), price, block) for p, f, n, price, block in rows]

    # -- versions of a task, and whom each was learned from ------------------------------------

    def versions(self, task: str | None = None) -> list[VersionHead]:
        """All versions, or those of a task, in their order."""
        rows = self._rows(_VERSION, "versions", "ORDER BY task, version")
        heads = [VersionHead(*_read_head(*row)) for row in rows]
        return [head for head in heads if task is None or head.task == task]

    def present_version(self, task: str) -> int:
        """The number of the version that answers; 1 where a task was never updated."""
        states = {head.state: head.number for head in self.versions(task)}
        return states.get("present", 1)

    def version_row(self, task: str, number: int) -> VersionRow | None:
        """One version, with its model."""
        columns, where = f"{_VERSION}, model, family, token", "AND task = ? AND version = ?"
        for *head, model, family, token in self._rows(columns, "versions", where, task, number):
            with readable(f"version {number} of {task!r} in the store"):
                own = None if family is None else _mapping(json.loads(family))
                return VersionRow(*_read_head(*head), _mapping(json.loads(model)), own, str(token))
        return None

    def add_version(self, row: VersionRow) -> None:
        self._add("versions", **_columns(row))

    def put_version_state(self, task: str, number: int, state: str) -> None:
        self._set("versions", {"task": task, "version": number}, state=state)

    def put_present(
        self, task: str, model: JsonLike, family: JsonLike | None, about: JsonLike
    ) -> None:
        """The model that answers for the task from now on; others hear of it as of a forgetting.

        ``about``: what is kept beside it, and stands with the receipt, which stays.
        """
        now = {
            "receipt": json.dumps({**self.receipt_of(task), **about}),
            "model": json.dumps(model),
            "family": json_or_none(family),
        }
        self._set("tasks", {"name": task}, **now)
        self.count_up("forgets")

    def put_task_examples(self, task: str, number: int, examples: NDArray[np.int64]) -> None:
        """The number of each example that a version was learned from; -1: it has none."""
        block = pack_arrays({"examples": examples.astype(np.int64)})
        self._put("task_examples", {"task": task, "version": number}, block=block)

    def task_examples(self, task: str, number: int) -> NDArray[np.int64] | None:
        """The inverse; None where the examples had no ids."""
        arrays = self._block("task_examples", task, number)
        return None if arrays is None else arrays["examples"]

    def _block(self, table: str, task: str, version: int) -> dict[str, AnyArray] | None:
        """The arrays that are kept of a version; None where there are none."""
        rows = self._rows("block", table, "AND task = ? AND version = ?", task, version)
        return unpack_arrays(bytes(rows[0][0])) if rows else None

    # -- what was answered, and outcomes -------------------------------------------------------

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

    def drop_references(self, task: str) -> None:
        """A model was fitted again: what it says of held-out rows is worked out anew."""
        self._drop("references_left_out", task=task)

    def reference(self, task: str, version: int) -> dict[str, AnyArray] | None:
        """The inverse; None where it was never worked out."""
        return self._block("references_left_out", task, version)

    def tasks_with_outcomes(self) -> list[str]:
        """Tasks of which an outcome is known."""
        return [str(task) for (task,) in self._rows("DISTINCT task", "outcomes")]

    def take_out_answers(self, example: int) -> None:
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

    # -- pages by kind and name: plain JSON, packed --------------------------------------------

    def kept(self, kind: str, name: str) -> JsonLike | None:
        """A page, or None."""
        rows = self._rows("block", "kept", "AND kind = ? AND name = ?", kind, storable(name))
        if not rows:
            return None
        opener = zlib.decompressobj()
        text = opener.decompress(bytes(rows[0][0]), _MOST)
        if opener.unconsumed_tail:
            raise StoreError(f"{kind} {name!r} in the store is larger than it may be.")
        found: JsonLike = json.loads(text)
        return found

    def keep(self, kind: str, name: str, data: Json) -> None:
        """Write a page, over one of that name."""
        block = zlib.compress(json.dumps(data).encode(), 1)
        self._put("kept", {"kind": kind, "name": storable(name)}, block=block)

    def drop_kept(self, kind: str, name: str) -> None:
        """Take a page out."""
        self._drop("kept", kind=kind, name=storable(name))


def _to_buy(place: str, features: str, n: int, price: int, block: bytes) -> ToBuy:
    arrays = unpack_arrays(bytes(block))
    which = np.unpackbits(arrays["which"]).astype(np.bool_) if "which" in arrays else None
    # stores of 0.2 wrote every number
    runs = arrays["runs"] if "runs" in arrays else runs_of(arrays["examples"])
    return ToBuy(place, features, n, int(price), runs, which)


def _route(stored: object) -> Route:
    """Stores of 0.2 say "screened" of a task that bought a part of its table."""
    return cast(Route, "bought" if stored == "screened" else str(stored))


def _task(row: SqlRow) -> TaskRow:
    name, route, model, receipt, failure, token, at, family = row
    return TaskRow(
        str(name),
        _route(route),
        json.loads(model),
        json.loads(receipt),
        None if failure is None else json.loads(failure),
        str(token),
        float(at),
        None if family is None else json.loads(family),
    )
