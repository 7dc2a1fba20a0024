"""Moving house: everything in a store, to another one, counted and hashed on both sides.

The whole of it is read under the lock of the old store, so that nobody writes meanwhile, and
written in one transaction of the new one, which holds all of it or nothing. Before that transaction
ends the new store is read back: every table must have as many rows as the old one and the same
digest. A digest is the sum of the hashes of the rows, so it does not depend on the order in which a
database gives them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thrifty.cells.ledger.purchase import is_live
from thrifty.errors import BadInput, StoreBusy, StoreError
from thrifty.stores.base import Store, StoreLike, existing_store, open_store
from thrifty.stores.lifetime_pages import SqlRow
from thrifty.stores.pages import SqlPages
from thrifty.stores.postgres import PostgresStore
from thrifty.stores.sqlite import MemoryStore


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table of our own schema."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]

    def batches(self, pages: SqlPages) -> Iterator[list[SqlRow]]:
        """All rows, in an order that stays while nobody writes."""
        at_once, at = 200, 0  # rows in memory: one may hold a feature's values on all examples
        listed, order = ", ".join(self.columns), ", ".join(self.keys or self.columns)
        select = f"SELECT {listed} FROM {self.name} ORDER BY {order} LIMIT ? OFFSET ?"
        while rows := pages._run(select, (at_once, at)):
            yield [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in rows]
            at += len(rows)

    def take(self, pages: SqlPages, rows: list[SqlRow]) -> None:
        marks = ", ".join("?" * len(self.columns))
        pages._many(f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({marks})", rows)


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied, table by table.

    Attributes
    ----------
    tables : mapping
        of each table, how many rows both stores hold
    digests : mapping
        of each table, the digest of its rows, the same in both
    lifetimes : tuple of str
        the names of the lifetimes
    """

    tables: dict[str, int]
    digests: dict[str, str]
    lifetimes: tuple[str, ...]

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(self.tables.values())

    def __str__(self) -> str:
        named = ", ".join(map(repr, self.lifetimes)) or "no lifetime"
        return (
            f"{named}: {self.rows:,} rows of {len(self.tables)} tables, counted and hashed on both "
            "sides"
        )


def copy_store(source: StoreLike, target: StoreLike) -> Copied:
    """Copy everything of a store into another one that holds nothing, whatever their kinds.

    Nobody can write in the old store meanwhile: others wait, and a purchase that is being made at
    this moment is refused with :class:`thrifty.errors.StoreBusy`. The old store stays as it is; go
    on in one of them alone, for two stores do not know what the other has paid for.

    Parameters
    ----------
    source, target : Store, str or path
        a file name or a ``postgresql://`` URL each

    Raises
    ------
    thrifty.errors.BadInput
        a target that holds something, or the same store twice
    thrifty.errors.StoreBusy
        a purchase is being made at this moment
    thrifty.errors.StoreError
        counts or hashes differ afterwards

    See Also
    --------
    thrifty.stores.open_store : a store by its name

    Examples
    --------
    >>> import thrifty
    >>> from thrifty.stores import MemoryStore, copy_store
    >>> old, new = MemoryStore(), MemoryStore()
    >>> _ = thrifty.Lifetime(store=old).learn("t", [[0, 1], [1, 0]] * 5, [0, 1] * 5)
    >>> print(copy_store(old, new))  # doctest: +ELLIPSIS
    'lifetime': ... rows of ... tables, counted and hashed on both sides
    >>> list(thrifty.Lifetime.open(new))
    ['t']
    """
    a, b = (s.place if isinstance(s, Store) else str(s) for s in (source, target))
    named = bool(a and b) and "://" not in a + b
    if source is target or (a and a == b) or (named and Path(a).resolve() == Path(b).resolve()):
        raise BadInput(f"a store cannot be copied onto itself: {a or source!r}.")
    old = existing_store(source)
    made = None  # the file that opening the target makes
    if not (target is None or isinstance(target, Store) or "://" in b or Path(b).exists()):
        made = Path(b)
    try:
        new = open_store(target)
        new.read(0, _refuse_what_is_there)
        tables = _schema()
        return old.write(0, lambda pages: _copy(pages, new, tables))
    except BaseException:
        if made is not None:
            made.unlink(missing_ok=True)
        raise


