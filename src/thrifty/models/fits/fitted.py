"""What is fitted on a bought table: one protocol for every kind, and reading one back from JSON.

Values are those of the table's features, in their order, NaN for gaps. The kinds are the mixture,
the linear score with trees or without, the mixture of numbers, and a user's estimator, prepared.
A new kind of ours is a class with these methods and a line in a registry below.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol

import numpy as np

from thrifty.array_types import Floats
from thrifty.errors import ThriftyError
from thrifty.models.card import Card
from thrifty.models.fits.linear_and_trees import linear_and_trees_from_dict
from thrifty.models.fits.linear_score import LinearScore
from thrifty.models.fits.mixture import mixture_from_dict
from thrifty.models.fits.number_mixture import number_mix_from_dict
from thrifty.models.fits.plain_trees import PlainTrees, Words, no_plain_trees
from thrifty.models.fits.quality import Quality
from thrifty.models.fits.rungs import rungs_from_dict
from thrifty.typing import AnyArray, Json, JsonLike

__all__ = [
    "CLASSIFIERS",
    "REGRESSORS",
    "Fitted",
    "FittedClasses",
    "FittedNumbers",
    "NotBrought",
    "classes_from_dict",
    "numbers_from_dict",
]


class Fitted(Protocol):
    """What every kind can."""

    def to_dict(self) -> Json | None:
        """Plain data, for JSON; None for those of others, which are fitted again."""


class FittedClasses(Fitted, Protocol):
    """A classifier over class codes."""

    @property
    def classes_(self) -> AnyArray: ...
    @property
    def quality(self) -> Quality | None:
        """From rows left out; None where they cannot show it, or were not asked."""

    @property
    def measured(self) -> bool:
        """Whether its quality was looked for when it was fitted; if not, it can be later."""

    def predict_proba(self, values: Floats) -> Floats: ...
    def summary(self) -> str:
        """What it is, in a sentence."""

    def scorecard(
        self, names: Sequence[str], words: Words, classes: Sequence[Hashable]
    ) -> Card | None:
        """Its card, or that of the part of it that is one; None where none is."""

    def as_trees(self, names: Sequence[str], words: Words) -> PlainTrees:
        """The same scores as a sum of small trees, for serving; BadInput where they are none."""


class FittedNumbers(Fitted, Protocol):
    """A regressor."""

    @property
    def error(self) -> float:
        """Root mean square on rows left out; NaN where it was not measured."""

    def predict(self, values: Floats) -> AnyArray: ...


#: by the name that a store keeps as "model"; the mixture has kept its first one
CLASSIFIERS: dict[str, Callable[[JsonLike], FittedClasses]] = {
    "Stack": mixture_from_dict,
    "LinearScore": LinearScore.from_dict,
    "LinearAndTrees": linear_and_trees_from_dict,
    "Rungs": rungs_from_dict,
}
REGRESSORS: dict[str, Callable[[JsonLike], FittedNumbers]] = {"NumberMix": number_mix_from_dict}


def classes_from_dict(data: JsonLike) -> FittedClasses:
    """The inverse of a classifier's ``to_dict``; without a name it is a linear score."""
    return CLASSIFIERS.get(str(data.get("model")), LinearScore.from_dict)(data)


def numbers_from_dict(data: JsonLike) -> FittedNumbers:
    """The inverse of a regressor's ``to_dict``; without a name it is the mixture of numbers."""
    return REGRESSORS.get(str(data.get("model")), number_mix_from_dict)(data)


class NotBrought:
    """Stands in a store's model for a user's estimator that was not brought along.

    >>> NotBrought({"class": "lib.Forest", "parameters": "Forest()"}).predict_proba(None)
    Traceback (most recent call last):
    ...
    thrifty.errors.ThriftyError: this model was fitted with lib.Forest, which a store keeps as \
text only: Forest(). Open it with Lifetime.open(store, family=thrifty.Models(that estimator)); it \
is then fitted again on the cells that were bought, for nothing.
    """

    quality = None
    measured = True
    error = np.nan

    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = dict(words)
        self.classes_ = np.zeros(0, dtype=np.int64)

    def predict_proba(self, values: object) -> Floats:
        raise ThriftyError(
            f"this model was fitted with {self.words['class']}, which a store keeps as text only: "
            f"{self.words['parameters']}. Open it with Lifetime.open(store, "
            "family=thrifty.Models(that estimator)); it is then fitted again on the cells that "
            "were bought, for nothing."
        )

    predict = predict_proba

    def summary(self) -> str:
        """What it is, in a sentence."""
        return f"{type(self).__name__}, fitted on what was bought."

    def scorecard(self, names: object, words: object, classes: object) -> None:
        """None: what it was is not here."""

    def as_trees(self, names: object, words: object) -> PlainTrees:
        """Refused."""
        raise no_plain_trees(self)

    def to_dict(self) -> None:
        """None: the store keeps the words."""
