"""The label as one more cell with a price: an oracle that is asked example by example."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from thrifty.cells.prices.price_list import PriceList
from thrifty.cells.sources.answered import in_asked_order
from thrifty.cells.sources.base import Source, row_keys
from thrifty.cells.sources.callable import CallableSource, CallLimits
from thrifty.cells.sources.checks import one_form
from thrifty.cells.sources.prompts import Question
from thrifty.cells.sources.questions import CONFIDENCE, QuestionSource, TextsLike, called
from thrifty.errors import BadInput, MalformedAnswer
from thrifty.typing import AnyArray, Ints

#: by id, or one for each row with None (NaN) where there is none
KnownLabels: TypeAlias = Mapping[object, object] | Sequence[object] | AnyArray


class Oracle:
    """Says what is true of an example, for money: ``y`` of ``learn``, ``oracle`` of ``answer``.

    A label is a cell of the store: (the oracle's name, example id, name of the task). It is priced,
    booked, never paid twice, in doubt and within budgets like any other.

    Parameters
    ----------
    ask : callable or Question
        ``ask(ids) -> labels``, sync or async; rows without ids are given by their numbers. Or a
        :class:`thrifty.Question` that is put to ``server`` about ``texts``
    price : number, str or None
        of one label, for instance ``"0.01 USD"``; a question costs its tokens
    classes : sequence or None
        what may be answered; None: True or False, and of a question its answers
    known : mapping, sequence or None
        labels that are there already: ``{id: label}``, or one for each row with None where there is
        none
    name : str
        of whoever answers: another oracle has another name
    texts, server : list or callable
        for a question: the texts in the order of the rows, and for instance a ``ChatServer``
    confidence : bool
        whether it says how sure it is: ``ask(ids)`` gives pairs of a label and a probability, and
        a question's comes from the log-probabilities of its tokens. For members of a cascade
    limits : int
        as for :meth:`thrifty.Source.from_callable`: ``max_examples``, ``concurrency``, ...

    Raises
    ------
    thrifty.errors.BadInput
        a question without texts or server, fewer than two classes, ``known=`` of other rows
    thrifty.errors.MalformedAnswer
        on a call: a label that is none of the classes; it is kept and counted as spent

    See Also
    --------
    thrifty.Lifetime.learn : labels that are bought
    thrifty.Lifetime.answer : an answer for every row, with a certificate

    Examples
    --------
    >>> oracle = Oracle(lambda ids: [i % 2 == 0 for i in ids], price="0.01 USD")
    >>> oracle
    Oracle(0.01 USD a label: False, True)
    """

    def __init__(
        self,
        ask: Callable[..., object] | Question,
        *,
        price: float | str | None = None,
        classes: Sequence[object] | None = None,
        known: KnownLabels | None = None,
        name: str = "oracle",
        texts: TextsLike | None = None,
        server: Callable[..., object] | None = None,
        confidence: bool = False,
        **limits: Any,
    ) -> None:
        self.confidence = confidence
        #: who else may answer the question, each for less: see :meth:`thrifty.Lifetime.answer`
        self.cascade: tuple[Oracle, ...] = ()
        if isinstance(ask, Question):
            if ask.answerers and server is None:
                *cheaper, server = ask.answerers
                ask = replace(ask, answerers=())
                self.cascade = tuple(
                    Oracle(ask, name=called(one), texts=texts, server=one, confidence=True)
                    for one in cheaper
                )
            if texts is None or server is None or ask.answerers:
                raise BadInput(
                    "a question as an oracle needs texts= in the order of the rows, and either "
                    "server=, for instance a thrifty.ChatServer, or its own answerers=, of whom "
                    "the last is the oracle."
                )
            if ask.categories is None:
                raise BadInput("an oracle answers with classes; the question asks for a number.")
            if classes is not None or price is not None:
                raise BadInput(
                    "a question says its own answers and costs its tokens: leave out classes= and "
                    "price=."
                )
            classes = ask.categories
        elif not callable(ask):
            raise BadInput(
                "an oracle is a function ask(ids) -> labels or a Question; got "
                f"{type(ask).__name__}."
            )
        self._ask, self._texts, self._server, self._limits = ask, texts, server, limits
        self.price, self.name, self.known = price, name, known
        self.classes: tuple[object, ...] = (False, True) if classes is None else tuple(classes)
        if self.yes_or_no:  # such a label is kept as 0 or 1, which is its place as well
            self.classes = tuple(sorted(self.classes))  # type: ignore[type-var]
        if len(self.classes) < 2 or len({str(c) for c in self.classes}) < len(self.classes):
            raise BadInput(f"an oracle needs two or more distinct classes; got {self.classes!r}.")
        self._codes = {_plain(c): i for i, c in enumerate(self.classes)}

    def __repr__(self) -> str:
        price = "its tokens" if isinstance(self._ask, Question) else f"{self.price or 1}"
        return f"Oracle({price} a label: {', '.join(map(str, self.classes))})"

    @property
    def yes_or_no(self) -> bool:
        """Whether its answers are True and False."""
        return {_plain(c) for c in self.classes} == {False, True}

    def code(self, label: object) -> int:
        """The place of a label among the classes; -1: none of them."""
        return self._codes.get(_plain(label), -1)

    def values(self, codes: Ints) -> AnyArray:
        """The labels behind codes."""
        if self.yes_or_no:
            return np.array([bool(c) for c in self.classes])[codes]
        kinds = {type(_plain(c)) for c in self.classes}
        listed = np.array(self.classes, dtype=None if len(kinds) == 1 else object)
        return np.asarray(listed[codes])

    def about(self, X: Source, label: str) -> CallableSource:
        """The labels of X's examples as a source of one feature."""
        if isinstance(self._ask, Question):
            made: CallableSource = self._questions(X, label, self._ask)
        else:
            made = self._asked(X, label, self._ask)
        made.labels = True
        return made

    def _asked(self, X: Source, label: str, ask: Callable[..., object]) -> CallableSource:
        ids, given = _ids(X)
        price, sure = 1 if self.price is None else self.price, label + CONFIDENCE
        kinds: dict[str, str | Sequence[str]] = {sure: "number"} if self.confidence else {}
        if not self.yes_or_no:
            kinds[label] = [str(c) for c in self.classes]
        elif self.confidence:
            kinds[label] = "boolean"
        prices = PriceList({label: price})
        if self.confidence:
            prices = PriceList(None, orders={label: (price, [label, sure])})
        return CallableSource(
            _provider(
                ask,
                _Rows(X, ids, given),
                in_words=not self.yes_or_no,
                sure=sure if self.confidence else None,
            ),
            examples=ids,
            features=[label, sure] if self.confidence else [label],
            kinds=kinds or None,
            prices=prices,
            name=self.name,
            allow_missing=self.confidence,
            limits=CallLimits(**self._limits),
        )

    def _questions(self, X: Source, label: str, question: Question) -> QuestionSource:
        assert self._texts is not None and self._server is not None
        made = QuestionSource(
            self._texts,
            {label: question},
            self._server,
            name=self.name,
            confidence="tokens" if self.confidence else False,
            **self._limits,
        )
        if made.n_examples != X.n_examples:
            raise BadInput(
                f"texts= must be those of the rows, in their order; X has {X.n_examples} rows and "
                f"there are {made.n_examples} texts."
            )
        return made

    def known_codes(self, X: Source) -> Ints:
        """Codes of the labels that were given beside the oracle; -1 where there is none."""
        codes = np.full(X.n_examples, -1, dtype=np.int64)
        if self.known is None:
            return codes
        if isinstance(self.known, Mapping):
            _, given = _ids(X)
            by_text = {one_form(str(id)): label for id, label in self.known.items()}
            listed = [by_text.get(one_form(str(id))) for id in given]
        else:
            listed = self._known_in_order(X)
            if len(listed) != X.n_examples:
                raise BadInput(
                    f"known= must hold one label per row, None where there is none: X has "
                    f"{X.n_examples} rows, known has {len(listed)}. Or give {{id: label}}."
                )
        for row, label in enumerate(listed):
            label = _plain(label)
            if label is None or label != label:
                continue
            codes[row] = self.code(label)
            if codes[row] < 0:
                raise BadInput(
                    f"known= says {label!r} of row {row}; the oracle's classes are "
                    f"{list(self.classes)}."
                )
        return codes

    def _known_in_order(self, X: Source) -> list[object]:
        """One for each row; by the index where there is one."""
        ids, given = _ids(X)
        try:
            return _in_order(self.known, [_Rows(X, ids, given).names(ids)[-1]])
        except MalformedAnswer as error:
            raise BadInput(f"known= must say which row is which: {error}") from error


def _plain(label: object) -> object:
    return label.item() if isinstance(label, np.generic) else label


def _ids(X: Source) -> tuple[list[str], Sequence[object]]:
    """Examples as the store knows them, and as the oracle is asked for them.

    Rows without ids are known by what is in them; the second of two that are alike is another.
    """
    if X.examples is not None:
        given = X.ids_of(X.examples) if isinstance(X, CallableSource) else list(X.examples)
        return list(X.examples), given
    seen: dict[int, int] = {}
    ids = []
    for key in row_keys(X).tolist():
        seen[key] = seen.get(key, 0) + 1
        ids.append(f"{key:016x}" + (f"-{seen[key]}" if seen[key] > 1 else ""))
    return ids, list(range(len(ids)))


class _Rows:
    """What rows are called: as an oracle is asked for them, and as a frame's index has them."""

    def __init__(self, X: Source, ids: Sequence[str], given: Sequence[object]) -> None:
        index = getattr(X, "index", None)
        self.given = dict(zip(ids, given))
        self._labels = {} if index is None else dict(zip(ids, index))

    def names(self, ids: Sequence[str]) -> list[list[object]]:
        """Every way to call these rows."""
        kinds = [self.given, self._labels] if self._labels else [self.given]
        return [[kind[i] for i in ids] for kind in kinds]


def _in_order(answer: object, names: list[list[object]]) -> list[object]:
    """The labels of some rows, by the index where they have one; what is masked is none."""
    listed = in_asked_order(answer, "labels", *names)
    hidden = np.ma.getmaskarray(listed).ravel() if np.ma.isMA(listed) else None
    labels = [_plain(label) for label in listed]
    return labels if hidden is None else [None if h else v for v, h in zip(labels, hidden)]


def _provider(
    ask: Callable[..., object], rows: _Rows, *, in_words: bool, sure: str | None = None
) -> Callable[..., object]:
    """The oracle as a function of a source: a column of answers, one more for how sure it is."""

    def column(answer: object, ids: Sequence[str], names: Sequence[str]) -> object:
        try:
            labels = _in_order(answer, rows.names(ids))
        except TypeError:
            return answer  # the ledger says that it is no answer
        except MalformedAnswer as error:
            return error
        if sure is not None:
            return _pairs(labels, names, sure, in_words=in_words)
        return [[_word(label) if in_words else label] for label in labels]

    if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(
        getattr(ask, "__call__", None)  # noqa: B004
    ):

        async def later(ids: Sequence[str], names: Sequence[str]) -> object:
            said = await ask([rows.given[i] for i in ids])  # type: ignore[misc]
            return column(said, ids, names)

        return later

    def now(ids: Sequence[str], names: Sequence[str]) -> object:
        return column(ask([rows.given[i] for i in ids]), ids, names)

    return now


def _pairs(
    labels: Sequence[object], names: Sequence[str], sure: str, *, in_words: bool
) -> list[list[object]] | MalformedAnswer:
    """Pairs of a label and a probability, in the order of the features that were asked for."""
    out = []
    for pair in labels:
        try:
            label, p = tuple(pair)  # type: ignore[arg-type,var-annotated]
            likely = math.nan if p is None else float(p)
        except (TypeError, ValueError):
            return MalformedAnswer(
                f"confidence=True: an answer is a pair (label, probability); got {pair!r}."
            )
        if not (math.isnan(likely) or 0 <= likely <= 1):
            return MalformedAnswer(f"a confidence must lie between 0 and 1; got {p!r}.")
        said = _plain(label)
        word = _word(said) if in_words else said
        out.append([likely if name == sure else word for name in names])
    return out


def _word(label: object) -> object:
    return label if label is None or isinstance(label, str) else str(label)
