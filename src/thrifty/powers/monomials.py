"""The family of monomials: y = x3^2 * x17, tasks that are products of few metafeatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.attempt import Attempt, Failed, Failure, Found
from thrifty.cells import Cells
from thrifty.checks import a_choice, a_share, set_checked, whole_number
from thrifty.errors import BadParameter
from thrifty.labels.numbers import log_labels
from thrifty.powers import lattice, nnls_batches, paper_monomials
from thrifty.powers.evidence import MonomialTask, Rules
from thrifty.powers.family import METHODS, Method, PowersFamily
from thrifty.powers.model import MonomialRegressor
from thrifty.powers.representation import Exponents, PowersRepresentation
from thrifty.powers.values import LogValues
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

    def use_rep(
        self, representation: PowersRepresentation, cells: Cells, labels: np.ndarray
    ) -> Attempt[Exponents]:
        """A monomial in the span of what is known; failing that, over the features seen."""
        if self.rules.check(labels, np.zeros(len(labels))).holds:
            return Found("reused", ())  # y = 1 everywhere costs nothing to see
        task = MonomialTask(LogValues(cells), labels, self.rules)
        if self.method == "lattice":
            return self._use_lattice(representation, task)
        learn = paper_monomials.use_rep if self.method == "paper" else paper_monomials.naive
        found = learn(task, representation, self.delta)
        return Failed(found) if isinstance(found, Failure) else Found("reused", found)

    def _use_lattice(self, known: PowersRepresentation, task: MonomialTask) -> Attempt[Exponents]:
        found = lattice.reuse(task, known)
        if not isinstance(found, Failure):
            return Found("reused", found)
        if known.partial or not len(known):
            return Failed(found)
        seen = nnls_batches.fit_in_batches(task, known.features, coarse_elsewhere=known.coarse)
        return Failed(found) if isinstance(seen, Failure) else Found("bought", seen, found)

    def _over_all(self, cells: Cells, labels: np.ndarray) -> tuple[Exponents | Failure, LogValues]:
        task = MonomialTask(LogValues(cells), labels, self.rules)
        if self.method != "lattice":
            return paper_monomials.from_scratch(task, self.delta), task.reader
        everything = np.arange(task.reader.n_features)
        return nnls_batches.fit_in_batches(task, everything, first=12), task.reader

    def improve_rep(
        self, representation: PowersRepresentation, found: Found[Exponents]
    ) -> PowersRepresentation:
        """The representation with the verified target, where that raises the rank."""
        target = found.model
        coarse = found.seen if isinstance(found.seen, float) else 0.0
        return representation.extended([target], coarse)

    def estimator(
        self, model: Exponents, labels: np.ndarray, feature_names: Sequence[str]
    ) -> MonomialRegressor:
        """A fitted regressor around the monomial."""
        return MonomialRegressor(
            max_degree=self.max_degree, label_precision=self.label_precision
        ).hold(model, feature_names)
