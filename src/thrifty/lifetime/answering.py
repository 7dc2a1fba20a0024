"""Answers to every row, from the model where it may and from the oracle where it must."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Owned, Receipt
from thrifty.cells.ledger.allowance import read_spend
from thrifty.cells.sources.oracle import Oracle
from thrifty.certified.certificate import Certificate, certificate_of
from thrifty.certified.certify import certify
from thrifty.certified.targets import Target, agreement, precision_of, recall_of
from thrifty.checks import a_share
from thrifty.errors import BadInput, BadParameter, BudgetExceeded, ProviderError
from thrifty.lifetime.doors import Doors
from thrifty.lifetime.label_cells import LabelCells
from thrifty.lifetime.prediction import Prediction, prediction_receipt
from thrifty.lifetime.prediction_runs import PredictionRuns, Run
from thrifty.typing import AnyArray, MoneyLike, TableLike

__all__ = ["Answering", "Answers", "Promise"]


@dataclass(frozen=True)
class Promise:
    """What is to be promised: one or several of these, with a confidence for all together."""

    agree: float | None = None
    precision: float | None = None
    recall: float | None = None
    of: object = None
    confidence: float = 0.95

    def targets(self, codes: Ints, oracle: Oracle) -> list[Target]:
        """What is asked for, over the classes that the model answers with; recall comes first."""
        found = []
        if self.recall is not None or self.precision is not None:
            which = self._class(oracle)
            answered, name = codes == oracle.code(which), repr(which)
            if self.recall is not None:
                found.append(recall_of(answered, self.recall, name))
            if self.precision is not None:
                found.append(precision_of(answered, self.precision, name))
        if self.agree is not None:
            found.append(agreement(len(codes), self.agree))
        if not found:
            raise BadParameter(
                "say what is to be promised: agree=, the share of answers that are the oracle's, "
                "or precision= and recall= of a class."
            )
        return found

    def _class(self, oracle: Oracle) -> object:
        if self.of is None and oracle.yes_or_no:
            return True
        if self.of is None or oracle.code(self.of) < 0:
            raise BadParameter(
                f"of= names the class whose precision or recall is meant; it must be one of "
                f"{list(oracle.classes)}, got {self.of!r}."
            )
        return self.of


class Answers:
    """An answer for every row, with what is promised of them.

    Attributes
    ----------
    values : array
        a class for each row; ``np.asarray(answers)`` too
    by_oracle : array of bool
        which rows the oracle answered; the others are the model's
    certificates : tuple of Certificate
        one for each target; ``print(answers)`` shows them
    receipt : Receipt
        what the labels have cost; the cells that the model asked for are in ``prediction.receipt``
    prediction : Prediction
        what the model alone would have answered
    """

    def __init__(
        self,
        values: AnyArray,
        by_oracle: Bools,
        certificates: tuple[Certificate, ...],
        receipt: Receipt,
        prediction: Prediction,
    ) -> None:
        self.values, self.by_oracle, self.certificates = values, by_oracle, certificates
        self.receipt, self.prediction = receipt, prediction

    @property
    def certificate(self) -> Certificate:
        """The certificate, where one thing was asked for."""
        return self.certificates[-1]

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        made = np.asarray(self.values, dtype=dtype)
        return made.copy() if copy else made

    def __repr__(self) -> str:
        return f"Answers({len(self)} rows, {int(self.by_oracle.sum())} by the oracle)"

    def __str__(self) -> str:
        return "\n".join(map(str, self.certificates))


class Answering:
    """Answers rows through the doors of one lifetime, and books what that costs."""

    def __init__(self, doors: Doors, runs: PredictionRuns) -> None:
        self._doors, self._runs = doors, runs

    def answer(
        self,
        name: str,
        prediction: Prediction,
        X: TableLike,
        oracle: Oracle,
        wanted: Promise,
        spend: MoneyLike,
        seed: int | None,
    ) -> Answers:
        """See :meth:`thrifty.Lifetime.answer`."""
        confidence = a_share("confidence", wanted.confidence)
        codes = _codes(prediction, oracle)
        targets = wanted.targets(codes, oracle)
        run, labels = self._open(name, X, oracle, spend)
        rng = np.random.default_rng(seed)
        state = _State(labels, codes)
        doubt = _doubts(prediction)
        certificates = []
        try:
            for target in targets:
                spent, known = labels.cells.receipt().cost, state.known.copy()
                done = certify(
                    target,
                    doubt,
                    codes,
                    state.ask,
                    alpha=(1 - confidence) / len(targets),
                    rng=rng,
                    known=known,
                    wrong=state.wrong,
                )
                receipt = labels.cells.receipt()
                certificates.append(
                    certificate_of(
                        done, confidence, int(known.sum()), receipt.cost - spent, receipt.currency
                    )
                )
        except BaseException as error:
            self._runs.leave_prediction(run)
            if isinstance(error, BudgetExceeded):
                raise _no_certificate(name, state, prediction, error) from error
            raise
        whole = prediction_receipt(labels.cells)
        self._runs.end_prediction(run, whole)
        values = _merged(prediction.values, state, oracle)
        return Answers(values, state.known, tuple(certificates), whole, prediction)

    def _open(
        self, name: str, X: TableLike, oracle: Oracle, spend: MoneyLike
    ) -> tuple[Run, LabelCells]:
        source = self._doors.source_of(X, None, {})
        account = f"{name} (prediction {uuid.uuid4().hex[:12]})"

        def door(most: float | None) -> LabelCells:
            return LabelCells(self._doors, oracle, source, name, account, spend=most)

        labels = door(None)
        if spend is not None:
            every = np.arange(source.n_examples)
            cells = labels.cells
            labels = door(read_spend(spend, cells.currency, lambda: cells.price_of(every, [0])))
        owned = Owned(source.n_examples, 1)
        rows = np.arange(source.n_examples)
        run = Run(account, name, labels.source, labels.cells, owned, rows, time.time())
        self._runs.begin(run)
        return run, labels


class _State:
    """Labels seen so far: bought now, before, or told."""

    def __init__(self, labels: LabelCells, codes: Ints) -> None:
        self._labels, self._codes = labels, codes
        self.known: Bools = np.zeros(len(codes), dtype=bool)
        self.wrong: Bools = np.zeros(len(codes), dtype=bool)
        self.said: Ints = np.full(len(codes), -1, dtype=np.int64)
        before = labels.known_rows()
        if len(before):
            self.ask(before[labels.get(before) >= 0])

    def ask(self, rows: Ints) -> Bools:
        """Put rows to the oracle; whether the model was wrong on each."""
        said = self._labels.get(rows)
        if (said < 0).any():
            raise ProviderError(
                f"the oracle has no label for {int((said < 0).sum())} of the rows, row "
                f"{int(rows[np.argmax(said < 0)])} for one: it failed on them again and again. A "
                "certificate rests on rows drawn at random, so none may be left out: answer the "
                "others alone, or give those labels with known=."
            )
        self.said[rows], self.known[rows] = said, True
        self.wrong[rows] = said != self._codes[rows]
        return self.wrong[rows]


def _codes(prediction: Prediction, oracle: Oracle) -> Ints:
    """The model's answers among the oracle's classes."""
    if prediction.classes is None:
        raise BadInput("answers with a guarantee are classes; this model predicts numbers.")
    listed = prediction.classes.tolist()
    places = np.array([oracle.code(c) for c in listed], dtype=np.int64)
    if (places < 0).any():
        odd = listed[int(np.argmax(places < 0))]
        raise BadInput(
            f"the model answers {odd!r} and the oracle {list(oracle.classes)}: they must have the "
            f"same classes. Say thrifty.Oracle(ask, classes={listed})."
        )
    place = dict(zip(listed, places.tolist()))
    return np.array([place[v] for v in prediction.values.tolist()], dtype=np.int64)


def _doubts(prediction: Prediction) -> Floats:
    """What the model gives for being wrong; a third where it gives no probabilities."""
    if prediction.probabilities is None or prediction.classes is None:
        return np.full(len(prediction), 1 / 3)
    place = {c: i for i, c in enumerate(prediction.classes.tolist())}
    at = np.array([place[v] for v in prediction.values.tolist()])
    return np.asarray(1 - prediction.probabilities[np.arange(len(at)), at])


def _merged(answered: AnyArray, state: _State, oracle: Oracle) -> AnyArray:
    said = oracle.values(state.said[state.known])
    values = np.asarray(answered).copy()
    try:
        cast = said.astype(values.dtype)
        if values.dtype.kind in "US" or not (cast == said).all():
            raise ValueError
        values[state.known] = cast
    except (TypeError, ValueError):  # words of another length or kind
        values = values.astype(object)
        values[state.known] = said
    return values


def _no_certificate(
    name: str, state: _State, prediction: Prediction, ended: BudgetExceeded
) -> BudgetExceeded:
    return BudgetExceeded(
        f"{int(state.known.sum())} of {len(state.known)} rows of {name!r} have a label and the "
        f"money ends before a certificate: {ended} Labels that were bought are kept: answer "
        "again with more, or with a lower target.",
        needed=ended.needed,
        left=ended.left,
        scope=ended.scope,
        prediction=prediction,
    )
