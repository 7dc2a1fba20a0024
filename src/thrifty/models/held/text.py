"""A model of ours in words: what it is made of, how good it is, its card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from thrifty.array_types import Ints
from thrifty.models.fits.fitting import Fitted, NotBrought
from thrifty.models.fits.quality import Quality
from thrifty.typing import AnyArray

__all__ = ["Described", "in_plain_words", "quality_words"]

#: features that a model names when it is printed; a screen of them, set by hand
_SHOWN = 30
#: lines of its card, likewise
_LINES = 60


class Described(Protocol):
    """What the words are about: a fitted classifier."""

    feature_names_: tuple[str, ...]
    features_: Ints
    classes_: AnyArray
    n_features_in_: int
    estimator_: Fitted | NotBrought

    @property
    def quality_(self) -> Quality | None: ...


def quality_words(quality: Quality | None, classes: Sequence[object] | Mapping[int, object]) -> str:
    """What was measured, in a sentence.

    >>> quality_words(None, [0, 1])
    'Quality was not measured.'
    """
    if quality is None:
        return "Quality was not measured."
    of = "mean over the classes" if quality.positive is None else f"of {classes[quality.positive]}"
    nothing = "" if quality.beyond_guessing else " These rows show nothing beyond guessing."
    return (
        f"On {quality.rows:,} rows left out in turn (cross-validated, weighted as they were "
        f"bought): average precision {quality.average_precision} {of}, where guessing has "
        f"{quality.guessing:.2f}; AUC {quality.auc}; 95 % intervals."
        f"{nothing}"
    )


def in_plain_words(model: Described, card: bool = True) -> str:
    """A fitted ModelClassifier as text, with its card or without."""
    names = [model.feature_names_[f] for f in model.features_.tolist()]
    classes = ", ".join(map(str, model.classes_.tolist()))
    head = f"a model of {classes} on {len(names)} of {model.n_features_in_} features"
    said = f"{model.estimator_.summary()}\n{quality_words(model.quality_, model.classes_.tolist())}"
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
