"""One task of a lifetime: its model, and its versions as next month's rows come.

An update buys what it needs of the new rows under an account of its own, ``diabetes@2``. The model
on old and new rows is taken where it is not worse than the present one on rows that neither has
seen; otherwise it is kept aside, and can be asked for by its name all the same.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells, Receipt
from thrifty.cells.prices.money import amount_text, minor_units
from thrifty.cells.sources.gaps import with_censored
from thrifty.errors import BadInput, BadParameter
from thrifty.html import pre_html
from thrifty.lazy import Estimator
from thrifty.lifetime.bill_columns import bill_cells
from thrifty.lifetime.learned import (
    About,
    Learned,
    StoredModel,
    model_to_store,
    prediction_price,
    receipt_from_store,
    receipt_to_store,
)
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.quote import refuse_without_limit
from thrifty.lifetime.state import LifetimeState
from thrifty.lifetime.transaction import OpenTask, TaskOptions, Transactions
from thrifty.stores.base import LifetimeBook
from thrifty.stores.model_pages import VersionHead, VersionPages, VersionRow
from thrifty.stores.pages import SqlPages
from thrifty.stores.saved import FeaturesMoved, charge_task
from thrifty.stores.task_pages import TaskRow
from thrifty.typing import (
    CensoredLike,
    Json,
    JsonLike,
    KindsLike,
    LabelsLike,
    MoneyLike,
    NaLike,
    TableLike,
)

if TYPE_CHECKING:
    from thrifty.lifetime.outcomes import Monitor, Outcomes

#: what a version is: the one that answers, one that did, one that was worse
_PRESENT, _BEFORE, _ASIDE, _BACK = "present", "before", "kept aside", "rolled back"


class _Updated(Protocol):
    model: Any  # a model of the family
    rows: NDArray[np.int64]
    loss: float | None
    loss_before: float | None
    n_judged: int

    @property
    def not_worse(self) -> bool: ...


@runtime_checkable
class Updates(Protocol):
    """A family whose models go on with new rows."""

    def update(
        self, model: Estimator, cells: Cells, labels: object, known: NDArray[np.int64]
    ) -> _Updated: ...


@dataclass(frozen=True, eq=False)
class Version:
    """One version of a task's model.

    Attributes
    ----------
    task, number : str and int
        ``diabetes`` and 2; ``life.predict("diabetes@2", ...)`` asks it
    state : {"present", "before", "kept aside", "rolled back"}
        whether it answers for the task now
    receipt : Receipt
        what it bought, of the first version what learning did
    at : float
        when, in seconds since 1970
    loss, loss_before : float or None
        of this version and of the one before on rows that neither had seen; None: not judged
    judged : int
        on so many rows
    """

    task: str
    number: int
    state: str
    receipt: Receipt
    at: float
    loss: float | None = None
    loss_before: float | None = None
    judged: int = 0
    _load: Callable[[], Estimator | None] = field(default=lambda: None, repr=False)

    @property
    def name(self) -> str:
        return f"{self.task}@{self.number}"

    @property
    def taken(self) -> bool:
        """Whether it answers for the task now."""
        return self.state == _PRESENT

    @property
    def model(self) -> Any:
        """The fitted estimator."""
        return self._load()

    def bill_row(self) -> Json:
        """The version's line of the bill."""
        return {"task": self.name, "route": "update", **bill_cells(self.receipt)}

    def __str__(self) -> str:
        if self.loss is None or self.loss_before is None:
            judged = "" if self.number == 1 else ", not judged: too few new rows"
        else:
            judged = (
                f", loss {self.loss:.4f} where the one before has {self.loss_before:.4f} "
                f"({self.judged} rows that neither had seen)"
            )
        return f"{self.name}: {self.state}{judged}"


