"""What 0.1 kept for each lifetime becomes the store's: names, columns, spending on examples.

In 0.1 a cell was (lifetime, example, feature). Now it is (source, example, feature): the source is
the provider that the purchase was made from. Numbers of several lifetimes are brought into one
count; where two lifetimes had bought the same cell, the later value counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.cells.ledger.book import Column
from thrifty.cells.ledger.compacted import Facts, read_column, write_column
from thrifty.cells.ledger.purchase import CellBlock
from thrifty.stores.task_pages import Run

__all__ = ["Run", "move_cells"]

#: run(statement, parameters) gives rows

_CHUNK = 1024

_Sold = defaultdict[tuple[str, int], list[tuple[str, NDArray[np.int32]]]]


def move_cells(run: Run) -> None:
    """The third step of the schema, where it has to look at what it moves."""
    names = _Names(run)
    merged: dict[tuple[str, int], tuple[bool, Facts]] = {}
    for lifetime, name in run("SELECT id, name FROM lifetimes ORDER BY id"):
        _move_lifetime(run, int(lifetime), str(name), names, merged)
    for (kind, number), (boolean, facts) in merged.items():
        column = write_column(kind, number, boolean, facts)
        run(
            "INSERT INTO cell_blocks (kind, number, boolean, block) VALUES (?, ?, ?, ?)",
            (kind, number, int(boolean), column.block),
        )
    _number_anew(run)


class _Names:
    """Names of the whole store, numbered as they come."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[tuple[str, str, str], int] = {}
        self._next: defaultdict[str, int] = defaultdict(int)

    def number(self, kind: str, source: str, name: str) -> int:
        key = (kind, source, name)
        if key not in self._known:
            number = self._next[kind]
            self._next[kind] = number + 1
            self._known[key] = number
            self._run(
                "INSERT INTO cell_names (kind, source, name, number) VALUES (?, ?, ?, ?)",
                (*key, number),
            )
        return self._known[key]


class _Old:
    """The names of one lifetime of 0.1, and what they are called now."""

    def __init__(self, run: Run, lifetime: int, names: _Names) -> None:
        self._names = names
        self._of: dict[tuple[str, int], str] = {}
        rows = run("SELECT kind, number, name FROM names WHERE lifetime = ?", (lifetime,))
        for kind, number, name in sorted(rows, key=lambda row: (row[0], row[1])):
            self._of[str(kind), int(number)] = str(name)
            if kind == "example":
                names.number("example", "", str(name))

    def now(self, kind: str, source: str, numbers: Iterable[int]) -> NDArray[np.int32]:
        scope = "" if kind == "example" else source
        found = [self._names.number(kind, scope, self._of[kind, int(n)]) for n in numbers]
        return np.array(found, dtype=np.int32)


def _move_lifetime(
    run: Run,
    lifetime: int,
    name: str,
    names: _Names,
    merged: dict[tuple[str, int], tuple[bool, Facts]],
) -> None:
    old = _Old(run, lifetime, names)
    rows = run(
        "SELECT id, provider, status, block, sequence FROM purchases WHERE lifetime = ? "
        "ORDER BY sequence, id",
        (lifetime,),
    )
    #: who sold the cells of a feature or draw, the latest purchase last
    sold: _Sold = defaultdict(list)
    for id, provider, status, raw, _sequence in rows:
        block = CellBlock.from_bytes(bytes(raw))
        if status == "settled":
            _note_sold(sold, str(provider), block)
        moved = CellBlock(
            old.now("example", "", block.examples),
            old.now("feature", provider, block.features),
            block.boolean,
            old.now("draw", provider, block.draws),
            block.draw_rows,
            block.costs,
        )
        run("UPDATE purchases SET block = ? WHERE id = ?", (moved.to_bytes(), id))
    for kind, number, boolean, raw in run(
        "SELECT kind, number, boolean, block FROM cell_columns WHERE lifetime = ?", (lifetime,)
    ):
        column = Column(str(kind), int(number), bool(boolean), bytes(raw))
        _move_column(column, old, sold, f"{name} (0.1, without a source's name)", merged)
    _move_spending(run, lifetime, old)


def _note_sold(sold: _Sold, provider: str, block: CellBlock) -> None:
    for f in block.features.tolist():
        sold["feature", f].append((provider, block.examples))
    for i, d in enumerate(block.draws.tolist()):
        sold["draw", d].append((provider, block.examples[block.draw_rows[i]]))


def _move_column(
    column: Column,
    old: _Old,
    sold: _Sold,
    unnamed: str,
    merged: dict[tuple[str, int], tuple[bool, Facts]],
) -> None:
    facts = read_column(column)
    kind = "feature" if column.kind == "counted" else column.kind
    sellers = [(unnamed, facts.examples)]
    if column.kind != "counted":
        sellers = sold[column.kind, column.number]
    latest = {e: provider for provider, examples in sellers for e in examples.tolist()}
    of = np.array([latest.get(e, "") for e in facts.examples.tolist()], dtype=object)
    for provider in sorted(set(of.tolist())):
        mine = of == provider
        examples = old.now("example", "", facts.examples[mine])
        order = np.argsort(examples)
        part = Facts(examples[order], facts.values[mine][order], facts.times[mine][order])
        number = int(old.now(kind, provider, [column.number])[0])
        before = merged.get((column.kind, number))
        both = part if before is None else before[1].merged(part)
        merged[column.kind, number] = (column.boolean, both)


def _move_spending(run: Run, lifetime: int, old: _Old) -> None:
    totals: defaultdict[int, NDArray[np.int64]] = defaultdict(
        lambda: np.zeros(_CHUNK, dtype=np.int64)
    )
    for chunk, raw in run(
        "SELECT chunk, amounts FROM example_costs WHERE lifetime = ?", (lifetime,)
    ):
        amounts = unpack_arrays(bytes(raw))["amounts"]
        there = np.flatnonzero(amounts)
        numbers = old.now("example", "", (int(chunk) * _CHUNK + there).tolist())
        for number, amount in zip(numbers.tolist(), amounts[there].tolist()):
            totals[number // _CHUNK][number % _CHUNK] += amount
    for place, total in totals.items():
        run(
            "INSERT INTO example_spending (lifetime, chunk, amounts) VALUES (?, ?, ?)",
            (lifetime, place, pack_arrays({"amounts": total})),
        )


def _number_anew(run: Run) -> None:
    """Settled purchases of all lifetimes in one sequence, in the order in which they ended."""
    rows = run(
        "SELECT id, compacted FROM purchases WHERE status = 'settled' "
        "ORDER BY settled_at, sequence, id"
    )
    last = 0
    for i, (id, compacted) in enumerate(rows, start=1):
        run("UPDATE purchases SET sequence = ? WHERE id = ?", (i, id))
        last = i if compacted else last
    run("UPDATE ledger SET sequence = ?, compacted = ? WHERE id = 1", (len(rows), last))
