"""The points of a fitted model as a card with the names and words of the user."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from thrifty.models.fits.estimators import Prepared
from thrifty.models.fits.linear_and_trees import LinearAndTrees
from thrifty.models.fits.linear_score import LinearScore
from thrifty.models.fits.mixture import Stack
from thrifty.models.held.card import Card, CardRow
from thrifty.models.held.card_points import card_of_points, plain
from thrifty.models.held.scorecard import ScorecardClassifier

__all__ = ["model_card"]

#: points that double the odds
_DOUBLING = 10.0
_UNIT = float(np.log(2.0) / _DOUBLING)

Words = Mapping[str, Sequence[object]]


def model_card(
    fitted: object, names: Sequence[str], words: Words, classes: Sequence[Hashable]
) -> Card | None:
    """The card of a fitted model, or of the part of it that is one; None where none is.

    Parameters
    ----------
    fitted : estimator
        what was fitted on the features called ``names``, in their order
    words : Words
        what the numbers of categories stand for, by name
    classes : sequence
        the user's, by code
    """
    if isinstance(fitted, Prepared):
        fitted = fitted.fitted  # a user's own
    if isinstance(fitted, Stack):
        labels = [classes[code] for code in fitted.classes_.tolist()]
        return card_of_points(fitted.card, names, words, labels)
    if isinstance(fitted, LinearAndTrees):
        return _linear_card(fitted.linear, names, classes)
    if isinstance(fitted, LinearScore):
        return _linear_card(fitted, names, classes)
    if isinstance(fitted, ScorecardClassifier):
        labels = [classes[code] for code in fitted.classes_.tolist()]
        return card_of_points(fitted.points_, names, words, labels, fitted.doubling)
    return None


def _linear_card(score: LinearScore, names: Sequence[str], classes: Sequence[Hashable]) -> Card:
    """Points for a yes; a no gets none, and the base holds what it would be worth."""
    label = plain(classes[1])
    worth = score.coef_ / _UNIT
    spread = score.coef_**2 * score.centres_ * (1 - score.centres_)
    rows = [
        CardRow(str(names[f]), "yes", float(worth[f]), float(score.centres_[f]), label)
        for f in np.argsort(-spread, kind="stable").tolist()
        if spread[f] > 1e-12
    ]
    base = float((score.intercept_ - score.coef_ @ score.centres_) / _UNIT)
    return Card(tuple(rows), {label: base}, _DOUBLING)

