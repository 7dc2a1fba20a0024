"""Answers to every row, from the model where it may and from the oracle where it must."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from thrifty.cells import Owned, Receipt, Source
from thrifty.cells.prices.money import one_currency, read_spend
from thrifty.cells.sources.oracle import Oracle
from thrifty.certified.cascade import ChainAnswers, Members, answer_with_chain
from thrifty.certified.certify import Certificate, certificate_of, certify
from thrifty.certified.plan import Target, agreement, precision_of, recall_of
from thrifty.checks import a_share
from thrifty.errors import BadInput, BadParameter, BudgetExceeded, ProviderError
from thrifty.lifetime.labelling import LabelCells
from thrifty.lifetime.prediction import Prediction
from thrifty.lifetime.prediction_runs import PredictionRuns, Run, new_account
from thrifty.lifetime.state import LifetimeState, call_key
from thrifty.typing import AnyArray, Bools, Floats, Ints, MoneyLike, TableLike

#: a model's answers among the oracle's classes, and how doubtful they are
_OfModel: TypeAlias = tuple[Ints, Floats]


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
            of, name = oracle.code(which), repr(which)
            if self.recall is not None:
                found.append(recall_of(codes == of, self.recall, name, of))
            if self.precision is not None:
                found.append(precision_of(codes == of, self.precision, name, of))
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


@dataclass(frozen=True)
class MemberUse:
    """What a member of a cascade was asked: rows, answers that are still its own, and money."""

    name: str
    asked: int
    answered: int
    cost: float
    currency: str = ""

    def __str__(self) -> str:
        cost = f"{self.cost:,.6g} {self.currency}".strip()
        return f"  {self.name}  asked about {self.asked:,} rows, answered {self.answered:,}; {cost}"


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
    prediction : Prediction or None
        what the model alone would have answered; None where there is none, only a cascade
    members : tuple of MemberUse
        of a cascade: who was asked about how many rows, and for how much

    See Also
    --------
    thrifty.Lifetime.answer : what gives it
    thrifty.results.Certificate : what is promised

    Examples
    --------
    >>> import thrifty
    >>> X = np.random.default_rng(0).random((300, 3))
    >>> oracle = thrifty.Oracle(lambda rows: X[rows, 0] > 0.5, price=1)
    >>> life = thrifty.Lifetime(prices=0, random_state=0)
    >>> _ = life.learn("high", X, oracle, spend=60)
    >>> answers = life.answer("high", X, oracle=oracle, agree=0.9, random_state=0)
    >>> len(answers.values), answers.certificates[0].target
    (300, 'agree 0.9')
    """

    def __init__(
        self,
        values: AnyArray,
        by_oracle: Bools,
        certificates: tuple[Certificate, ...],
        receipt: Receipt,
        prediction: Prediction | None,
        members: tuple[MemberUse, ...] = (),
    ) -> None:
        self.values, self.by_oracle, self.certificates = values, by_oracle, certificates
        self.receipt, self.prediction, self.members = receipt, prediction, members

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
        return "\n".join(map(str, (*self.certificates, *self.members)))


def answer(
    state: LifetimeState,
    predictions: PredictionRuns,
    name: str,
    prediction: Prediction | None,
    X: TableLike,
    oracle: Oracle,
    wanted: Promise,
    spend: MoneyLike,
    seed: int | None,
    cascade: Sequence[Oracle] = (),
) -> Answers:
    """See :meth:`thrifty.Lifetime.answer`."""
    confidence = a_share("confidence", wanted.confidence)
    alpha = (1 - confidence) / len(wanted.targets(np.zeros(0, dtype=np.int64), oracle))
    _check_members(oracle, cascade)
    model = None if prediction is None else _of_model(prediction, oracle)
    source = state.source_of(X, None, {})
    said = (*(model or ()), repr(wanted), str(spend), str(seed))
    call = _Call(state, predictions, name, source, (oracle, *cascade), spend, said)
    # of a call that broke off the account is the same, and nobody could know it before
    by_account = int.from_bytes(call.runs[0].account.encode())
    rng = np.random.default_rng(by_account if seed is None else seed)
    found, certificates = None, []
    try:
        call.look_up()
        if cascade:
            found = answer_with_chain(call.members(model, wanted, alpha), rng, call.said)
            codes, doubt, side = found.codes, found.doubt, found.by + 1
        else:
            assert model is not None
            codes, doubt, side = model[0], model[1], model[0]
        for target in wanted.targets(codes, oracle):
            spent, known = call.labels.spent, call.known
            done = certify(
                target,
                doubt,
                side,
                lambda rows: target.wrong(call.ask_oracle(rows), codes[rows]),  # noqa: B023
                alpha=alpha,
                rng=rng,
                known=known,
                wrong=known & target.wrong(call.said, codes),
                price=call.labels.row_prices,
            )
            cost, currency = call.labels.spent - spent, call.labels.cells.currency
            certificates.append(certificate_of(done, confidence, int(known.sum()), cost, currency))
    except BaseException as error:
        for run in call.runs:
            predictions.leave(run)
        if isinstance(error, BudgetExceeded):
            raise _no_certificate(name, call.known, prediction, error) from error
        raise
    # broken off until the oracle's, the first, has ended
    whole = [predictions.end(run) for run in call.runs[::-1]][-1]
    base = oracle.values(codes) if prediction is None or cascade else prediction.values
    values = _merged(base, call.known, oracle.values(call.said[call.known]))
    uses = () if found is None else call.uses(found, model is not None)
    return Answers(values, call.known, tuple(certificates), whole, prediction, uses)


