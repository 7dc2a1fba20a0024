"""What users hold: scikit-learn regressors around a monomial or a polynomial."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.attempt import Failed
from thrifty.cells import Cells, Source
from thrifty.cells.features import Match, match_features
from thrifty.errors import BadInput
from thrifty.lazy import FINISHED, Asked, no_stopping
from thrifty.powers.evidence import Polynomial, term_values
from thrifty.powers.family import Formula, PowersFamily
from thrifty.powers.representation import Exponents, degree, exponents, written
from thrifty.stopping import StoppingRule
from thrifty.typing import AnyArray, Json, JsonLike, LabelsLike, TableLike


class _PowersRegressor(RegressorMixin, BaseEstimator, Generic[Formula]):  # type: ignore[misc, unused-ignore]
    """What both regressors share: names, and values of only the features they use."""

    @abstractmethod
    def _family(self) -> PowersFamily[Formula, Any]:
        """The family that learns it."""

    @abstractmethod
    def hold(self, formula: Formula, feature_names: Sequence[str]) -> Self:
        """This regressor, fitted with a formula that was learned elsewhere."""

    def fit(self, X: TableLike, y: LabelsLike) -> Self:
        """Learn from scratch, buying rows in growing batches."""
        family, cells = self._family(), Cells(X)
        labels = family.read_labels(y)
        if cells.n_examples != len(labels):
            raise BadInput(
                f"y must hold one label per example; X has {cells.n_examples} examples and y has "
                f"{len(labels)} labels."
            )
        attempt = family.use_rep(family.start(), cells, labels)
        if isinstance(attempt, Failed):
            attempt = family.from_scratch(cells, labels, attempt)
        return self.hold(attempt.model, cells.feature_names)

    def _of(self, feature_names: Sequence[str]) -> Self:
        self.feature_names_ = tuple(feature_names)
        self.n_features_in_ = len(self.feature_names_)
        return self

    @abstractmethod
    def _monomials(self) -> list[Exponents]:
        """What the formula is made of."""

    @abstractmethod
    def _computed(self, values: np.ndarray) -> np.ndarray:
        """The formula on values of those features."""

    def predict(self, X: TableLike) -> np.ndarray:
        """The formula's value of each example; infinite where it overflows."""
        return self._computed(self._values(X))

    def _values(self, X: TableLike) -> NDArray[np.float64]:
        """The formula's columns of X; of a Source only these cells are bought (``receipt_``)."""
        check_is_fitted(self)
        columns = self.features_
        if isinstance(X, Source):
            reader = Cells(X, match=self._match(X))
            values: AnyArray = reader.get(np.arange(reader.n_examples), columns)
            self.receipt_ = reader.receipt()
        else:
            table: AnyArray = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
            if table.ndim != 2:
                raise BadInput(
                    f"X must be two-dimensional, examples x features; got {table.ndim} "
                    "dimension(s). Reshape your data: X.reshape(1, -1) for one example."
                )
            if table.shape[1] != self.n_features_in_:
                raise BadInput(
                    f"X has {table.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
            values = table[:, columns]
        return self._finite(values)

    def _match(self, source: Source) -> Match | None:
        whose, needed = type(self).__name__, self.features_.tolist()
        return match_features(self.feature_names_, source, needed=needed, whose=whose)

    @property
    def features_(self) -> np.ndarray:
        """Indices of the features that a prediction asks for."""
        used = {feature for monomial in self._monomials() for feature, _power in monomial}
        return np.array(sorted(used), dtype=np.int64)

    def ask(
        self,
        cells: Cells,
        rows: np.ndarray,
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer rows through a reader; every feature of the formula is needed."""
        no_stopping(self, stop, spend, per_row)
        values = self._finite(cells.get(rows, self.features_))
        return Asked(self._computed(values), None, (FINISHED,) * len(rows))

    @staticmethod
    def _finite(values: AnyArray) -> NDArray[np.float64]:
        numbers = np.asarray(values, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise BadInput("X must be finite in the features the model uses; got NaN or infinity.")
        return numbers


class MonomialRegressor(_PowersRegressor[Exponents]):
    """y = product of powers of features.

    ``exponents_`` maps feature index to power. Stand-alone, ``fit`` learns from scratch.

    Raises
    ------
    thrifty.errors.NotInFamily
        in ``fit``: no monomial fits, or values are not positive
    thrifty.errors.NotEnoughExamples
        in ``fit``: too few rows to be certain of it

    See Also
    --------
    thrifty.Monomials : the family that learns it

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(1, 2, (60, 20))
    >>> model = MonomialRegressor(max_degree=5).fit(X, X[:, 3] ** 2 * X[:, 7])
    >>> model, model.exponents_
    (x3^2 * x7, {3: 2, 7: 1})
    >>> bool(np.allclose(model.predict(X), X[:, 3] ** 2 * X[:, 7]))
    True
    """

    def __init__(self, max_degree: int = 10, label_precision: float = 1e-9) -> None:
        self.max_degree = max_degree
        self.label_precision = label_precision

    def _family(self) -> PowersFamily[Exponents, np.ndarray]:
        # The family builds this class, so it can only be looked up when it is needed.
        from thrifty.powers.monomials import Monomials

        return Monomials(self.max_degree, label_precision=self.label_precision)

    def hold(self, formula: Exponents, feature_names: Sequence[str]) -> Self:
        """This regressor, fitted with a monomial that was learned elsewhere."""
        self.exponents_ = dict(formula)
        return self._of(feature_names)

    def predict_log(self, X: TableLike) -> np.ndarray:
        """Natural logs of the predictions, for powers that overflow."""
        return self._logs(self._values(X))

    def _monomials(self) -> list[Exponents]:
        return [exponents(self.exponents_)]

    def _computed(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self._logs(values)))

    def _logs(self, values: np.ndarray) -> np.ndarray:
        if (values <= 0).any():
            raise BadInput(
                f"monomials need values above 0, but the smallest is {values.min()}. Leave those "
                "examples out."
            )
        powers = np.array([self.exponents_[f] for f in self.features_.tolist()], dtype=np.float64)
        return np.asarray(np.log(values) @ powers)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "exponents_"):
            return str(super().__repr__(N_CHAR_MAX))
        return written(exponents(self.exponents_), self.feature_names_)

    def to_dict(self) -> Json:
        """Everything needed to build it again, as JSON."""
        return {
            "kind": "monomial",
            "max_degree": self.max_degree,
            "label_precision": self.label_precision,
            "exponents": [[int(f), int(p)] for f, p in self.exponents_.items()],
            "feature_names": list(self.feature_names_),
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> MonomialRegressor:
        """The inverse of :meth:`to_dict`."""
        model = cls(int(data["max_degree"]), float(data["label_precision"]))
        monomial = exponents((pair[0], pair[1]) for pair in data["exponents"])
        return model.hold(monomial, data["feature_names"])


class PolynomialRegressor(_PowersRegressor[Polynomial]):
    """y = sum of coefficients times monomials.

    ``terms_`` maps ((feature, power), ...) to its coefficient. Stand-alone, ``fit`` learns from
    scratch.

    Raises
    ------
    thrifty.errors.NotInFamily
        in ``fit``: no such polynomial fits
    thrifty.errors.NotEnoughExamples
        in ``fit``: too few rows to be certain of it

    See Also
    --------
    thrifty.Polynomials : the family that learns it

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (150, 6))
    >>> y = 3 * X[:, 1] ** 2 * X[:, 4] - 0.5 * X[:, 2]
    >>> PolynomialRegressor(max_degree=3, max_terms=2).fit(X, y)
    -0.5 * x2 + 3 * x1^2 * x4
    """

    def __init__(
        self, max_degree: int = 3, max_terms: int = 5, label_precision: float = 1e-9
    ) -> None:
        self.max_degree = max_degree
        self.max_terms = max_terms
        self.label_precision = label_precision

    def _family(self) -> PowersFamily[Polynomial, Any]:
        from thrifty.powers.polynomials import Polynomials

        return Polynomials(self.max_degree, self.max_terms, label_precision=self.label_precision)

    def hold(self, formula: Polynomial, feature_names: Sequence[str]) -> Self:
        """This regressor, fitted with a polynomial that was learned elsewhere."""
        self.terms_ = {term: float(formula[term]) for term in sorted(formula, key=_rank)}
        return self._of(feature_names)

    def _monomials(self) -> list[Exponents]:
        return list(self.terms_)

    def _computed(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(term_values(self.terms_, self.features_, values).sum(axis=1))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "terms_"):
            return str(super().__repr__(N_CHAR_MAX))
        names = self.feature_names_
        pieces = (_piece(size, written(term, names)) for term, size in self.terms_.items())
        text = " ".join(pieces) or "0"
        return text[2:] if text.startswith("+ ") else text.replace("- ", "-", 1)

    def to_dict(self) -> Json:
        """Everything needed to build it again, as JSON."""
        return {
            "kind": "polynomial",
            "max_degree": self.max_degree,
            "max_terms": self.max_terms,
            "label_precision": self.label_precision,
            "terms": [
                [[[int(f), int(p)] for f, p in monomial], coefficient]
                for monomial, coefficient in self.terms_.items()
            ],
            "feature_names": list(self.feature_names_),
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> PolynomialRegressor:
        """The inverse of :meth:`to_dict`."""
        model = cls(int(data["max_degree"]), int(data["max_terms"]), float(data["label_precision"]))
        terms = {
            exponents((pair[0], pair[1]) for pair in monomial): float(coefficient)
            for monomial, coefficient in data["terms"]
        }
        return model.hold(terms, data["feature_names"])


def _rank(monomial: Exponents) -> tuple[int, Exponents]:
    return degree(monomial), monomial


def _piece(coefficient: float, monomial: str) -> str:
    sign = "-" if coefficient < 0 else "+"
    size = f"{abs(coefficient):.10g}"
    if monomial == "1":
        return f"{sign} {size}"
    return f"{sign} {monomial}" if size == "1" else f"{sign} {size} * {monomial}"
