"""Labels that cost, through the ledger: a door to one column, beside labels that are known."""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Ints
from thrifty.cells import Cells, Source
from thrifty.cells.cells import open_cells
from thrifty.cells.sources.oracle import Oracle
from thrifty.errors import BadInput
from thrifty.lifetime.doors import Doors

__all__ = ["LabelCells"]


class LabelCells:
    """The labels of one task's examples: known beside the oracle, owned, or to be bought."""

    def __init__(
        self, doors: Doors, oracle: Oracle, X: Source, label: str, account: str, *,
        spend: float | None = None, is_task: bool = False,
    ) -> None:  # fmt: skip
        self.oracle = oracle
        self.source = oracle.about(X, label)
        self.cells: Cells = open_cells(
            self.source,
            None,
            match=None,
            ledger=doors.ledger,
            task=account,
            spend=spend,
            is_task=is_task,
        )
        self._told = oracle.known_codes(X)
        self._check_told()

    def _check_told(self) -> None:
        """What was told must not contradict what was bought."""
        owned = self.cells.owned_rows([0])
        both = owned[self._told[owned] >= 0]
        if not len(both):
            return
        other = both[self._bought(both) != self._told[both]]
        if len(other):
            row = int(other[0])
            bought, told = self.oracle.values(np.array([self._bought(other)[0], self._told[row]]))
            raise BadInput(
                f"known= says {told!s} of row {row}, and the oracle was paid for saying "
                f"{bought!s}: leave that label out of known=."
            )

    def known_rows(self) -> Ints:
        """Rows whose labels cost nothing now."""
        return np.union1d(np.flatnonzero(self._told >= 0), self.cells.owned_rows([0]))

    def get(self, rows: Ints) -> Ints:
        """Codes of the labels of these rows; what is missing is bought.

        -1: the oracle failed again and again, and its source goes on (``on_failure="gap"``).
        """
        codes = self._told[rows]
        to_buy = codes < 0
        if to_buy.any():
            codes[to_buy] = self._bought(rows[to_buy])
        return codes

    def _bought(self, rows: Ints) -> Ints:
        said = np.asarray(self.cells.get(rows, [0])[:, 0], dtype=np.float64)
        return np.where(np.isnan(said), -1.0, said).astype(np.int64)
