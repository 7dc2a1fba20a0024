"""Predictions that are being made: their doors, and the account that each of them has."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells, Owned, Receipt, Source, as_source
from thrifty.cells.ledger.allowance import read_spend
from thrifty.cells.ledger.owner import me
from thrifty.cells.matched import open_cells
from thrifty.cells.matching import Match, match_features
from thrifty.errors import ThriftyError
from thrifty.lazy import Asks
from thrifty.lifetime.doors import Doors, Words
from thrifty.lifetime.feature_matching import check_read
from thrifty.lifetime.prediction import prediction_receipt
from thrifty.stores.pages import PredictionRow, SqlPages
from thrifty.stores.saved import charge
from thrifty.typing import Json, MoneyLike, TableLike

__all__ = ["PredictionRuns", "Run"]


@dataclass(frozen=True, eq=False)
class Run:
    """A prediction that is being made; its spending has an account of its own."""

    account: str
    task: str
    source: Source
    cells: Cells
    owned: Owned
    rows: NDArray[np.int64]
    begun_at: float
    spend: float | None = None
    per_row: float | None = None


class PredictionRuns(Doors):
    """Doors and bookings of predictions."""

    def open_prediction(
        self, name: str, model: Asks, X: TableLike, spend: MoneyLike, per_row: MoneyLike
    ) -> Run:
        """A door to the examples that a model is to predict."""
        features: NDArray[np.int64] = model.features_

        def match(source: Source) -> Match | None:
            check_read(source, [model.feature_names_[f] for f in features.tolist()])
            return match_features(
                model.feature_names_, source, needed=features.tolist(),
                whose=f"the model of {name!r}",
            )  # fmt: skip

        words = getattr(model, "words_", {})
        run = self._open_run(name, X, match, words=words)
        rows, cells = run.rows, run.cells

        def everything() -> float:
            return cells.price_of(rows, features)

        most = read_spend(spend, cells.currency, everything)
        each = read_spend(per_row, cells.currency, lambda: everything() / len(rows), "per_row")
        if most is not None:
            run = self._open_run(name, X, match, most, words=words)
        run = replace(run, spend=most, per_row=each)
        self._begin(run)
        self._say_purged(run.source, run.cells)
        return run

    def open_metered(
        self, title: str, X: TableLike, match: Callable[[Source], Match | None]
    ) -> Run:
        """A door to the examples of a foreign model."""
        run = self._open_run(title, X, match, allow_missing=True)
        self._begin(run)
        self._say_purged(run.source, run.cells)
        return run

    def _open_run(
        self, name: str, X: TableLike, match: Callable[[Source], Match | None],
        most: float | None = None, *, words: Words | None = None, allow_missing: bool = False,
    ) -> Run:  # fmt: skip
        words = words or {}
        if allow_missing:  # a model of another library, which knows gaps or does not
            source = as_source(X, allow_missing=True)
        else:
            source = self._source_of(X, None, words)
        found = match(source)
        source = source.recoded(words)
        account = f"{name} (prediction {uuid.uuid4().hex[:12]})"
        owned, _ = self._owned_of(X, source)
        ledger = self.ledger if self._needs_ledger(source) else None
        cells = open_cells(
            source, self.settings.prices, match=found, owned=owned, ledger=ledger,
            task=account, spend=most, is_task=False,
        )  # fmt: skip
        return Run(account, name, source, cells, owned, np.arange(source.n_examples), time.time())

    def _begin(self, run: Run) -> None:
        """A run that buys is written down first: its account is then never nobody's."""
        if self.saved is not None and not run.source.free:
            self.saved.book.write(
                lambda pages: pages.begin_prediction(run.task, run.account, me(), run.begun_at)
            )

    def leave_prediction(self, run: Run) -> None:
        """A prediction that was given up: what it bought until then is on its bill, and owned.

        Of sources that are free to read nothing was bought, and nobody has seen a value.
        """
        if not run.source.free:
            with suppress(ThriftyError):  # what made it stop is said, not this
                self.end_prediction(run, prediction_receipt(run.cells), finished=False)

    def end_prediction(self, run: Run, receipt: Receipt, *, finished: bool = True) -> None:
        """Book what a prediction has cost; what it looked at is owned."""
        whole = {f: getattr(receipt, f) for f in Receipt.__slots__}
        data = {**Receipt(**whole).to_dict(), **({} if finished else {"finished": False})}

        def work(pages: SqlPages) -> None:
            if self.saved is not None:
                pages.begin_prediction(run.task, run.account, me(), run.begun_at)
                if not pages.end_prediction(run.account, data):
                    return  # done already, as the connection was lost
            self._count(pages, run, run.account, run.begun_at)
            charge(self.ledger, pages, run.account, run.cells.counted, receipt.currency)
            self.ledger.compact(pages, run.account)

        if self.saved is not None or self._needs_ledger(run.source):
            self.ledger.book.write(work)
        if self.saved is None:
            self._note_in_memory(run, data)
        self.keep(run)

    def _note_in_memory(self, run: Run, data: Json) -> None:
        others = [one for one in self.predictions if one.account != run.account]
        number = len(others) + 1
        self.predictions[:] = [
            *others, PredictionRow(number, run.task, run.account, me(), run.begun_at, data)
        ]  # fmt: skip
