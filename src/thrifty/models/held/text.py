"""A model of ours in words: what it is made of, how good it is, its card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from thrifty.models.fits.estimators import Prepared
from thrifty.models.fits.linear_and_trees import LinearAndTrees
from thrifty.models.fits.linear_score import LinearScore
from thrifty.models.fits.mixture import Stack
from thrifty.models.fits.quality import Quality

if TYPE_CHECKING:
    from thrifty.models.held.classifier import ModelClassifier

__all__ = ["in_plain_words", "made_of", "quality_words"]

#: features that a model names, and lines of its card, when it is printed
_SHOWN, _LINES = 30, 60


def made_of(model: ModelClassifier) -> str:
    """What a fitted ModelClassifier is, in a sentence."""
    fitted = model.estimator_
    if isinstance(fitted, LinearScore):
        return "A scorecard: add up the points."
    if isinstance(fitted, Stack | LinearAndTrees):
        if isinstance(fitted, LinearAndTrees):
            line, trees = 0.0, fitted.share
        else:
            _, line, trees = fitted.shares
        n = len(fitted.trees.roots) if fitted.trees is not None else 0
        others = [f"{line:.0%} straight lines over the same values"] if line else []
        others += [f"{trees:.0%} trees ({n:,} of them)"] if trees and n else []
        if not others:
            return "A scorecard: add up the points."
        near = "close to it, and not the same" if line + trees <= 0.6 else "a rough picture of it"
        return (
            f"A mixture: {1 - line - trees:.0%} this scorecard, {', '.join(others)}, not shown. "
            f"The card alone is {near}."
        ).replace("%", " %")
    own = fitted.fitted if isinstance(fitted, Prepared) else fitted
    return f"{type(own).__name__}, fitted on what was bought."


def quality_words(quality: Quality | None, classes: Sequence[object] | Mapping[int, object]) -> str:
    """What was measured, in a sentence.

    >>> quality_words(None, [0, 1])
    'Quality was not measured.'
    """
    if quality is None:
        return "Quality was not measured."
    of = "mean over the classes" if quality.rare is None else f"of {classes[quality.rare]}"
    return (
        f"On {quality.rows:,} rows left out in turn (cross-validated, weighted as they were "
        f"bought): average precision {quality.average_precision} {of}, where guessing has "
        f"{quality.guessing:.2f}; AUC {quality.auc}; 95 % intervals."
    )


def in_plain_words(model: ModelClassifier, card: bool = True) -> str:
    """A fitted ModelClassifier as text, with its card or without."""
    names = [model.feature_names_[f] for f in model.features_.tolist()]
    classes = ", ".join(map(str, model.classes_.tolist()))
    head = f"a model of {classes} on {len(names)} of {model.n_features_in_} features"
    said = f"{made_of(model)}\n{quality_words(model.quality_, model.classes_.tolist())}"
    points = getattr(model, "card_", None)
    if points is not None and not card:
        return f"{head}. {said}"
    if points is not None:
        lines = str(points).split("\n")
        if len(lines) > _LINES:
            rest = len(lines) - _LINES - 1
            lines = [*lines[:_LINES], f"and {rest:,} more lines: model.card_", lines[-1]]
        return "\n".join([f"{head}. {said}", *lines])
    shown = "\n".join(f"  {name}" for name in names[:_SHOWN])
    more = f"\n  and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{head}. {said}\n{shown}{more}"
