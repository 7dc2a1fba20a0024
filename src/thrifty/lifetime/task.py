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
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Receipt
from thrifty.cells.prices.money import amount_text, minor_units
from thrifty.cells.sources.gaps import with_censored
from thrifty.errors import BadInput, BadParameter
from thrifty.html import pre_html
from thrifty.lazy import Estimator
from thrifty.lifetime.bill import bill_cells
from thrifty.lifetime.learned import (
    About,
    Learned,
    StoredModel,
    prediction_price,
    receipt_from_store,
)
from thrifty.lifetime.quote import refuse_without_limit
from thrifty.lifetime.transaction import Brought, OpenTask, TaskOptions, Transactions
from thrifty.stores.base import LifetimeBook
from thrifty.stores.lifetime_pages import TaskRow, VersionHead, VersionRow
from thrifty.stores.pages import SqlPages
from thrifty.stores.saved import FeaturesMoved, charge_task
from thrifty.typing import CensoredLike, Json, KindsLike, LabelsLike, MoneyLike, NaLike, TableLike

if TYPE_CHECKING:
    from thrifty.lifetime.outcomes import Monitor, Outcomes

#: what a version is: the one that answers, one that did, one that was worse
_PRESENT, _BEFORE, _ASIDE, _BACK = "present", "before", "kept aside", "rolled back"


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

    def __init__(self, name: str, transactions: Transactions, outcomes: Outcomes) -> None:
        state = transactions.state
        self.name, self._state = name, state
        self._transactions, self._outcomes = transactions, outcomes
        #: the task, and the number of its version where one is named
        self._task, self._number = state.named(name)
        if self._number is None or self._task not in state.tasks:
            state.model(name)  # says which tasks there are
        else:
            self._version(self._number)

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
        return self._state.tasks[self._task]

    def _version(self, number: int) -> Version:
        there = {version.number: version for version in self._every_version()}
        if number not in there:
            listed = ", ".join(version.name for version in there.values())
            raise BadInput(f"{self._task!r} has no version {number}; there are {listed}.")
        return there[number]

    @property
    def model(self) -> Any:  # beyond an Estimator each family's has attributes of its own
        if self._number is not None:
            return self._version(self._number).model
        return self._state.model(self.name)

    @property
    def route(self) -> str:
        return self._learned.route

    @property
    def positive(self) -> object:
        return self._learned.positive

    @property
    def receipt(self) -> Receipt:
        number = self._number
        return self._learned.receipt if number is None else self._version(number).receipt

    @property
    def quality(self) -> Any:  # each family measures its own
        return getattr(self.model, "quality_", None)

    @property
    def versions(self) -> list[Version]:
        self._state.model(self.name)
        return self._every_version()

    @property
    def _present(self) -> int:
        """The number of the version that answers for the task, or that was named."""
        if self._number is not None:
            return self._number
        return self._book.peek(lambda pages: pages.present_version(self.name), 1)

    @property
    def _book(self) -> LifetimeBook:
        return self._state.saved.book

    def _heads(self) -> list[VersionHead]:
        return self._book.peek(lambda pages: pages.versions(self._task), [])

    def _every_version(self) -> list[Version]:
        state = self._state
        state.refresh()
        learned = self._learned
        found = []
        for head in self._heads():
            receipt = receipt_from_store(head.receipt, state.now.features)
            note, load = head.note, partial(self._load, head.number)
            said = (note.get("loss"), note.get("loss before"), int(note.get("rows") or 0))
            first = (self._task, head.number, head.state)
            found.append(Version(*first, receipt, head.at, *said, load))
        if not found:
            at = state.saved.row(self._task).learned_at
            only = Version(self._task, 1, _PRESENT, learned.receipt, at)
            found.append(replace(only, _load=lambda: learned.model))
        return found

    def _load(self, number: int) -> Estimator:
        row = self._book.read(lambda pages: pages.version_row(self._task, number))
        if row is None:
            raise BadInput(f"the version {self._task}@{number} was forgotten by another process.")
        task = TaskRow(self._task, "bought", row.model, row.receipt, None, "", row.at, row.family)
        return StoredModel(self._state.family, lambda: task, self._state.now.features).load()

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
        said = TaskOptions(
            spend, None, kinds, with_censored(na, censored), None, sample_weight, groups
        )
        name, family = self.name, cast(Any, self._state.family)
        if not hasattr(family, "update"):
            raise BadParameter(
                f"{type(family).__name__} learns a task once: life.forget({name!r}) and learn it "
                "again on all rows (what is owned costs nothing), or use thrifty.Models()."
            )

        def opened() -> OpenTask:
            self._state.model(name)  # says which tasks there are
            number = 1 + max((head.number for head in self._heads()), default=1)
            account = f"{name}@{number}"
            task = self._transactions.open(Brought([account], X, [y], said), a_share=False)
            refuse_without_limit(task, "update", [name])
            return replace(task, updates=self._present)

        def make(task: OpenTask) -> object:
            known, model = self._known_rows(task), self._state.model(name)
            with self._transactions.progress.shown(task.name, task.cells, self._state):
                return family.update(model, task.cells, task.labels, known)

        return self._transactions.carry_through(opened, make, self._commit)

    def _known_rows(self, task: OpenTask) -> NDArray[np.int64]:
        """Rows of the update that the present version was learned from, by their ids."""
        ids = task.source.examples or ()

        def work(pages: SqlPages) -> NDArray[np.int64]:
            had = pages.task_examples(self.name, task.updates)
            if had is None:
                return np.zeros(0, dtype=np.int64)
            return np.flatnonzero(np.isin(pages.numbers("example", ids), had[had >= 0]))

        return self._book.peek(work, np.zeros(0, dtype=np.int64))

    def _commit(self, task: OpenTask, made: Any) -> Version:
        """Write the version down, with what it bought, in one transaction."""
        state, name, first, after = self._state, self.name, self._learned, task.after()
        present, number = task.updates, int(task.name.rpartition("@")[2])
        receipt, ids = task.cells.receipt(), task.source.examples
        about = replace(first.about, prediction_price=prediction_price(made.model, task.cells))
        learned = Learned(task.name, "bought", (made.model, receipt, None, about))
        done = self._transactions.finished(task, learned)
        assert done.row is not None, "no background"
        taken, note = made.not_worse, {"loss": made.loss, "loss before": made.loss_before}
        state_now = _PRESENT if taken else _ASIDE
        row = self._row(done.row(), number, state_now, {**note, "rows": made.n_judged})
        before = self._row(state.saved.row(name), 1, _BEFORE, {}) if number == 2 else None

        def work(pages: SqlPages) -> None:
            there = pages.version_row(name, number)
            if there is not None and there.token == row.token:
                return  # written already, as the connection was lost
            if there is not None or pages.present_version(name) != present:
                raise FeaturesMoved  # another process has updated it, or gone back, meanwhile
            state.saved.grow_features(pages, after)
            charge_task(state.ledger, pages, done)
            if before is not None:
                pages.add_version(replace(before, state=_BEFORE if taken else _PRESENT))
            elif taken:
                pages.put_version_state(name, present, _BEFORE)
            pages.add_version(row)
            if ids is not None:
                had = pages.task_examples(name, present)
                n_old = made.model.table_.n_rows - len(made.rows)
                old = np.full(n_old, -1) if had is None else had
                new = pages.number("example", [ids[i] for i in made.rows.tolist()])
                pages.put_task_examples(name, number, np.concatenate([old, new]))
            if taken:
                pages.put_present(name, row.model, row.family, about.to_store())
            state.ledger.compact(pages, task.name)

        self._book.write(work)
        self._transactions.keep(task)
        state.now = replace(state.now, features=after.features, named=after.named)
        if taken:
            state.tasks[name] = first.with_model(made.model, about)
        return self._version(number)

    def _row(self, kept: TaskRow, number: int, state: str, note: Json) -> VersionRow:
        """A version as it is written down."""
        said = (state, kept.receipt, kept.learned_at, note)
        token = uuid.uuid4().hex
        return VersionRow(self.name, number, *said, kept.model, kept.family, token)

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
        name, tasks = self.name, self._state.tasks
        self._state.refresh()
        self._state.model(name)

        def work(pages: SqlPages) -> VersionRow:
            present = pages.present_version(name)
            heads = pages.versions(name)
            before = [h.number for h in heads if h.state == _BEFORE and h.number < present]
            if not before:
                raise BadInput(
                    f"there is no version of {name!r} before the present one, {name}@{present}."
                )
            pages.put_version_state(name, present, _BACK)
            pages.put_version_state(name, before[-1], _PRESENT)
            row = pages.version_row(name, before[-1])
            assert row is not None
            pages.put_present(name, row.model, row.family, About.of(row.receipt).to_store())
            pages.note_change(time.time(), "rollback", f"{name}@{present}", row.name)
            return row

        row = self._book.write(work)
        tasks[name] = tasks[name].with_model(self._load(row.number), About.of(row.receipt))
        return self._version(row.number)

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
        return self._outcomes.tell(self, ids, y, at)

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
        return self._outcomes.monitor(self)
