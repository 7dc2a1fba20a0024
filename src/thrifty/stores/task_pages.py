"""A lifetime's own pages: what it was given, its tasks, its predictions, all there is to buy.

Every value travels as a parameter; no statement is ever put together from data. Features are kept
as text of which a million numbered names take a line, not megabytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from thrifty.attempt import Route
from thrifty.cells.ledger.allowance import ToBuy, runs_of
from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.cells.sources.checks import default_names
from thrifty.typing import AnyArray, JsonLike

__all__ = [
    "PredictionRow",
    "State",
    "TaskHead",
    "TaskPages",
    "TaskRow",
    "names_from_text",
    "names_to_text",
]

#: more features than any lifetime has, and longer numbers than any of them: a stranger's store
#: may say what it likes, and is not given the memory for it
_MOST, _WIDEST = 5_000_000, 40

_NUMBERED = re.compile(r"^(.*?)(\d+)$", re.DOTALL)


def names_to_text(names: Sequence[str]) -> str:
    """Names as JSON; those that are a prefix and a running number, in short.

    >>> names_to_text(["x0", "x1", "x2"]), names_to_text(["age", "tsh"])
    ('{"prefix": "x", "first": 0, "count": 3, "width": 0}', '["age", "tsh"]')
    """
    match = _NUMBERED.match(names[0]) if names else None
    if match is not None and 1 < len(names) <= _MOST and len(match.group(2)) <= _WIDEST:
        prefix, digits = match.groups()
        width = len(digits) if len(digits) > 1 else 0
        short = {"prefix": prefix, "first": int(digits), "count": len(names), "width": width}
        for tried in (short, {**short, "width": 0}):
            if tuple(names) == _numbered(**tried):  # type: ignore[arg-type]
                return json.dumps(tried)
    return json.dumps(list(names))


def names_from_text(text: str) -> tuple[str, ...]:
    """The inverse of :func:`names_to_text`.

    >>> names_from_text(names_to_text(["f08", "f09", "f10"]))
    ('f08', 'f09', 'f10')
    """
    data = json.loads(text)
    if isinstance(data, dict):
        numbers = (data.get("first"), data.get("count"), data.get("width"))
        if not all(type(number) is int for number in numbers) or len(str(data["prefix"])) > 1000:
            raise ValueError(f"features {data!r:.80}")
        return _numbered(**data)
    return tuple(map(str, data))


def _numbered(prefix: str, first: int, count: int, width: int) -> tuple[str, ...]:
    if not (0 <= count <= _MOST and 0 <= width <= _WIDEST and 0 <= first < 10**_WIDEST):
        raise ValueError(f"{count} features with numbers of {width} digits")
    if prefix == "x" and first == 0 and width == 0:
        return default_names(count)
    return tuple(f"{prefix}{i:0{width}d}" for i in range(first, first + count))


_TASK = "SELECT name, route, model, receipt, failure, token, learned_at, family FROM tasks "


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


#: a row as a database gives it: what a column holds is read and checked by whoever asked
SqlRow: TypeAlias = Sequence[Any]
#: (sql, parameters) to rows
Run: TypeAlias = Callable[..., list[SqlRow]]


class TaskPages:
    """The pages of one lifetime; ``run(sql, params)`` gives rows."""

    _run: Run
    _many: Callable[..., None]
    _id: int

    # -- the lifetime and its tasks -----------------------------------------------------------

    def version(self) -> int:
        return int(self._one("SELECT version FROM lifetimes WHERE id = ?"))

    def state(self) -> State:
        family, features, named, representation, version, settings = self._run(
            "SELECT family, features, named, representation, version, settings FROM lifetimes "
            "WHERE id = ?",
            (self._id,),
        )[0]
        names = None if features is None else names_from_text(features)
        return State(
            json.loads(family),
            names,
            bool(named),
            json.loads(representation),
            int(version),
            json.loads(settings),
        )

    def forgets(self) -> int:
        """How many tasks were forgotten so far."""
        return int(self._one("SELECT forgets FROM lifetimes WHERE id = ?"))

    def put_settings(self, settings: JsonLike) -> None:
        self._run(
            "UPDATE lifetimes SET settings = ? WHERE id = ?", (json.dumps(settings), self._id)
        )

    def put_family(self, family: dict[str, object]) -> None:
        self._run("UPDATE lifetimes SET family = ? WHERE id = ?", (json.dumps(family), self._id))

    def note_change(self, at: float, what: str, before: object, after: object) -> None:
        """Write down that something of the lifetime was changed by its user."""
        self._run(
            "INSERT INTO changes (lifetime, at, what, before, after) VALUES (?, ?, ?, ?, ?)",
            (self._id, at, what, json.dumps(before), json.dumps(after)),
        )

    def changes(self) -> list[tuple[float, str, object, object]]:
        rows = self._run(
            "SELECT at, what, before, after FROM changes WHERE lifetime = ? ORDER BY at",
            (self._id,),
        )
        return [(float(t), str(w), json.loads(b), json.loads(a)) for t, w, b, a in rows]

    def note_purge(self, at: float, example: int) -> None:
        """Write down that the values of an example were taken out; its number is no secret."""
        self.note_change(at, "purge", None, example)

    def purged(self) -> dict[int, float]:
        """Examples whose values were taken out of the store, by any lifetime, and when last."""
        rows = self._run("SELECT after, at FROM changes WHERE what = ? ORDER BY at", ("purge",))
        return {int(json.loads(number)): float(at) for number, at in rows}

    def note_booking(self, task: str, at: float) -> None:
        """A task or a prediction has looked at cells of a table; they bear this moment."""
        self._run(
            "INSERT INTO bookings (lifetime, task, at) VALUES (?, ?, ?)", (self._id, task, at)
        )

    def bookings(self) -> dict[float, tuple[str, str]]:
        """Of the whole store: when, and then (lifetime, task)."""
        rows = self._run(
            "SELECT b.at, l.name, b.task FROM bookings b JOIN lifetimes l ON l.id = b.lifetime"
        )
        return {float(at): (str(lifetime), str(task)) for at, lifetime, task in rows}

    def put_representation(self, representation: dict[str, object]) -> int:
        self._run(
            "UPDATE lifetimes SET representation = ?, version = version + 1 WHERE id = ?",
            (json.dumps(representation), self._id),
        )
        return self.version()

    def known_blocks(self) -> dict[str, bytes]:
        """The parts of a representation that is kept in parts."""
        rows = self._run("SELECT name, block FROM known_blocks WHERE lifetime = ?", (self._id,))
        return {str(name): bytes(block) for name, block in rows}

    def put_known_blocks(self, new: Mapping[str, bytes], gone: Iterable[str]) -> None:
        """Write some of the parts, and take out others."""
        self._many(
            "DELETE FROM known_blocks WHERE lifetime = ? AND name = ?",
            [(self._id, name) for name in gone],
        )
        self._many(
            "INSERT INTO known_blocks (lifetime, name, block) VALUES (?, ?, ?) "
            "ON CONFLICT (lifetime, name) DO UPDATE SET block = excluded.block",
            [(self._id, name, block) for name, block in new.items()],
        )

    def drop_known_blocks(self) -> None:
        """Another family begins with nothing."""
        self._run("DELETE FROM known_blocks WHERE lifetime = ?", (self._id,))

    def drop_known_rows(self) -> None:
        """Take out the parts, of every lifetime, that hold values of single examples.

        A representation says so in the name of such a part: it begins with ``rows``.
        """
        self._run("DELETE FROM known_blocks WHERE name LIKE ?", ("rows %",))

    def drop_interviews(self, example: str) -> None:
        """Take out the interviews about an example, of every lifetime; others go on.

        An interview is kept under its source, the example and its tasks.
        """
        for lifetime, name in self._run(
            "SELECT lifetime, name FROM kept WHERE kind = ?", ("interview",)
        ):
            if str(name).split("\x1f")[1:2] == [example]:
                self._run(
                    "DELETE FROM kept WHERE lifetime = ? AND kind = ? AND name = ?",
                    (lifetime, "interview", name),
                )

    def n_features(self) -> int | None:
        """How many features the lifetime knows; they only grow, so this says which."""
        number = self._run("SELECT n_features FROM lifetimes WHERE id = ?", (self._id,))[0][0]
        return None if number is None else int(number)

    def put_features(self, names: Sequence[str], named: bool) -> None:
        self._run(
            "UPDATE lifetimes SET features = ?, named = ?, n_features = ? WHERE id = ?",
            (names_to_text(names), int(named), len(names), self._id),
        )

    def add_task(self, task: TaskRow) -> None:
        self._run(
            "INSERT INTO tasks (lifetime, position, name, route, model, receipt, failure, token, "
            "learned_at, family) VALUES (?, (SELECT COALESCE(MAX(position), -1) + 1 FROM tasks "
            "WHERE lifetime = ?), ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._id,
                self._id,
                task.name,
                task.route,
                json.dumps(task.model),
                json.dumps(task.receipt),
                None if task.failure is None else json.dumps(task.failure),
                task.token,
                task.learned_at,
                None if task.family is None else json.dumps(task.family),
            ),
        )

    def put_model(self, name: str, model: JsonLike) -> None:
        """Another model of a task in the place of its own; what it cost stays."""
        self._run(
            "UPDATE tasks SET model = ? WHERE lifetime = ? AND name = ?",
            (json.dumps(model), self._id, name),
        )

    def task_token(self, name: str) -> str | None:
        rows = self._run(
            "SELECT token FROM tasks WHERE lifetime = ? AND name = ?", (self._id, name)
        )
        return str(rows[0][0]) if rows else None

    def heads(self, after: int) -> list[TaskHead]:
        """Tasks in the order of learning, those after a position, without what they hold."""
        rows = self._run(
            "SELECT position, name, route FROM tasks WHERE lifetime = ? AND position > ? "
            "ORDER BY position",
            (self._id, after),
        )
        return [TaskHead(int(at), str(name), cast(Route, str(route))) for at, name, route in rows]

    def task(self, name: str) -> TaskRow | None:
        rows = self._run(_TASK + "WHERE lifetime = ? AND name = ?", (self._id, name))
        return _task(rows[0]) if rows else None

    def receipt_of(self, name: str) -> JsonLike:
        """A task's receipt and what stands with it, without its model."""
        rows = self._run(
            "SELECT receipt FROM tasks WHERE lifetime = ? AND name = ?", (self._id, name)
        )
        found: JsonLike = json.loads(rows[0][0]) if rows else {}
        return found

    def tasks(self, from_position: int = 0) -> list[TaskRow]:
        rows = self._run(
            _TASK + "WHERE lifetime = ? AND position >= ? ORDER BY position",
            (self._id, from_position),
        )
        return [_task(row) for row in rows]

    def forget(self, name: str) -> None:
        """Take a task out; what it bought stays owned, what it cost stays spent."""
        self._run("DELETE FROM tasks WHERE lifetime = ? AND name = ?", (self._id, name))
        # Learned again it begins a bill of its own.
        before = f"{name} (forgotten {self.forgets() + 1})"
        for table in ("accounts", "purchases", "bookings"):
            self._run(
                f"UPDATE {table} SET task = ? WHERE lifetime = ? AND task = ?",
                (before, self._id, name),
            )
        self._run("UPDATE lifetimes SET forgets = forgets + 1 WHERE id = ?", (self._id,))

    # -- predictions, labels, and all there is to buy -----------------------------------------

    def begin_prediction(self, task: str, account: str, owner: str, at: float) -> None:
        if self._run("SELECT 1 FROM predictions WHERE account = ?", (account,)):
            return  # written already, as the connection was lost
        self._run(
            "INSERT INTO predictions (lifetime, run, task, account, owner, begun_at) VALUES "
            "(?, (SELECT COALESCE(MAX(run), 0) + 1 FROM predictions WHERE lifetime = ?), "
            "?, ?, ?, ?)",
            (self._id, self._id, task, account, owner, at),
        )

    def end_prediction(self, account: str, receipt: dict[str, object]) -> bool:
        """Write its bill; False where that was done already.

        The bill of a run that was given up ("finished" is false) may be written again.
        """
        rows = self._run(
            "SELECT receipt FROM predictions WHERE lifetime = ? AND account = ?",
            (self._id, account),
        )
        text = json.dumps(receipt)
        for (kept,) in rows:
            if kept is not None and (kept == text or json.loads(kept).get("finished", True)):
                return False
        self._run(
            "UPDATE predictions SET receipt = ? WHERE lifetime = ? AND account = ?",
            (text, self._id, account),
        )
        return True

    def predictions(self, account: str | None = None) -> list[PredictionRow]:
        """All of them, or the one that has this account."""
        rows = self._run(
            "SELECT run, task, account, owner, begun_at, receipt FROM predictions "
            f"WHERE lifetime = ? {'' if account is None else 'AND account = ? '}ORDER BY run",
            (self._id,) if account is None else (self._id, account),
        )
        return [
            PredictionRow(int(r), str(t), str(a), str(o), float(at), json.loads(d) if d else None)
            for r, t, a, o, at, d in rows
        ]

    def labels_of(self, source: str) -> set[str]:
        """Columns that were a label of this source."""
        rows = self._run("SELECT name FROM label_columns WHERE source = ?", (source,))
        return {str(name) for (name,) in rows}

    def note_label(self, source: str, name: str) -> None:
        self._run(
            "INSERT INTO label_columns (source, name) VALUES (?, ?) "
            "ON CONFLICT (source, name) DO NOTHING",
            (source, name),
        )

    def note_to_buy(self, entry: ToBuy) -> None:
        """Add to what there is to buy."""
        rows = self._run(
            "SELECT price, examples FROM to_buy WHERE lifetime = ? AND place = ? AND features = ?",
            (self._id, entry.place, entry.features),
        )
        if rows:
            entry = _to_buy(entry.place, entry.features, entry.n_features, *rows[0]).with_(entry)
        arrays: dict[str, AnyArray] = {"runs": entry.examples}
        if entry.which is not None:
            arrays["which"] = np.packbits(entry.which)
        block = pack_arrays(arrays)
        self._run(
            "INSERT INTO to_buy (lifetime, place, features, n_features, price, examples) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (lifetime, place, features) DO UPDATE SET "
            "price = excluded.price, examples = excluded.examples",
            (self._id, entry.place, entry.features, entry.n_features, entry.price, block),
        )

    def to_buy(self) -> list[ToBuy]:
        rows = self._run(
            "SELECT place, features, n_features, price, examples FROM to_buy WHERE lifetime = ?",
            (self._id,),
        )
        return [_to_buy(str(p), str(f), int(n), price, block) for p, f, n, price, block in rows]

    def _one(self, sql: str) -> Any:
        return self._run(sql, (self._id,))[0][0]


def _to_buy(place: str, features: str, n: int, price: int, block: bytes) -> ToBuy:
    arrays = unpack_arrays(bytes(block))
    which = np.unpackbits(arrays["which"]).astype(np.bool_) if "which" in arrays else None
    # stores of 0.2 wrote every number
    runs = arrays["runs"] if "runs" in arrays else runs_of(arrays["examples"])
    return ToBuy(place, features, n, int(price), runs, which)


def _task(row: SqlRow) -> TaskRow:
    name, route, model, receipt, failure, token, at, family = row
    return TaskRow(
        str(name),
        str(route),
        json.loads(model),
        json.loads(receipt),
        None if failure is None else json.loads(failure),
        str(token),
        float(at),
        None if family is None else json.loads(family),
    )
