"""What models answered and what became true, in a store: packed by run and by batch."""

from __future__ import annotations

import numpy as np

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.stores.pages import SqlPages
from thrifty.typing import AnyArray

__all__ = ["OutcomePages"]


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
