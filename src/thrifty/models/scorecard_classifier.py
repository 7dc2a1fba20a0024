"""A scorecard as a scikit-learn classifier: add up a few points, read off the risk.

A penalised logistic regression over bins. Before the labels are seen points are believed to change
little from a bin to the next: those of numbers take independent steps, those of categories are
independent; times a variance that each feature's own score test shows. A feature without a score is
shrunk to nothing, one with a high score hardly at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from thrifty.cells.sources.kinds import ColumnReader, has_texts
from thrifty.errors import BadInput, BadParameter
from thrifty.labels import Labels, class_of_interest
from thrifty.models.fits.adaptive_ridge import fit_penalised
from thrifty.models.fits.calibration import fit_intercepts, fit_slope, softmax
from thrifty.models.fits.folds import FOLDS, content_groups, make_folds
from thrifty.models.scorecard import NOWHERE, Bins, Points, Scorecard, make_bins, points_from_dict
from thrifty.typing import AnyArray, Bools, Floats, Ints, Json, JsonLike, LabelsLike, TableLike


class ScorecardClassifier(ClassifierMixin, BaseEstimator):
    """Points for bins, added up: the form in which medicine and credit keep their models.

    Numbers are cut at quantiles, categories have a bin each (rare ones share one), a gap is a bin
    of its own, a category never seen gets no points. The points are a logistic regression over
    the bins, shrunk so that neighbouring bins stay alike and features that say nothing get
    nothing, then stretched to what held-out rows ask for (calibration). Infinite values fall into
    the outermost bin. Any number of classes; gaps need no imputation.

    Parameters
    ----------
    max_bins : int
        the most bins of a number
    shrinkage : float
        how strongly points are pulled to zero; 1 suits most data
    categorical_features : str, sequence or None
        "from_dtype" (texts and category columns), or indices, names or a mask
    calibrated : bool
        whether to stretch the points by a slope found out of fold, with three folds
    whole_points : bool
        whether points are rounded, so that a card on paper gives the same answer
    doubling : float
        how many points double the odds of a class

    Attributes
    ----------
    card_ : Scorecard
        a :class:`thrifty.models.scorecard.Scorecard`, a table that prints and exports; of two
        classes it is of the one of interest: 1, True, yes or ja, else the rarer
    points_ : Points
        the same in logits
    classes_, n_features_in_, feature_names_in_ : array, int and array of str
        as everywhere in scikit-learn

    Raises
    ------
    thrifty.errors.BadInput
        in ``fit``: labels of one class alone, or X that is no table

    See Also
    --------
    thrifty.Models : a scorecard among other parts, on bought cells

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 90, size=(400, 1)).round()
    >>> ill = rng.random(400) < 1 / (1 + np.exp(-(age[:, 0] - 60) / 8))
    >>> model = ScorecardClassifier(max_bins=3).fit(age, ill)
    >>> print(model.card_)
    feature  bin       share  points
    base                        -3.3
    x0       < 48       34 %   -35.8
             48 to 71   33 %     2.1
             >= 71      33 %    35.5
    10 points double the odds of True.
    >>> model.predict_proba([[30], [80]]).round(2).tolist()
    [[0.94, 0.06], [0.1, 0.9]]
    """

    def __init__(
        self,
        max_bins: int = 12,
        shrinkage: float = 1.0,
        categorical_features: ArrayLike | None = "from_dtype",
        calibrated: bool = True,
        whole_points: bool = False,
        doubling: float = 10.0,
    ) -> None:
        self.max_bins = max_bins
        self.shrinkage = shrinkage
        self.categorical_features = categorical_features
        self.calibrated = calibrated
        self.whole_points = whole_points
        self.doubling = doubling

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Self:
        """Make the card of these rows; ``sample_weight`` says how many each stands for."""
        self._check_parameters()
        values, labels = self._read_training(X, y)
        weights = _check_sample_weight(sample_weight, values, dtype=np.float64)
        if (weights < 0).any() or not np.isfinite(weights).all() or not weights.any():
            raise BadInput(
                "sample_weight must hold finite numbers, 0 or more, not all of them 0; got "
                f"{weights.min()} to {weights.max()}."
            )
        counted = weights > 0
        values, labels, weights = values[counted], labels[counted], weights[counted]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        codes = codes.reshape(-1)
        if len(self.classes_) < 2:
            raise BadInput(
                "a classifier needs rows of at least two classes; got 1 class, "
                f"{self.classes_[0]!r}. Bring rows of another class."
            )
        categories = self._category_mask(values.shape[1])
        bins = [
            make_bins(x, weights, max_bins=self.max_bins, category=bool(category))
            for x, category in zip(values.T, categories)
        ]
        design = _Design(values, codes, weights, bins, float(self.shrinkage))
        folds = None
        if self.calibrated:
            folds = make_folds(len(codes), FOLDS, 0, codes, content_groups(values))
        fitted = design.calibrated(folds)
        self.points_ = self._rounded(fitted) if self.whole_points else fitted
        self.positive_ = class_of_interest(Labels(codes, self.classes_, row_weights=weights))
        self.card_ = self._card()
        return self

    def decision_function(self, X: TableLike) -> Floats:
        """Log-odds of the second class; for more classes a column each."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: TableLike) -> Floats:
        """Probabilities, a column per class."""
        return softmax(self._scores(X))

    def predict(self, X: TableLike) -> AnyArray:
        """The most likely class of every row."""
        likely = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likely])

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        check_is_fitted(self, "points_")
        fields = ("max_bins", "shrinkage", "calibrated", "whole_points", "doubling")
        names = getattr(self, "feature_names_in_", None)
        return {
            "model": "ScorecardClassifier",
            "parameters": {field: getattr(self, field) for field in fields},
            "classes": self.classes_.tolist(),
            "positive": self.positive_,
            "feature_names": None if names is None else list(names),
            "categories": [
                None if texts is None else list(texts) for texts in self.reader_.categories
            ],
            "intercepts": self.points_.intercepts.tolist(),
            "bins": [bins.to_dict() for bins in self.points_.bins],
            "points": [table.tolist() for table in self.points_.points],
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> Self:
        """The inverse of :meth:`to_dict`."""
        model = cls(**data["parameters"])
        model.classes_, model.positive_ = np.array(data["classes"]), data.get("positive")
        model.points_ = points_from_dict(data)
        model.n_features_in_ = len(data["bins"])
        if data["feature_names"] is not None:
            model.feature_names_in_ = np.array(data["feature_names"], dtype=object)
        model.reader_ = ColumnReader(
            tuple(None if texts is None else tuple(map(str, texts)) for texts in data["categories"])
        )
        model.card_ = model._card()
        return model

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_parameters(self) -> None:
        if not isinstance(self.max_bins, int | np.integer) or not 2 <= self.max_bins <= 255:
            raise BadParameter(f"max_bins must be an integer from 2 to 255; got {self.max_bins!r}.")
        for name in ("shrinkage", "doubling"):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number or not 0 < value < np.inf:
                raise BadParameter(f"{name} must be a finite number above 0; got {value!r}.")

    def _read_training(self, X: TableLike, y: LabelsLike) -> tuple[Floats, AnyArray]:
        if has_texts(X):
            validate_data(self, X, y, skip_check_array=True)
            self.reader_ = ColumnReader.of(X)
            values, labels = self.reader_.read(X), np.asarray(y)
            if labels.shape != (len(values),):
                raise BadInput(f"y must hold one label a row, {len(values)}; got {labels.shape}.")
        else:
            values, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False)
            self.reader_ = ColumnReader((None,) * values.shape[1])
        check_classification_targets(labels)
        return values, labels

    def _read(self, X: TableLike) -> Floats:
        check_is_fitted(self, "points_")
        if any(texts is not None for texts in self.reader_.categories):
            validate_data(self, X, reset=False, skip_check_array=True)
            return self.reader_.read(X)
        values = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        return np.asarray(values)

    def _scores(self, X: TableLike) -> Floats:
        values = self._read(X)  # says so where nothing was fitted
        return self.points_.scores(values)

    def _category_mask(self, n: int) -> Bools:
        mask = np.array([found is not None for found in self.reader_.categories])
        given = self.categorical_features
        if given is None or (isinstance(given, str) and given == "from_dtype"):
            return mask
        which = np.asarray(given)
        if which.dtype.kind in "OU":
            names = list(getattr(self, "feature_names_in_", [f"x{f}" for f in range(n)]))
            unknown = [name for name in which if name not in names]
            if unknown:
                raise BadParameter(
                    f"categorical_features names {unknown[:3]}, which X does not have; its "
                    f"features are {names[:5]}."
                )
            which = np.array([names.index(name) for name in which], dtype=np.int64)
        mask[which] = True
        return mask

    def _rounded(self, points: Points) -> Points:
        unit = np.log(2.0) / self.doubling
        base, *tables = (np.rint(x / unit) * unit for x in (points.intercepts, *points.points))
        return Points(points.bins, base, tuple(tables))

    def _card(self) -> Scorecard:
        names = getattr(self, "feature_names_in_", [f"x{f}" for f in range(self.n_features_in_)])
        texts = zip(names, self.reader_.categories)
        words = {str(name): told for name, told in texts if told is not None}
        labels = self.classes_.tolist()
        card = self.points_.card(list(map(str, names)), words, labels, self.doubling)
        return card.of(labels[0], other=labels[1]) if self.positive_ == 0 else card