class _Call:
    """Readers to the oracle, first, and to the members of a cascade, each with its own account.

    Where this very call broke off it goes on under the same accounts: ``said`` in it.
    """

    def __init__(
        self,
        state: LifetimeState,
        predictions: PredictionRuns,
        name: str,
        source: Source,
        asked: Sequence[Oracle],
        spend: MoneyLike,
        said: Sequence[object],
    ) -> None:
        n = source.n_examples
        self.rows = np.arange(n)
        #: labels seen so far, bought now, before, or told; -1: none
        self.said: Ints = np.full(n, -1, dtype=np.int64)
        accounts = [new_account(name) for _ in asked]

        def readers(most: float | None = None) -> list[LabelCells]:
            each = zip(asked, accounts)
            return [LabelCells(state, one, source, name, at, spend=most) for one, at in each]

        self.readers = readers()
        places = (name, [one.cells.source_name for one in self.readers], *said)
        calls = [call_key(one.cells, one.told, *places) for one in self.readers]
        earlier = [predictions.broke_off(call) for call in calls]
        if any(earlier):
            accounts = [old or new for old, new in zip(earlier, accounts)]
            self.readers = readers()
        currency = one_currency({one.cells.currency for one in self.readers}, "a cascade")

        def everything() -> float:
            return sum(one.price_of(self.rows) for one in self.readers)

        most = read_spend(spend, currency, everything)
        if most is not None:
            self.readers = readers(most)
        #: what all of a cascade may spend together
        self._most = most if len(asked) > 1 else None
        self.labels = self.readers[0]
        #: the places of each member's classes among the oracle's
        self._codes = [np.array([asked[0].code(c) for c in one.classes] + [-1]) for one in asked]
        purges = None if source.examples is None else state.purges()
        self.runs = [
            Run(
                account,
                name,
                one.source,
                one.cells,
                Owned(n, len(one.features)),
                call=call,
                purges=purges,
                place=one.source.name,
                ours=False,
            )
            for account, one, call in zip(accounts, self.readers, calls)
        ]
        for run in self.runs:
            predictions.begin(run)

    @property
    def known(self) -> Bools:
        """Rows whose labels were seen."""
        return self.said >= 0

    def look_up(self) -> None:
        """Labels that cost nothing now."""
        before = self.labels.known_rows()
        if len(before):
            self.said[before] = self.labels.get(before)

    def ask_oracle(self, rows: Ints) -> Ints:
        """Put rows to the oracle: the codes of its labels."""
        self._pay(self.labels, rows)
        said = self.labels.get(rows)
        if (said < 0).any():
            raise ProviderError(
                f"the oracle has no label for {int((said < 0).sum())} of the rows, row "
                f"{int(rows[np.argmax(said < 0)])} for one: it failed on them again and again. A "
                "certificate rests on rows drawn at random, so none may be left out: answer the "
                "others alone, or give those labels with known=."
            )
        self.said[rows] = said
        return said

    def _pay(self, reader: LabelCells, rows: Ints) -> None:
        """Refuse what would cost more in all than was said."""
        if self._most is None:
            return
        left = self._most - sum(one.spent for one in self.readers)
        needed = reader.price_of(rows)
        if needed > left + 1e-12:
            raise BudgetExceeded(
                f"{len(rows)} rows of {reader.oracle.name!r} cost {needed:g} "
                f"and {left:g} are left.",
                needed=needed,
                left=left,
                scope="task",
            )

    def members(self, model: _OfModel | None, wanted: Promise, alpha: float) -> Members:
        """The model, where there is one, and the members of the cascade, with their prices."""
        oracle, models = self.labels.oracle, [] if model is None else [model]

        def ask(member: int, rows: Ints) -> tuple[Ints, Floats]:
            if member < len(models):
                codes, doubt = models[member]
                return codes[rows], 1 - doubt[rows]
            k = 1 + member - len(models)
            self._pay(self.readers[k], rows)
            codes, sure = self.readers[k].with_confidence(rows)
            return self._codes[k][codes], sure

        listed = np.array([0.0 for _ in models] + [one.listed for one in self.readers[1:]])
        # what is owned in part is weighed as if it were not: a call that is repeated chooses alike
        costs = [1.0 for _ in models] + [one.price_of(self.rows) for one in self.readers[1:]]
        return Members(
            rows=len(self.rows),
            classes=len(oracle.classes),
            prices=np.where(np.array(costs) == 0, 0.0, listed),
            listed=listed,
            oracle_price=self.labels.listed,
            ask=ask,
            label=self.ask_oracle,
            targets=lambda codes: wanted.targets(codes, oracle),
            alpha=alpha,
            row_prices=self.labels.row_prices,
        )

    def uses(self, found: ChainAnswers, model: bool) -> tuple[MemberUse, ...]:
        """What each member was asked, for how much."""
        own = found.by[~self.known]
        named = [("the model", 0.0, "")] if model else []
        for one in self.readers[1:]:
            receipt = one.cells.receipt()
            named.append((one.oracle.name, receipt.cost, receipt.currency))
        return tuple(
            MemberUse(name, int(found.asked[m]), int((own == m).sum()), cost, currency)
            for m, (name, cost, currency) in enumerate(named)
        )


