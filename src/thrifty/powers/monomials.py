"""The family of monomials: y = x3^2 * x17, tasks that are products of few metafeatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.attempt import Failure
from thrifty.checks import a_choice, a_share, set_checked, whole_number
from thrifty.errors import BadParameter
from thrifty.labels import log_labels
from thrifty.powers import lattice, nnls_batches, paper_monomials
from thrifty.powers.evidence import MonomialTask, Rules
from thrifty.powers.family import METHODS, Method, PowersFamily
from thrifty.powers.model import MonomialRegressor
from thrifty.powers.representation import Exponents, PowersRepresentation
from thrifty.powers.values import BoughtValues
from thrifty.typing import LabelsLike


@dataclass(frozen=True)
class Monomials(PowersFamily[Exponents, np.ndarray]):
    """Monomials of positive features: log y is an integer combination of the logs (Sec. 3).

    Parameters
    ----------
    max_degree : int
        the largest sum of powers
    method : {"lattice", "paper", "features"}
        ``"lattice"`` decodes a known target from one or two examples, tries the features seen next,
        and learns from scratch by non-negative least squares. ``"paper"`` is the paper's protocol,
        slopes of one feature at a time; it needs independent features and many rows. ``"features"``
        is the paper's naive baseline, slopes of all features seen.
    label_precision : float
        relative precision of the labels. Above 1e-7 it is read as the standard error of noise, a
        few rows in a hundred may be spoilt, and more rows are bought.
    risk : float
        the largest chance, per task, that a wrong monomial is taken for the target
    delta : float
        for the slopes of ``"paper"`` and ``"features"``, the chance that one is misread
    log_labels : bool
        whether ``y`` is given as logarithms, for powers that overflow

    Raises
    ------
    thrifty.errors.BadParameter
        a parameter outside its range
    thrifty.errors.NotInFamily
        in ``learn``: no such monomial fits
    thrifty.errors.NotEnoughExamples
        in ``learn``: too few rows to be certain of it

    See Also
    --------
    thrifty.Polynomials : sums of them
    thrifty.estimators.MonomialRegressor : one on its own
    thrifty.bounds.monomials : what m tasks cost at most

    Examples
    --------
    >>> import numpy as np, thrifty
    >>> X, Z = np.random.default_rng(0).uniform(1, 2, (2, 100, 30))
    >>> life = thrifty.Lifetime(thrifty.Monomials(max_degree=6))
    >>> life.learn("area", X, X[:, 3] ** 2 * X[:, 17]).model
    x3^2 * x17
    >>> again = life.learn("volume", Z, Z[:, 3] ** 4 * Z[:, 17] ** 2)
    >>> again.route, again.model.exponents_, again.receipt.cells
    ('reused', {3: 4, 17: 2}, 2)
    """

    positive = True
    regressor = MonomialRegressor

    max_degree: int
    method: Method = "lattice"
    label_precision: float = 1e-9
    risk: float = 1e-7
    delta: float = 0.01
    log_labels: bool = False

    def __post_init__(self) -> None:
        set_checked(self, max_degree=whole_number("max_degree", self.max_degree))
        a_choice("method", self.method, METHODS)
        a_share("label_precision", self.label_precision)
        a_share("risk", self.risk)
        a_share("delta", self.delta)
        if not isinstance(self.log_labels, bool):
            raise BadParameter(f"log_labels must be True or False; got {self.log_labels!r}.")

    @property
    def rules(self) -> Rules:
        """What counts as a fit."""
        return Rules(self.max_degree, self.label_precision, self.risk)

    def read_labels(self, y: LabelsLike) -> np.ndarray:
        """Natural logs of the labels."""
        return log_labels(y, self.log_labels)

    def _for_nothing(self, labels: np.ndarray) -> Exponents | None:
        return () if self.rules.check(labels, np.zeros(len(labels))) else None

    def _in_span(
        self, known: PowersRepresentation, reader: BoughtValues, labels: np.ndarray
    ) -> Exponents | Failure:
        task = MonomialTask(reader, labels, self.rules)
        if self.method == "lattice":
            return lattice.reuse(task, known)
        learn = paper_monomials.use_rep if self.method == "paper" else paper_monomials.naive
        return learn(task, known, self.delta)

    def _over(
        self, known: PowersRepresentation | None, reader: BoughtValues, labels: np.ndarray
    ) -> Exponents | Failure:
        task = MonomialTask(reader, labels, self.rules)
        if known is not None:
            return nnls_batches.fit_in_batches(task, known.features, coarse_elsewhere=known.coarse)
        if self.method != "lattice":
            return paper_monomials.from_scratch(task, self.delta)
        return nnls_batches.fit_in_batches(task, np.arange(reader.n_features), first=12)

    def _terms(self, formula: Exponents) -> list[Exponents]:
        return [formula]

    def estimator(
        self, model: Exponents, labels: np.ndarray, feature_names: Sequence[str]
    ) -> MonomialRegressor:
        """A fitted regressor around the monomial."""
        return MonomialRegressor(
            max_degree=self.max_degree, label_precision=self.label_precision
        ).hold(model, feature_names)
