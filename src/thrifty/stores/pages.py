"""The ledger's pages: names of cells, purchases, columns and money."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.book import Column
from thrifty.cells.ledger.purchase import BLOCKING, CellBlock, Purchase, pack_arrays, unpack_arrays
from thrifty.stores.lifetime_pages import LifetimePages, SqlRow
from thrifty.untrusted import readable

_CHUNK = 1024
#: settled purchases of a lifetime's predictions that are over, and of no task
_OVER = """
    status = 'settled' AND compacted = 0 AND lifetime = ? AND (task = '' OR EXISTS (
        SELECT 1 FROM predictions AS p WHERE p.account = purchases.task
        AND p.lifetime = purchases.lifetime AND p.receipt IS NOT NULL AND p.receipt NOT LIKE ?
    ))
"""
_GIVEN_UP = '%"finished": false%'  # such a prediction may go on
#: columns of a purchase, in the order of its fields, and what reads each of them
_COLUMNS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("key", "task", "provider", "status", "owner"), str),
    **dict.fromkeys(("created_at", "give_up_at"), float),
    "block": lambda block: CellBlock.from_bytes(bytes(block)),
    **dict.fromkeys(("reserved", "spent"), int),
    "answer": lambda answer: None if answer is None else bytes(answer),
    "note": str,
    "settled_at": float,
    "sequence": int,
    "compacted": bool,
    **dict.fromkeys(("id", "lifetime", "beyond"), int),
}


class Sums:
    """Sums of one transaction that are written at its end: a step settles many purchases.

    >>> sums = Sums()
    >>> sums.move(1, "fever", 5, 0, 0)
    >>> sums.move(1, "fever", -5, 4, 0)
    >>> sums.moved
    {(1, 'fever'): (0, 4)}
    """

    def __init__(self) -> None:
        #: by who pays and for which task: what is reserved more, and spent
        self.moved: dict[tuple[int, str], tuple[int, int]] = {}
        self.over: dict[int, int] = {}
        #: what examples have cost, by who pays and chunk, where that has changed
        self.changed: dict[tuple[int, int], NDArray[np.int64]] = {}
        #: as the store has them
        self.balances: dict[str | None, tuple[int, int]] = {}
        self.sequence: int | None = None
        self.currency = ""

    def move(self, payer: int, task: str, reserved: int, spent: int, over: int) -> None:
        """The account of a task changes by so much."""
        if over:
            self.over[payer] = self.over.get(payer, 0) + over
        if reserved or spent:
            before = self.moved.get((payer, task), (0, 0))
            self.moved[payer, task] = (before[0] + reserved, before[1] + spent)


class SqlPages(LifetimePages):
    """One lifetime's pages inside one transaction."""

    _sums: Sums | None = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Sums that change inside are written once, at the end."""
        if self._sums is not None:
            yield
            return
        self._sums = Sums()
        try:
            yield
            self._write_sums()
        finally:
            self._sums = None

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self._write_sums()
        self._run("SAVEPOINT thrifty_point")
        try:
            yield
        except BaseException:
            self._sums = None if self._sums is None else Sums()
            self._run("ROLLBACK TO SAVEPOINT thrifty_point")
            self._run("RELEASE SAVEPOINT thrifty_point")
            raise
        self._run("RELEASE SAVEPOINT thrifty_point")

    # -- names --------------------------------------------------------------------------------

    def number(self, kind: str, names: Sequence[str], source: str = "") -> NDArray[np.int32]:
        found = self.numbers(kind, names, source)
        new = list(dict.fromkeys(names[i] for i in np.flatnonzero(found < 0).tolist()))
        if new:
            last = self._run("SELECT MAX(number) FROM cell_names WHERE kind = ?", (kind,))[0][0]
            first = 0 if last is None else int(last) + 1
            fresh = {name: first + i for i, name in enumerate(new)}
            self._many(
                "INSERT INTO cell_names (kind, source, name, number) VALUES (?, ?, ?, ?)",
                [(kind, source, name, number) for name, number in fresh.items()],
            )
            for i in np.flatnonzero(found < 0).tolist():
                found[i] = fresh[names[i]]
        return found

    def numbers(self, kind: str, names: Sequence[str], source: str = "") -> NDArray[np.int32]:
        """The numbers of names, -1 where one has none yet; nothing is written."""
        select = (
            "SELECT name, number FROM cell_names WHERE kind = ? AND source = ? AND name IN ({})"
        )
        rows = self._among(select, list(names), kind, source)
        known = {str(name): int(number) for name, number in rows}
        return np.array([known.get(name, -1) for name in names], dtype=np.int32)

    def names(self, kind: str, numbers: Iterable[int]) -> list[str]:
        wanted = [int(n) for n in numbers]
        select = "SELECT number, name FROM cell_names WHERE kind = ? AND number IN ({})"
        rows = self._among(select, list(dict.fromkeys(wanted)), kind)
        by_number = {int(number): str(name) for number, name in rows}
        return [by_number[n] for n in wanted]

    def rename(self, kind: str, number: int, name: str, source: str | None = None) -> None:
        """Another name for what has this number, and another source."""
        self._run(
            "UPDATE cell_names SET name = ?, source = COALESCE(?, source) "
            "WHERE kind = ? AND number = ?",
            (name, source, kind, number),
        )

    def numbered(self, kind: str, source: str) -> dict[str, int]:
        rows = self._run(
            "SELECT name, number FROM cell_names WHERE kind = ? AND source = ?", (kind, source)
        )
        return {str(name): int(number) for name, number in rows}

    def sources_of(self, kind: str) -> dict[int, tuple[str, str]]:
        """Every name of a kind by its number, with its source."""
        rows = self._run("SELECT number, source, name FROM cell_names WHERE kind = ?", (kind,))
        return {int(number): (str(source), str(name)) for number, source, name in rows}

    def knows_source(self, kind: str, source: str) -> bool:
        where = "SELECT 1 FROM cell_names WHERE kind = ? AND source = ? LIMIT 1"
        return bool(self._run(where, (kind, source)))

    def words(self) -> dict[int, tuple[str, ...]]:
        rows = self._run(
            "SELECT source, name FROM cell_names WHERE kind = ? AND source <> ? ORDER BY number",
            ("word", "sources"),
        )
        found: dict[int, list[str]] = {}
        for feature, word in rows:
            found.setdefault(int(feature), []).append(str(word))
        return {feature: tuple(words) for feature, words in found.items()}

    # -- purchases ----------------------------------------------------------------------------

    def add(self, purchase: Purchase) -> Purchase:
        p = purchase
        block = p.block.to_bytes()
        given = (p.key, p.task, p.provider, p.status, p.owner, p.created_at, p.give_up_at, block)
        rows = self._run(
            "INSERT INTO purchases (lifetime, key, task, provider, status, owner, created_at, "
            "give_up_at, block, reserved, spent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "RETURNING id",
            (self._id, *given, p.reserved, p.spent),
        )
        return p.with_(id=int(rows[0][0]), lifetime=self._id)

    def _purchases(self, where: str = "", *values: object) -> list[Purchase]:
        sql = f"SELECT {', '.join(_COLUMNS)} FROM purchases {where}"
        return [_purchase(row) for row in self._run(sql, values)]

    def with_keys(self, keys: Sequence[str]) -> list[Purchase]:
        select = f"SELECT {', '.join(_COLUMNS)} FROM purchases WHERE key IN ({{}}) ORDER BY id"
        return [_purchase(row) for row in self._among(select, list(keys))]

    def purchase(self, id: int) -> Purchase | None:
        found = self._purchases("WHERE id = ?", id)
        return found[0] if found else None

    def as_now(self, purchase: Purchase) -> Purchase:
        """A purchase that was written down, as it stands; its cells are read only if it ended."""
        p = purchase
        (now,) = self._run(
            "SELECT status, owner, give_up_at, reserved, spent, note FROM purchases WHERE id = ?",
            (p.id,),
        )
        if tuple(now) == (p.status, p.owner, p.give_up_at, p.reserved, p.spent, p.note):
            return p
        found = self.purchase(p.id)
        assert found is not None, "purchases are never deleted"
        return found

    def blocking(self) -> list[Purchase]:
        marks = ", ".join("?" * len(BLOCKING))
        return self._purchases(f"WHERE status IN ({marks}) ORDER BY id", *BLOCKING)

    def settled_after(self, sequence: int) -> list[Purchase]:
        where = "WHERE status = 'settled' AND compacted = 0 AND sequence > ? ORDER BY sequence"
        return self._purchases(where, sequence)

    def all_settled(self) -> list[Purchase]:
        """Every settled purchase of the store, in order."""
        return self._purchases("WHERE status = 'settled' ORDER BY sequence")

    def settled_of(self, task: str) -> list[Purchase]:
        open_ones = "compacted = 0 AND status = 'settled' ORDER BY sequence"
        return self._purchases(f"WHERE lifetime = ? AND task = ? AND {open_ones}", self._id, task)

    def settled_of_predictions(self) -> list[Purchase]:
        """Those of predictions that are over, and of no task: nobody goes on with them."""
        return self._purchases(f"WHERE {_OVER} ORDER BY sequence", self._id, _GIVEN_UP)

    def n_settled_of_predictions(self) -> int:
        """How many these are."""
        return int(
            self._run(f"SELECT COUNT(*) FROM purchases WHERE {_OVER}", (self._id, _GIVEN_UP))[0][0]
        )

    def purchases_of(self, task: str) -> list[Purchase]:
        return self._purchases("WHERE lifetime = ? AND task = ? ORDER BY id", self._id, task)

    def answered(self) -> list[Purchase]:
        """Every purchase of the store whose answer is kept with it."""
        return self._purchases("WHERE answer IS NOT NULL")

    def purchases_in_store(self) -> list[Purchase]:
        """Every purchase, of every lifetime."""
        return self._purchases("ORDER BY id")

    def take_answer(self, id: int, note: str) -> None:
        """Forget what was answered; the line of the bill stays, with a note."""
        self._run("UPDATE purchases SET answer = NULL, note = ? WHERE id = ?", (note, id))

    def purchases(self) -> list[Purchase]:
        """Every purchase ever begun, in order."""
        return self._purchases("WHERE lifetime = ? ORDER BY id", self._id)

    def latest(self, limit: int) -> list[Purchase]:
        """The last purchases that were begun, the newest first."""
        return self._purchases("WHERE lifetime = ? ORDER BY id DESC LIMIT ?", self._id, limit)

    def last_settled(self) -> float:
        where = "SELECT MAX(settled_at) FROM purchases WHERE status = 'settled'"
        return float(self._run(where)[0][0] or 0.0)

    def last_compacted(self) -> int:
        return self.sequences()[0]

    def sequences(self) -> tuple[int, int]:
        compacted, last = self._run("SELECT compacted, sequence FROM ledger WHERE id = 1")[0]
        coming = None if self._sums is None else self._sums.sequence
        return int(compacted), max(int(last), coming or 0)

    def claim(self, id: int, owner: str, give_up_at: float) -> Purchase:
        self._run(
            "UPDATE purchases SET owner = ?, give_up_at = ?, status = 'pending' WHERE id = ?",
            (owner, give_up_at, id),
        )
        claimed = self.purchase(id)
        assert claimed is not None, "purchases are never deleted"
        return claimed

    def finish(self, purchase: Purchase) -> Purchase:
        p = purchase
        if p.status == "settled":
            p = p.with_(sequence=self._next_in_sequence())
        values = {
            **{name: getattr(p, name) for name in ("status", "reserved", "spent", "answer")},
            **{name: getattr(p, name) for name in ("note", "settled_at", "sequence")},
            "beyond": p.over,
            **({} if p.block.paid is None else {"block": p.block.to_bytes()}),
        }
        named = ", ".join(f"{column} = ?" for column in values)
        self._run(f"UPDATE purchases SET {named} WHERE id = ?", (*values.values(), p.id))
        return p

    def _next_in_sequence(self) -> int:
        sums = self._sums
        if sums is not None and sums.sequence is not None:
            sums.sequence += 1
            return sums.sequence
        self._run("UPDATE ledger SET sequence = sequence + 1 WHERE id = 1")
        sequence = int(self._run("SELECT sequence FROM ledger WHERE id = 1")[0][0])
        if sums is not None:
            sums.sequence = sequence
        return sequence

    # -- columns ------------------------------------------------------------------------------

    def columns(
        self, kind: str | None = None, numbers: Iterable[int] | None = None
    ) -> list[Column]:
        select = "SELECT kind, number, boolean, block FROM cell_blocks"
        if kind is None:
            rows = self._run(select)
        elif numbers is None:
            rows = self._run(f"{select} WHERE kind = ?", (kind,))
        else:
            wanted = [int(n) for n in numbers]
            rows = self._among(f"{select} WHERE kind = ? AND number IN ({{}})", wanted, kind)
        return [Column(str(k), int(n), bool(b), bytes(block)) for k, n, b, block in rows]

    def put_columns(self, columns: Iterable[Column]) -> None:
        self._many(
            "INSERT INTO cell_blocks (kind, number, boolean, block) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (kind, number) "
            "DO UPDATE SET boolean = excluded.boolean, block = excluded.block",
            [(c.kind, c.number, int(c.boolean), c.block) for c in columns],
        )

    def mark_compacted(self, ids: Sequence[int]) -> None:
        # The values are in columns now; what remains is the line of the bill.
        self._many(
            "UPDATE purchases SET compacted = 1, answer = NULL WHERE id = ?", [(id,) for id in ids]
        )
        found = self._among("SELECT MAX(sequence) FROM purchases WHERE id IN ({})", list(ids))
        last = max((int(highest or 0) for (highest,) in found), default=0)
        self._run("UPDATE ledger SET compacted = ? WHERE id = 1 AND compacted < ?", (last, last))

    def columns_were_told(self) -> None:
        """Values came that no purchase has brought: who is buying reads the columns anew."""
        now = self._next_in_sequence()
        self._run("UPDATE ledger SET compacted = ? WHERE id = 1", (now,))

    # -- money --------------------------------------------------------------------------------

    def _write_sums(self) -> None:
        """What has changed since the last time; reads begin anew after it."""
        sums = self._sums
        if sums is None:
            return
        self._sums = None
        for (payer, task), (reserved, spent) in sums.moved.items():
            self.move(task, reserved, spent, payer)
        for payer, over in sums.over.items():
            self.move("", 0, 0, payer, over)
        self._put_chunks(sums.changed)
        if sums.sequence is not None:
            self._run("UPDATE ledger SET sequence = ? WHERE id = 1", (sums.sequence,))
        self._sums = Sums()

    def balance(self, task: str | None) -> tuple[int, int]:
        sums = self._sums
        if sums is None:
            return self._balance(task)
        if task not in sums.balances:
            sums.balances[task] = self._balance(task)
        reserved, spent = sums.balances[task]
        moved = [
            some
            for (payer, name), some in sums.moved.items()
            if payer == self._id and task in (None, name)
        ]
        return reserved + sum(r for r, _ in moved), spent + sum(s for _, s in moved)

    def _balance(self, task: str | None) -> tuple[int, int]:
        if task is None:
            rows = self._run("SELECT reserved, spent FROM lifetimes WHERE id = ?", (self._id,))
        else:
            rows = self._rows("reserved, spent", "accounts", "AND task = ?", task)
        reserved, spent = (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)
        if task is None and (reserved < 0 or spent < 0):
            raise ValueError(f"{reserved} reserved and {spent} spent")
        return reserved, spent

    def over(self) -> int:
        coming = 0 if self._sums is None else self._sums.over.get(self._id, 0)
        return int(self._of_lifetime("beyond")) + coming

    def billed_for_nothing(self, provider: str) -> bool:
        """Whether a provider has billed a call that costs nothing by its list."""
        found = self._purchases("WHERE provider = ? AND beyond > 0 AND spent = 0", provider)
        return any(not purchase.block.price for purchase in found)

    def over_by_task(self) -> dict[str, int]:
        """The same by task, where there is some."""
        grouped = "AND beyond <> 0 GROUP BY task ORDER BY task"
        rows = self._rows("task, SUM(beyond)", "purchases", grouped)
        return {str(task): int(owed) for task, owed in rows if owed}

    def move(
        self, task: str, reserved: int, spent: int, lifetime: int | None = None, over: int = 0
    ) -> None:
        payer = lifetime or self._id
        if self._sums is not None:
            self._sums.move(payer, task, reserved, spent, over)
            return
        if over:
            self._run("UPDATE lifetimes SET beyond = beyond + ? WHERE id = ?", (over, payer))
        if not reserved and not spent:
            return
        self._run(
            "UPDATE lifetimes SET reserved = reserved + ?, spent = spent + ? WHERE id = ?",
            (reserved, spent, payer),
        )
        self._run(
            "INSERT INTO accounts (lifetime, task, reserved, spent) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (lifetime, task) DO UPDATE SET "
            "reserved = accounts.reserved + excluded.reserved, "
            "spent = accounts.spent + excluded.spent",
            (payer, task, reserved, spent),
        )

    def accounts(self) -> dict[str, tuple[int, int]]:
        """(reserved, spent) of every task and prediction."""
        self._write_sums()
        rows = self._rows("task, reserved, spent", "accounts")
        return {str(task): (int(reserved), int(spent)) for task, reserved, spent in rows}

    def example_costs(self, examples: NDArray[np.int32]) -> NDArray[np.int64]:
        out = np.zeros(len(examples), dtype=np.int64)
        for chunk in np.unique(examples // _CHUNK).tolist():
            inside = examples // _CHUNK == chunk
            out[inside] = self._chunk(chunk, self._id)[examples[inside] % _CHUNK]
        return out

    def add_example_costs(
        self, examples: NDArray[np.int32], amounts: NDArray[np.int64], lifetime: int | None = None
    ) -> None:
        payer = lifetime or self._id
        sums = self._sums
        if sums is not None and len(examples) == 1:  # a text, of which there are many
            chunk, at = divmod(int(examples[0]), _CHUNK)
            if (payer, chunk) not in sums.changed:
                sums.changed[payer, chunk] = self._chunk(chunk, payer).copy()
            sums.changed[payer, chunk][at] += amounts[0]
            return
        if not amounts.any():
            return
        changed = {}
        for chunk in np.unique(examples // _CHUNK).tolist():
            inside = examples // _CHUNK == chunk
            total = self._chunk(chunk, payer).copy()
            np.add.at(total, examples[inside] % _CHUNK, amounts[inside])
            changed[payer, chunk] = total
        if sums is not None:
            sums.changed.update(changed)
        else:
            self._put_chunks(changed)

    def _put_chunks(self, changed: Mapping[tuple[int, int], NDArray[np.int64]]) -> None:
        if not changed:
            return
        self._many(
            "INSERT INTO example_spending (lifetime, chunk, amounts) VALUES (?, ?, ?) "
            "ON CONFLICT (lifetime, chunk) DO UPDATE SET amounts = excluded.amounts",
            [(*at, pack_arrays({"amounts": total})) for at, total in changed.items()],
        )

    def _chunk(self, chunk: int, payer: int) -> NDArray[np.int64]:
        if self._sums is not None and (payer, chunk) in self._sums.changed:
            return self._sums.changed[payer, chunk]
        rows = self._run(
            "SELECT amounts FROM example_spending WHERE lifetime = ? AND chunk = ?", (payer, chunk)
        )
        if not rows:
            return np.zeros(_CHUNK, dtype=np.int64)
        return unpack_arrays(bytes(rows[0][0]))["amounts"]

    def currency(self, label: str) -> str:
        sums = self._sums
        if sums is not None and sums.currency and not label:
            return sums.currency
        kept = str(self._of_lifetime("currency"))
        if sums is not None:
            sums.currency = kept
        if label and not kept:
            self._set_lifetime(currency=label)
            return label
        return kept


def _purchase(row: SqlRow) -> Purchase:
    return Purchase(*(read(value) for read, value in zip(_COLUMNS.values(), row)))


def _reading(method: Callable[..., object]) -> Callable[..., object]:
    """What a row holds may have been changed by somebody else: an error that says so."""

    @wraps(method)
    def reading(*given: object, **named: object) -> object:
        try:
            return method(*given, **named)
        except Exception:
            with readable("the store"):
                raise

    return reading


for _name in dir(SqlPages):
    _method = getattr(SqlPages, _name)
    if (_name == "_chunk" or _name[0] != "_") and _method.__annotations__["return"] != "None":
        setattr(SqlPages, _name, _reading(_method))
