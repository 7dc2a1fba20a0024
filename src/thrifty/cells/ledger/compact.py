"""Compaction: the purchases of a finished task become columns, one block per feature."""

from __future__ import annotations

import numpy as np

from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.compacted import Facts, read_column, write_column
from thrifty.cells.ledger.crash_points import reached
from thrifty.cells.ledger.purchase import Purchase, unpack_values

__all__ = ["compact", "compact_all"]


def compact(pages: Pages, task: str) -> int:
    """Move the settled purchases of a task, and those of no task, into columns.

    Those of other tasks that are not finished stay as they are: should such a task have to begin
    again, its receipt still knows what it paid itself.
    """
    return _into_columns(pages, [*pages.settled_of(task), *(pages.settled_of("") if task else [])])


def compact_all(pages: Pages) -> int:
    """Move every settled purchase of the store into columns."""
    return _into_columns(pages, pages.settled_after(0))


def _into_columns(pages: Pages, chosen: list[Purchase]) -> int:
    if not chosen:
        return 0
    parts: dict[tuple[str, int], list[Facts]] = {}
    boolean: dict[tuple[str, int], bool] = {}
    for purchase in chosen:
        _collect(purchase, parts, boolean)
    before: dict[tuple[str, int], Column] = {}
    for kind in {kind for kind, _ in parts}:
        numbers = [number for k, number in parts if k == kind]
        before.update(((kind, c.number), c) for c in pages.columns(kind, numbers))
    columns: list[Column] = []
    for (kind, number), facts in parts.items():
        old = before.get((kind, number))
        merged = facts[0] if len(facts) == 1 else _joined(facts)
        if old is not None:
            merged = read_column(old).merged(merged)
        columns.append(write_column(kind, number, boolean[kind, number], merged))
    pages.put_columns(columns)
    reached("in-compaction")
    pages.mark_compacted([p.id for p in chosen])
    return len(chosen)


def _collect(
    purchase: Purchase,
    parts: dict[tuple[str, int], list[Facts]],
    boolean: dict[tuple[str, int], bool],
) -> None:
    block = purchase.block
    assert purchase.answer is not None
    values = unpack_values(purchase.answer, block)
    order = np.argsort(block.examples, kind="stable")
    examples, values = block.examples[order], values[order]
    when = np.full(len(examples), purchase.settled_at)
    for j, f in enumerate(block.features.tolist()):
        parts.setdefault(("feature", f), []).append(Facts(examples, values[:, j], when))
        boolean["feature", f] = bool(block.boolean[j])
    for i, d in enumerate(block.draws.tolist()):
        rows = block.draw_rows[i][order]
        nothing = np.zeros(int(rows.sum()))
        parts.setdefault(("draw", d), []).append(Facts(examples[rows], nothing, when[rows]))
        boolean["draw", d] = True


def _joined(facts: list[Facts]) -> Facts:
    first = Facts(
        np.concatenate([f.examples for f in facts[:-1]]),
        np.concatenate([f.values for f in facts[:-1]]),
        np.concatenate([f.times for f in facts[:-1]]),
    )
    return first.merged(facts[-1])