class Versions:
    """Updates the tasks of one lifetime, and knows their versions."""

    def __init__(
        self, state: LifetimeState, transactions: Transactions, progress: Progress
    ) -> None:
        self._state, self._transactions, self._progress = state, transactions, progress

    @property
    def _book(self) -> LifetimeBook:
        return self._state.saved.book

    def update(self, name: str, X: TableLike, y: LabelsLike, said: TaskOptions) -> Version:
        """Go on with new rows; see :meth:`thrifty.lifetime.task.Task.update`."""
        family = self._state.family
        if not isinstance(family, Updates):
            raise BadParameter(
                f"{type(family).__name__} learns a task once: life.forget({name!r}) and learn it "
                "again on all rows (what is owned costs nothing), or use thrifty.Models()."
            )
        while True:
            self._state.refresh()
            model = self._state.model(name)  # says which tasks there are
            present = self.present(name)
            number = 1 + max((h.number for h in self._heads(name)), default=1)
            account = f"{name}@{number}"
            task = self._transactions.open_task(account, X, y, said, a_share=False)
            refuse_without_limit(task, "update", [name])
            known = self._known_rows(name, present, task)
            try:
                with self._transactions.noting(task):
                    with self._progress.shown(account, task.cells, self._state):
                        made = family.update(model, task.cells, task.labels, known)
                    return self._state.booked(
                        task.cells,
                        lambda: self._commit(name, number, present, task, made),  # noqa: B023
                    )
            except FeaturesMoved:
                continue  # what it bought is owned: the next turn pays nothing for it

    def _heads(self, name: str) -> list[VersionHead]:
        return self._book.peek(lambda pages: VersionPages(pages).heads(name), [])

    def present(self, name: str) -> int:
        """The number of the version that answers for a task, or that was named."""
        task, number = self._named(name)
        if number is not None:
            return number
        return _present(self._heads(task))

    def task_of(self, name: str) -> str:
        """The task that a name or the name of one of its versions is about."""
        return self._named(name)[0]

    def _named(self, name: str) -> tuple[str, int | None]:
        """A task, and the version of it that is named, ``diabetes@2``."""
        task, at, number = name.rpartition("@")
        if at and number.isdecimal() and name not in self._state.tasks:
            return task, int(number)
        return name, None

    def _known_rows(self, name: str, present: int, task: OpenTask) -> NDArray[np.int64]:
        """Rows of the update that the present version was learned from, by their ids."""
        ids = task.source.examples
        if ids is None:
            return np.zeros(0, dtype=np.int64)

        def work(pages: SqlPages) -> NDArray[np.int64]:
            had = VersionPages(pages).examples(name, present)
            if had is None:
                return np.zeros(0, dtype=np.int64)
            return np.flatnonzero(np.isin(pages.numbers("example", ids), had[had >= 0]))

        found: NDArray[np.int64] = self._book.read(work)
        return found

    def _commit(
        self, name: str, number: int, present: int, task: OpenTask, made: _Updated
    ) -> Version:
        """Write the version down, with what it bought, in one transaction."""
        state, first = self._state, self._state.tasks[name]
        names = task.features.names
        receipt = task.cells.receipt()
        about = replace(first.about, prediction_price=prediction_price(made.model, task.cells))
        learned = Learned(task.name, "bought", (made.model, receipt, None, about))
        done = self._transactions.finished(task, learned, None)
        taken = made.not_worse
        note = {"loss": made.loss, "loss before": made.loss_before, "rows": made.n_judged}
        family = state.family.to_dict()
        row = VersionRow(
            name,
            number,
            _PRESENT if taken else _ASIDE,
            receipt_to_store(receipt, about, names),
            time.time(),
            note,
            model_to_store(made.model, names),
            family,
            uuid.uuid4().hex,
        )
        before = self._first_row(name) if number == 2 else None
        after = task.after()
        ids = task.source.examples

        def work(pages: SqlPages) -> None:
            versions = VersionPages(pages)
            there = versions.one(name, number)
            if there is not None and there.token == row.token:
                return  # written already, as the connection was lost
            if there is not None:
                raise FeaturesMoved  # another process has updated it meanwhile
            if _present(versions.heads(name)) != present:
                raise FeaturesMoved  # or gone back to a version before
            state.saved.grow_features(pages, after)
            charge_task(state.ledger, pages, done)
            if before is not None:
                versions.add(replace(before, state=_BEFORE if taken else _PRESENT))
            elif taken:
                versions.put_state(name, present, _BEFORE)
            versions.add(row)
            if ids is not None:
                had = versions.examples(name, present)
                n_old = made.model.table_.n_rows - len(made.rows)
                old = np.full(n_old, -1) if had is None else had
                new = pages.number("example", [ids[i] for i in made.rows.tolist()])
                versions.put_examples(name, number, np.concatenate([old, new]))
            if taken:
                state.saved.put_present(pages, row, about.to_store())
            state.ledger.compact(pages, task.name)

        self._book.write(work)
        self._transactions.keep(task)
        state.now = replace(state.now, features=after.features, named=after.named)
        if taken:
            state.tasks[name] = first.with_model(made.model, about)
        state.refresh()
        return self.one(name, number)

    def _first_row(self, name: str) -> VersionRow:
        """The first version, as it is written down beside the second."""
        row, token = self._state.saved.row(name), uuid.uuid4().hex
        return VersionRow(
            name, 1, _BEFORE, row.receipt, row.learned_at, {}, row.model, row.family, token
        )

    def all(self, name: str) -> list[Version]:
        """The versions of a task; see :attr:`thrifty.lifetime.task.Task.versions`."""
        self._state.refresh()
        self._state.model(name)
        heads = self._heads(name)
        if not heads:
            first = self._state.tasks[name]
            at = self._state.saved.row(name).learned_at
            return [Version(name, 1, _PRESENT, first.receipt, at, _load=lambda: first.model)]
        return [self._version(head) for head in heads]

    def _version(self, head: VersionHead) -> Version:
        note = head.note
        return Version(
            head.task,
            head.number,
            head.state,
            self._receipt(head.receipt),
            head.at,
            note.get("loss"),
            note.get("loss before"),
            int(note.get("rows") or 0),
            lambda: self._loaded(head.task, head.number),
        )

    def _receipt(self, data: JsonLike) -> Receipt:
        return receipt_from_store(data, self._state.now.features)

    def one(self, name: str, number: int) -> Version:
        """One version of a task; those that do not exist are an error."""
        for version in self.all(name):
            if version.number == number:
                return version
        there = ", ".join(v.name for v in self.all(name))
        raise BadInput(f"{name!r} has no version {number}; there are {there}.")

    def _loaded(self, name: str, number: int) -> Estimator:
        row = self._book.read(lambda pages: VersionPages(pages).one(name, number))
        if row is None:
            raise BadInput(f"the version {name}@{number} was forgotten by another process.")
        task = TaskRow(name, "bought", row.model, row.receipt, None, "", row.at, row.family)
        return StoredModel(self._state.family, lambda: task, self._state.now.features).load()

    def check(self, name: str) -> Version | None:
        """The version that is named, ``diabetes@2``; of a task or version not there an error."""
        task, number = self._named(name)
        if number is not None and task in self._state.tasks:
            return self.one(task, number)
        if name not in self._state.tasks:
            self._state.model(name)  # says which tasks there are
        return None

    def model(self, name: str) -> Estimator:
        """The model of a task, or of a version of it."""
        version = self.check(name)
        found: Estimator = self._state.model(name) if version is None else version.model
        return found

    def receipt(self, name: str) -> Receipt:
        """What a task, or a version of it, bought."""
        version = self.check(name)
        return self._state.tasks[name].receipt if version is None else version.receipt

    def rollback(self, name: str) -> Version:
        """The version before answers again; see :meth:`thrifty.lifetime.task.Task.rollback`."""
        self._state.refresh()
        self._state.model(name)

        def work(pages: SqlPages) -> VersionRow:
            versions = VersionPages(pages)
            heads = versions.heads(name)
            present = _present(heads)
            before = [h.number for h in heads if h.state == _BEFORE and h.number < present]
            if not before:
                raise BadInput(
                    f"there is no version of {name!r} before the present one, {name}@{present}."
                )
            number = before[-1]
            versions.put_state(name, present, _BACK)
            versions.put_state(name, number, _PRESENT)
            row = versions.one(name, number)
            assert row is not None
            self._state.saved.put_present(pages, row, About.of(row.receipt).to_store())
            pages.note_change(time.time(), "rollback", f"{name}@{present}", row.name)
            return row

        row, tasks = self._book.write(work), self._state.tasks
        model = self._loaded(name, row.number)
        tasks[name] = tasks[name].with_model(model, About.of(row.receipt))
        self._state.refresh()
        return self.one(name, row.number)


