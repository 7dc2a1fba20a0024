"""One task of a lifetime: its model, its versions, and how it does on what became true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from thrifty.cells import Receipt
from thrifty.cells.prices.money import amount_text, minor_units
from thrifty.html import pre_html
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.outcomes import Monitor, Outcomes
from thrifty.lifetime.state import LifetimeState
from thrifty.lifetime.transaction import TaskOptions
from thrifty.lifetime.versions import Version, Versions
from thrifty.typing import KindsLike, LabelsLike, MoneyLike, NaLike, TableLike

__all__ = ["Task"]


class Task:
    """One task, ``life["diabetes"]``, or one version of its model, ``life["diabetes@2"]``.

    Attributes
    ----------
    model : estimator
        the one that answers, a fitted scikit-learn estimator
    route : {"reused", "screened", "scratch"}
        how it was learned
    receipt : Receipt
        what it bought, reused and avoided
    quality : object
        how good the model was on rows left out, where its family measures that; None elsewhere
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
            f"{receipt.cells} cells for {amount_text(minor_units(receipt.cost), receipt.currency)}"
            f", at most {receipt.max_cells_per_example} on one row; {receipt.reused_cells} already "
            f"owned, {receipt.avoided_cells} avoided"
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
        kinds, na : as there
            as in :meth:`thrifty.Lifetime.learn`
        sample_weight, groups : array-like or None
            of the rows of X, as there; groups are those of this update, apart from those that were
            said before

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
        said = TaskOptions(spend, None, kinds, na, None, sample_weight, groups)
        return self._versions.update(self.name, X, y, said)

    def rollback(self) -> Version:
        """Let the version before the present one answer again; nothing is lost."""
        return self._versions.rollback(self.name)

    def outcomes(self, ids: Sequence[object], y: LabelsLike, *, at: float | None = None) -> Monitor:
        """What became true of rows that were predicted; and whether the model is still as good.

        A test that may be looked at every day: false alarms in at most 5 of 100 years of daily
        looks (:mod:`thrifty.lifetime.monitoring`). For two classes, and rows of sources whose
        examples have ids.

        Parameters
        ----------
        ids : sequence
            of examples that this task's model has predicted
        y : sequence
            what each turned out to be
        at : float or None
            when that became known, in seconds since 1970; None: now
        """
        self._state.refresh()
        return self._outcomes.tell(self.name, ids, y, at)

    def monitor(self) -> Monitor:
        """How the present version does on what became true so far."""
        self._state.refresh()
        return self._outcomes.monitor(self.name)
