"""The family of sparse polynomials whose terms are products of few metafeatures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.attempt import Failure
from thrifty.checks import a_choice, a_share, set_checked, whole_number
from thrifty.errors import BadParameter
from thrifty.labels import real_labels
from thrifty.powers.evidence import Polynomial, SumRules
from thrifty.powers.family import METHODS, Method, PowersFamily
from thrifty.powers.laws import Laws, laws_from_dict, laws_to_dict, read_laws
from thrifty.powers.model import PolynomialRegressor
from thrifty.powers.paper_polynomials import LexicographicSearch, OwnCorrelations, Posed
from thrifty.powers.pursuit import MOST_COLUMNS
from thrifty.powers.representation import Exponents, PowersRepresentation
from thrifty.powers.sum_search import SumSearch
from thrifty.powers.values import BoughtValues, both_ends
from thrifty.typing import Json, JsonLike, LabelsLike


@dataclass(frozen=True)
class Polynomials(PowersFamily[Polynomial, Posed]):
    """Sums of at most ``max_terms`` monomials of degree at most ``max_degree`` (Sec. 3.1).

    Parameters
    ----------
    max_degree, max_terms : int
        limits of the polynomial
    distribution : law, sequence of laws or None
        the law of the features: a frozen scipy.stats law, one per feature, or
        ``thrifty.powers.estimated(free_data)``. ``"paper"`` and ``"features"`` need it and refuse
        data that do not follow it; ``"lattice"`` does not.
    method : {"lattice", "paper", "features"}
        ``"lattice"`` lists the legal monomials in the span of what is known and finds the few that
        give the labels, tries the features seen next, and learns from scratch by pursuit.
        ``"paper"`` is the paper's lexicographic search with squared correlations; it predicts the
        rows it needs, which are very many, and refuses below that. ``"features"`` is the paper's
        naive baseline, the same search over the features seen.
    label_precision : float
        precision of the labels relative to the sum of |terms|. Above 1e-7 it is read as the
        standard error of noise relative to the label, and more rows are bought.
    risk : float
        the largest chance, per task, that a wrong polynomial is taken for the target
    smallest_coefficient : float
        for ``"paper"`` and ``"features"``, the smallest |coefficient| that must not be missed; the
        rows they need grow with its fourth power

    Raises
    ------
    thrifty.errors.BadParameter
        a parameter outside its range
    thrifty.errors.NotInFamily
        in ``learn``: no such polynomial fits
    thrifty.errors.NotEnoughExamples
        in ``learn``: too few rows to be certain of it

    See Also
    --------
    thrifty.Monomials : single products
    thrifty.estimators.PolynomialRegressor : one on its own
    thrifty.bounds.polynomials : what m tasks cost at most

    Examples
    --------
    >>> import numpy as np, thrifty
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 12))
    >>> life = thrifty.Lifetime(thrifty.Polynomials(max_degree=4, max_terms=2))
    >>> life.learn("first", X, 2 * X[:, 3] * X[:, 7] - X[:, 5]).model
    -x5 + 2 * x3 * x7
    >>> again = life.learn("second", X, X[:, 3] ** 2 * X[:, 7] ** 2 + 0.5 * X[:, 5])
    >>> again.route, again.model
    ('reused', 0.5 * x5 + x3^2 * x7^2)
    """

    regressor = PolynomialRegressor

    max_degree: int
    max_terms: int
    distribution: Laws = None
    method: Method = "lattice"
    label_precision: float = 1e-9
    risk: float = 1e-7
    smallest_coefficient: float = 0.5

    def __post_init__(self) -> None:
        set_checked(
            self,
            max_degree=whole_number("max_degree", self.max_degree),
            max_terms=whole_number("max_terms", self.max_terms),
        )
        a_choice("method", self.method, METHODS)
        a_share("label_precision", self.label_precision)
        a_share("risk", self.risk)
        if not self.smallest_coefficient > 0:
            raise BadParameter(
                f"smallest_coefficient must be above 0; got {self.smallest_coefficient!r}."
            )
        object.__setattr__(self, "distribution", read_laws(self.distribution))
        if self.method != "lattice" and self.distribution is None:
            raise BadParameter(
                f"method={self.method!r} needs the distribution of the features, for instance "
                "distribution=scipy.stats.uniform(1, 1); method='lattice' does not."
            )

    @property
    def rules(self) -> SumRules:
        """What counts as a fit."""
        return SumRules(self.max_degree, self.max_terms, self.label_precision, self.risk)

    def _search(self, reader: BoughtValues, labels: Posed) -> LexicographicSearch:
        least = self.smallest_coefficient
        return LexicographicSearch(reader, labels, self.distribution, least, self.rules)

    def read_labels(self, y: LabelsLike | OwnCorrelations) -> Posed:
        """Finite numbers; labels that bring exact correlations pass as they are."""
        return y if isinstance(y, OwnCorrelations) else real_labels(y)

    def _for_nothing(self, labels: Posed) -> Polynomial | None:
        y = np.asarray(labels)
        level = float(y.mean())
        if len(y) < 2 or np.abs(y - level).max() > self.label_precision * abs(level):
            return None
        return {(): level} if level else {}

    def _in_span(
        self, known: PowersRepresentation, reader: BoughtValues, labels: Posed
    ) -> Polynomial | Failure:
        if self.method == "lattice":
            return self._sums(reader, labels).reuse(known)
        search = self._search(reader, labels)
        return search.use_rep(known) if self.method == "paper" else search.naive(known)

    def _over(
        self, known: PowersRepresentation | None, reader: BoughtValues, labels: Posed
    ) -> Polynomial | Failure:
        few_rows, n_features = 4 * self.max_terms + 8, reader.n_features
        if known is not None:
            return self._sums(reader, labels).over(known.features, few_rows, known.coarse)
        if self.method != "lattice":
            return self._search(reader, labels).from_scratch()
        # Where all monomials fit into one search, few rows do; screening features needs more.
        few = math.comb(n_features + self.max_degree, self.max_degree) <= MOST_COLUMNS
        return self._sums(reader, labels).over(np.arange(n_features), few_rows if few else 60)

    def _sums(self, reader: BoughtValues, labels: Posed) -> SumSearch:
        y = np.asarray(labels)
        return SumSearch(reader, y, both_ends(y, reader.row_seed), self.rules)

    def _terms(self, formula: Polynomial) -> list[Exponents]:
        return sorted(formula)

    def estimator(
        self, model: Polynomial, labels: object, feature_names: Sequence[str]
    ) -> PolynomialRegressor:
        """A fitted regressor around the polynomial."""
        return PolynomialRegressor(self.max_degree, self.max_terms, self.label_precision).hold(
            model, feature_names
        )

    def to_dict(self) -> Json:
        """Name and parameters, as JSON; a law as its name and numbers."""
        return {**super().to_dict(), "distribution": laws_to_dict(self.distribution)}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Polynomials:
        """The inverse of :meth:`to_dict`; a law is a name and numbers, never code."""
        given = {key: value for key, value in data.items() if key != "family"}
        return cls(**{**given, "distribution": laws_from_dict(given.get("distribution"))})