class Task:
    """One task, ``life["diabetes"]``, or one version of its model, ``life["diabetes@2"]``.

    Attributes
    ----------
    model : estimator
        the one that answers, a fitted scikit-learn estimator
    route : {"reused", "bought", "scratch"}
        how it was learned
    receipt : Receipt
        what it bought, reused and avoided
    quality : object
        how good the model was on held-out rows, where its family measures that; None elsewhere
    positive : object
        of two classes the one of interest
    versions : list of Version
        every version of its model, the first one first, and which of them answers
    """

    def __init__(
        self, name: str, state: LifetimeState, versions: Versions, outcomes: Outcomes
    ) -> None:
        self.name = name
        self._state, self._versions, self._outcomes = state, versions, outcomes
        versions.check(name)  # says which tasks there are

    def __repr__(self) -> str:
        return f"Task({self.name!r}, {self.route!r})"

    def __str__(self) -> str:
        return self.show()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"a task has no {name!r}; what its model has is life[{self.name!r}].model.{name}."
        )

    @property
    def _learned(self) -> Learned:
        return self._state.tasks[self._versions.task_of(self.name)]

    @property
    def model(self) -> Any:  # beyond an Estimator each family's has attributes of its own
        return self._versions.model(self.name)

    @property
    def route(self) -> str:
        return self._learned.route

    @property
    def positive(self) -> object:
        return self._learned.positive

    @property
    def receipt(self) -> Receipt:
        return self._versions.receipt(self.name)

    @property
    def quality(self) -> Any:  # each family measures its own
        return getattr(self.model, "quality_", None)

    @property
    def versions(self) -> list[Version]:
        return self._versions.all(self.name)

    def show(self) -> str:
        """How it was learned, what it cost, and its model, to be printed.

        See Also
        --------
        thrifty.results.Learned : the same as attributes

        Examples
        --------
        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
        >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        >>> print(life["either"].show().splitlines()[0])
        either: scratch
        """
        learned, receipt = self._learned, self.receipt
        lines = [f"{self.name}: {learned.route}"]
        if learned.failure is not None:
            lines.append(f"what earlier tasks taught was not enough: {learned.failure}")
        lines.append(
            f"bought {receipt.cells:,} of {receipt.cells + receipt.avoided_cells:,} values for "
            f"{amount_text(minor_units(receipt.cost), receipt.currency)}, at most "
            f"{receipt.max_cells_per_example:,} of a row; {receipt.reused_cells:,} were owned"
        )
        return "\n".join([*lines, str(self.model)])

    def _repr_html_(self) -> str:
        """For notebooks: how it was learned, the bill, the model."""
        if self.name == self._learned.name:
            return self._learned._repr_html_()
        return pre_html(self.show())

    def update(
        self,
        X: TableLike,
        y: LabelsLike,
        *,
        spend: MoneyLike = None,
        kinds: KindsLike = None,
        na: NaLike = None,
        censored: CensoredLike = None,
        sample_weight: object = None,
        groups: object = None,
    ) -> Version:
        """Go on with rows that came since the task was learned; a new version of its model.

        The features that the model asks for are bought on the new rows, and, with what is left,
        columns that it has never seen. Rows of X that it was learned from (known by their ids) cost
        nothing and count once. The new model is taken where it is not worse than the present one on
        new rows that neither has seen; otherwise it is kept aside. For ``thrifty.Models``.

        Parameters
        ----------
        X : array, frame, scipy sparse matrix or Source
            the new rows; a table that holds the old ones too will do, where rows have ids
        spend : None, number or str
            the most that this update may spend, as in :meth:`thrifty.Lifetime.learn`
        kinds, na, censored : as there
            as in :meth:`thrifty.Lifetime.learn`
        sample_weight, groups : array-like or None
            of the rows of X, as there; groups are those of this update, apart from those that were
            said before

        Raises
        ------
        thrifty.errors.BudgetExceeded
            the money ended; what was bought is owned
        thrifty.errors.BadInput
            rows or labels that do not fit the task

        See Also
        --------
        Task.rollback : the version before
        Task.monitor : whether it is time

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(600, 4))
        >>> y = X[:, 1] + rng.normal(size=600) > 0
        >>> life = thrifty.Lifetime(random_state=0)
        >>> _ = life.learn("ill", X[:200], y[:200])
        >>> life["ill"].update(X[200:], y[200:]).name, [v.state for v in life["ill"].versions]
        ('ill@2', ['before', 'present'])
        """
        na = with_censored(na, censored)
        said = TaskOptions(spend, None, kinds, na, None, sample_weight, groups)
        return self._versions.update(self.name, X, y, said)

    def rollback(self) -> Version:
        """Let the version before the present one answer again; nothing is lost.

        Raises
        ------
        thrifty.errors.BadInput
            there is no earlier version

        See Also
        --------
        Task.versions : all of them

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(600, 4))
        >>> y = X[:, 1] + rng.normal(size=600) > 0
        >>> life = thrifty.Lifetime(random_state=0)
        >>> _ = life.learn("ill", X[:200], y[:200])
        >>> _ = life["ill"].update(X[200:], y[200:])
        >>> life["ill"].rollback().name, len(life["ill"].versions)
        ('ill@1', 2)
        """
        return self._versions.rollback(self.name)

    def outcomes(self, ids: Sequence[object], y: LabelsLike, *, at: float | None = None) -> Monitor:
        """Record outcomes of rows that were predicted; say whether the model is still as good.

        A test that may be repeated every day: at most 5 in 100 models that stay as good are
        called worse (:mod:`thrifty.lifetime.monitoring`). For two classes, and rows of sources
        whose examples have ids.

        Parameters
        ----------
        ids : sequence
            of examples that this task's model has predicted
        y : sequence
            what each turned out to be
        at : float or None
            when that became known, in seconds since 1970; None: now

        Raises
        ------
        thrifty.errors.BadInput
            ids that this task never predicted, or labels of other classes

        See Also
        --------
        Task.monitor : the same without new outcomes

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> rows = thrifty.Source.from_array(X, examples=range(300), name="ward")
        >>> life = thrifty.Lifetime(random_state=0)
        >>> _ = life.learn("ill", X, X[:, 1] > 0, spend="50 %")
        >>> _ = life.predict("ill", rows)
        >>> life["ill"].outcomes([0, 1, 2], X[:3, 1] > 0).outcomes
        3
        """
        self._state.refresh()
        return self._outcomes.tell(self.name, ids, y, at)

    def monitor(self) -> Monitor:
        """How the present version does on the outcomes so far.

        See Also
        --------
        Task.outcomes : what it rests on

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> life = thrifty.Lifetime(random_state=0)
        >>> _ = life.learn("ill", X, X[:, 1] > 0, spend="50 %")
        >>> life["ill"].monitor().sentence
        'too few to say'
        """
        self._state.refresh()
        return self._outcomes.monitor(self.name)


def _present(heads: Sequence[VersionHead]) -> int:
    """The number of the version that answers."""
    return next((head.number for head in heads if head.state == _PRESENT), 1)