def _schema() -> list[CopiedTable]:
    """Tables and columns as this version makes them: names come from no store of a stranger."""
    run = MemoryStore().read(0, lambda pages: pages._run)
    names = [str(n) for (n,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
    # lifetimes first: the others point to them
    tables = []
    for name in sorted(names, key=lambda name: (name != "lifetimes", name)):
        columns = run(f"PRAGMA table_info({name})")
        keys = sorted((int(c[5]), str(c[1])) for c in columns if c[5])
        tables.append(
            CopiedTable(name, tuple(str(c[1]) for c in columns), tuple(key for _, key in keys))
        )
    return tables


def _refuse_what_is_there(pages: SqlPages) -> None:
    counts = {
        name: int(pages._run(f"SELECT COUNT(*) FROM {name}")[0][0])
        for name in ("lifetimes", "cell_names", "cell_blocks", "purchases")
    }
    if any(counts.values()):
        lifetimes = pages._run("SELECT name FROM lifetimes ORDER BY id LIMIT 5")
        named = ", ".join(repr(str(name)) for (name,) in lifetimes) or "none"
        raise BadInput(
            f"the store to copy to holds something already (lifetimes: {named}); nothing was "
            "copied. Choose a new file, or an empty database or schema."
        )


def _copy(pages: SqlPages, new: Store, tables: list[CopiedTable]) -> Copied:
    """With the old store's lock in hand."""
    now = time.time()
    open_ones = [purchase for purchase in pages.blocking() if is_live(purchase, now)]
    if open_ones:
        owner = open_ones[0].owner.split("/")
        raise StoreBusy(
            f"{len(open_ones)} purchases are being made in the store at this moment (process "
            f"{owner[1] if len(owner) > 1 else owner[0]}); nothing was copied. Copy when they are "
            "done."
        )
    lifetimes = tuple(str(n) for (n,) in pages._run("SELECT name FROM lifetimes ORDER BY id"))

    def work(there: SqlPages) -> Copied:
        _refuse_what_is_there(there)
        there._run("DELETE FROM ledger")
        counts: dict[str, int] = {}
        digests: dict[str, str] = {}
        for table in tables:
            rows, digest = _counted(pages, table, there)
            back, again = _counted(there, table)
            if (rows, digest) != (back, again):
                raise StoreError(
                    f"{table.name} has {rows} rows in the old store (digest {digest[:12]}) and "
                    f"{back} in the new one ({again[:12]}); nothing was copied."
                )
            counts[table.name], digests[table.name] = rows, digest
        if isinstance(new, PostgresStore):
            _count_on(there, tables)
        return Copied(counts, digests, lifetimes)

    return new.write(0, work)


def _count_on(pages: SqlPages, tables: list[CopiedTable]) -> None:
    """PostgreSQL counts ids by itself: it goes on after those that were brought."""
    for table in tables:
        if "id" in table.keys and table.name != "ledger":
            pages._run(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
                f"(SELECT COALESCE(MAX(id), 1) FROM {table.name}), "
                f"(SELECT COUNT(*) > 0 FROM {table.name}))"
            )


def _counted(pages: SqlPages, table: CopiedTable, copy: SqlPages | None = None) -> tuple[int, str]:
    """How many rows a table has, and the sum of their hashes; ``copy`` is given them."""
    n, total = 0, 0
    for rows in table.batches(pages):
        if copy is not None:
            table.take(copy, rows)
        for row in rows:
            hashed = hashlib.sha256(b"".join(map(_plain, row))).digest()
            total = (total + int.from_bytes(hashed)) % (1 << 256)
        n += len(rows)
    return n, f"{total:064x}"


def _plain(value: object) -> bytes:
    """A value, its kind and its length, as bytes that no other value has."""
    data = value if isinstance(value, bytes) else repr(value).encode()
    return b"%s %d " % (type(value).__name__.encode(), len(data)) + data