class _Design:
    """Values as bins, made once; points may then be fitted on any of the rows."""

    def __init__(
        self, values: Floats, codes: Ints, weights: Floats, bins: Sequence[Bins], shrinkage: float
    ) -> None:
        self.values, self.codes, self.weights, self.shrinkage = values, codes, weights, shrinkage
        self.n_classes = int(codes.max()) + 1
        self.bins, self.bases = tuple(bins), [one.basis() for one in bins]

    def fit(self, rows: Ints) -> Points:
        """Points from some rows."""
        y, w = self.codes[rows], self.weights[rows]
        shares = np.bincount(y, weights=w, minlength=self.n_classes) / w.sum()
        wrong = np.eye(self.n_classes)[y] - shares
        if self.n_classes == 2:
            wrong = wrong[:, 1:]
        scaled, parts = [], [np.zeros((len(rows), 0))]
        for x, bins, basis in zip(self.values[rows].T, self.bins, self.bases):
            code = bins.codes(x)
            part = np.where(code[:, None] == NOWHERE, 0.0, basis[code])
            scale = _prior_scale(part, w[:, None] * wrong, w[:, None] * wrong**2)
            scaled.append(scale * basis)
            parts.append(scale * part)
        intercepts, slopes = fit_penalised(np.hstack(parts), y, self.n_classes, w, self.shrinkage)
        ends = np.cumsum([0, *(basis.shape[1] for basis in scaled)])
        points = (basis @ slopes[a:b] for basis, (a, b) in zip(scaled, pairwise(ends)))
        return Points(self.bins, intercepts, tuple(points))

    def calibrated(self, folds: Ints | None) -> Points:
        """Points from all rows, stretched by the slope that held-out rows ask for."""
        points = self.fit(np.arange(len(self.codes)))
        if folds is None:
            return points
        held_out = points.scores(self.values)
        for fold in np.unique(folds):
            fitted = self.fit(np.flatnonzero(folds != fold))
            held_out[folds == fold] = fitted.scores(self.values[folds == fold])
        slope, _ = fit_slope(held_out, self.codes, self.weights)
        stretched = tuple(slope * table for table in points.points)
        flat = Points(self.bins, np.zeros_like(points.intercepts), stretched)
        return replace(
            flat, intercepts=fit_intercepts(flat.scores(self.values), self.codes, self.weights)
        )


def _prior_scale(part: Floats, weighted: Floats, squares: Floats) -> float:
    """tau of one feature, from its own score statistic: a mean square of one is chance."""
    # its square is clip(per_chi (chi - 1), least, most), in squared logits; chosen on nhanes, spam
    # and yeast (docs/research/scorecard.md)
    per_chi, least, most = 0.01, 0.02, 1.0
    variance = float(((part**2).T @ squares).sum())
    chi = float(((part.T @ weighted) ** 2).sum()) / variance if variance > 0 else 0.0
    return float(np.sqrt(np.clip(per_chi * (chi - 1.0), least, most)))
