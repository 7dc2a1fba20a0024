"""The label as one more cell with a price: an oracle that is asked example by example."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from thrifty.array_types import Ints
from thrifty.cells.prices.price_list import PriceList
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.callable import CallableSource, CallLimits
from thrifty.cells.sources.prompts import Question
from thrifty.cells.sources.questions import QuestionSource, TextsLike
from thrifty.cells.sources.row_keys import row_keys
from thrifty.errors import BadInput
from thrifty.typing import AnyArray, TableLike

__all__ = ["Oracle"]

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
    limits : int
        as for :meth:`thrifty.Source.from_callable`: ``max_examples``, ``concurrency``, ...

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
        **limits: Any,
    ) -> None:
        if isinstance(ask, Question):
            if texts is None or server is None:
                raise BadInput(
                    "a question as an oracle needs texts= in the order of the rows and server=, "
                    "for instance a thrifty.ChatServer."
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
        if len(self.classes) < 2 or len({str(c) for c in self.classes}) < len(self.classes):
            raise BadInput(f"an oracle needs two or more distinct classes; got {self.classes!r}.")
        self._codes = {_plain(c): i for i, c in enumerate(self.classes)}

    def __repr__(self) -> str:
        price = "its tokens" if isinstance(self._ask, Question) else f"{self.price or 1}"
        return f"Oracle({price} a label: {', '.join(map(str, self.classes))})"

    @property
    def yes_or_no(self) -> bool:
        """Whether its answers are True and False."""
        return set(self.classes) == {False, True}

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
            return self._questions(X, label, self._ask)
        ids, given = _ids(X)
        kinds = None if self.yes_or_no else {label: [str(c) for c in self.classes]}
        return CallableSource(
            _provider(self._ask, dict(zip(ids, given)), in_words=not self.yes_or_no),
            examples=ids,
            features=[label],
            kinds=kinds,
            prices=PriceList({label: 1 if self.price is None else self.price}),
            name=self.name,
            limits=CallLimits(**self._limits),
        )

    def beside(self, X: TableLike, label: str) -> CallableSource:
        """X with its label as one more feature: free where it was bought, else at the price.

        A label that one task bought may tell the next one something. The cells are those of the
        store, known by the oracle's name, the example and the label, whoever paid for them; columns
        of X cost nothing.

        Parameters
        ----------
        X : TableLike
            the rows, read for nothing
        label : str
            the name of the task that it was bought for

        Examples
        --------
        >>> X = np.array([[0.5], [1.5], [2.5], [3.5]])
        >>> oracle = Oracle(lambda ids: [X[i, 0] > 2 for i in ids], price="0.01 USD")
        >>> both = oracle.beside(X, "large")
        >>> both.feature_names, [both.prices.price([name]) for name in both.feature_names]
        (('x0', 'large'), [0.0, 0.01])
        """
        from thrifty.cells.sources.base import as_source

        table = as_source(X, allow_missing=True, categories=True)
        if isinstance(self._ask, Question):
            raise BadInput(
                "a label of a question is a feature of its bank: ask for it there, with "
                "thrifty.Source.from_questions."
            )
        if not table.free:
            raise BadInput(
                "a label can stand beside a table that is free to read; X asks a provider of its "
                "own. Give what was bought of it as a table."
            )
        if label in table.feature_names:
            raise BadInput(f"X has a column {label!r} already; rename it, or leave the label out.")
        ids, given = _ids(table)
        names = table.feature_names
        kinds: dict[str, str | Sequence[str]] = {
            name: table.categories.get(f, "boolean" if table.boolean[f] else "number")
            for f, name in enumerate(names)
        }
        if not self.yes_or_no:
            kinds[label] = [str(c) for c in self.classes]
        asked = _provider(self._ask, dict(zip(ids, given)), in_words=not self.yes_or_no)
        price = 1 if self.price is None else self.price
        return CallableSource(
            _with_columns(asked, table, {id: row for row, id in enumerate(ids)}, label),
            examples=ids,
            features=[*names, label],
            kinds=kinds,
            prices=PriceList({**dict.fromkeys(names, 0), label: price}),
            allow_missing=True,
            name=self.name,
            limits=CallLimits(**self._limits),
        )

    def _questions(self, X: Source, label: str, question: Question) -> QuestionSource:
        assert self._texts is not None and self._server is not None
        made = QuestionSource(
            self._texts, {label: question}, self._server, name=self.name, **self._limits
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
            by_text = {str(id): label for id, label in self.known.items()}
            listed = [by_text.get(str(id)) for id in given]
        else:
            listed = list(self.known)
            if len(listed) != X.n_examples:
                raise BadInput(
                    f"known= must hold one label per row, None where there is none: X has "
                    f"{X.n_examples} rows, known has {len(listed)}. Or give {{id: label}}."
                )
        for row, label in enumerate(listed):
            if label is None or label != label:
                continue
            codes[row] = self.code(label)
            if codes[row] < 0:
                raise BadInput(
                    f"known= says {label!r} of row {row}; the oracle's classes are "
                    f"{list(self.classes)}."
                )
        return codes


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


def _provider(
    ask: Callable[..., object], given: Mapping[str, object], *, in_words: bool
) -> Callable[..., object]:
    """The oracle as a function of a source: one column of answers."""

    def column(answer: object) -> object:
        try:
            labels = [_plain(label) for label in answer]  # type: ignore[attr-defined]
        except TypeError:
            return answer  # the ledger says that it is no answer
        return [[_word(label) if in_words else label] for label in labels]

    if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(
        getattr(ask, "__call__", None)  # noqa: B004
    ):

        async def later(ids: Sequence[str], names: Sequence[str]) -> object:
            return column(await ask([given[i] for i in ids]))  # type: ignore[misc]

        return later

    def now(ids: Sequence[str], names: Sequence[str]) -> object:
        return column(ask([given[i] for i in ids]))

    return now


def _with_columns(
    asked: Callable[..., object], table: Source, row_of: Mapping[str, int], label: str
) -> Callable[..., object]:
    """A label and columns of a table as one function of a source."""
    place = {name: f for f, name in enumerate(table.feature_names)}

    def columns(ids: Sequence[str], names: Sequence[str]) -> list[list[object]]:
        rows = np.array([row_of[str(id)] for id in ids], dtype=np.int64)
        wanted = [place[name] for name in names if name in place]
        values = table.read(rows, np.array(wanted, dtype=np.int64)) if wanted else None
        out: list[list[object]] = [[] for _ in ids] if values is None else values.tolist()
        for j, f in enumerate(wanted):
            words = table.categories.get(f)
            for row in out if words is not None else ():
                row[j] = _worded(row[j], words or ())
        return out

    def put(names: Sequence[str], rows: list[list[object]], said: object) -> object:
        at = list(names).index(label)
        try:
            for row, one in zip(rows, said, strict=True):  # type: ignore[call-overload]
                row.insert(at, one[0])
        except (TypeError, ValueError, LookupError):
            return said  # the ledger says that it is no answer
        return rows

    if inspect.iscoroutinefunction(asked):

        async def later(ids: Sequence[str], names: Sequence[str]) -> object:
            rows = columns(ids, names)
            return put(names, rows, await asked(ids, [label])) if label in names else rows

        return later

    def now(ids: Sequence[str], names: Sequence[str]) -> object:
        rows = columns(ids, names)
        return put(names, rows, asked(ids, [label])) if label in names else rows

    return now


def _worded(place: object, words: Sequence[str]) -> str | None:
    """The word in a place of a table; a gap is none."""
    at = float(place)  # type: ignore[arg-type]
    return None if math.isnan(at) else words[int(at)]


def _word(label: object) -> object:
    return label if label is None or isinstance(label, str) else str(label)