def _check_members(oracle: Oracle, cascade: Sequence[Oracle], most: int = 8) -> None:
    """Members say how sure they are, answer with the oracle's classes, and have their own names."""
    if len(cascade) > most:  # every subset of the members is a chain that is weighed
        raise BadInput(f"a cascade has at most {most} members; got {len(cascade)}.")
    names = [oracle.name]
    for one in cascade:
        if not isinstance(one, Oracle):
            raise BadInput(
                "a member of a cascade is a thrifty.Oracle(ask, price=, name=, confidence=True); "
                f"got {type(one).__name__}."
            )
        if not one.confidence:
            raise BadInput(
                f"{one.name!r} does not say how sure it is: thrifty.Oracle(ask, ..., "
                "confidence=True), where ask(ids) gives pairs of a label and a probability."
            )
        if {oracle.code(c) for c in one.classes} - {-1} != set(range(len(oracle.classes))):
            raise BadInput(
                f"{one.name!r} answers with {list(one.classes)} and the oracle with "
                f"{list(oracle.classes)}: members need the oracle's classes."
            )
        if one.name in names:
            raise BadInput(f"two in the cascade have the name {one.name!r}; give each its own.")
        names.append(one.name)


def _of_model(prediction: Prediction, oracle: Oracle) -> _OfModel:
    """The model's answers among the oracle's classes, and what it gives for being wrong.

    A third where it gives no probabilities.
    """
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
    place = {c: i for i, c in enumerate(listed)}
    at = np.array([place[v] for v in prediction.values.tolist()], dtype=np.int64)
    if prediction.probabilities is None:
        return places[at], np.full(len(at), 1 / 3)
    return places[at], 1 - prediction.probabilities[np.arange(len(at)), at]


def _merged(answered: AnyArray, known: Bools, said: AnyArray) -> AnyArray:
    """The answers with what the oracle said of known rows, of a kind that holds both."""
    values = np.asarray(answered).copy()
    try:
        cast = said.astype(values.dtype)
        if values.dtype.kind in "US" or not (cast == said).all():
            raise ValueError
        values[known] = cast
    except (TypeError, ValueError):  # words of another length or kind
        values = values.astype(object)
        values[known] = said
    return values


def _no_certificate(
    name: str, known: Bools, prediction: Prediction | None, ended: BudgetExceeded
) -> BudgetExceeded:
    return BudgetExceeded(
        f"{int(known.sum())} of {len(known)} rows of {name!r} have a label and the "
        f"money ends before a certificate: {ended} Labels that were bought are kept: answer "
        "again with more, or with a lower target.",
        needed=ended.needed,
        left=ended.left,
        scope=ended.scope,
        prediction=prediction,
    )
