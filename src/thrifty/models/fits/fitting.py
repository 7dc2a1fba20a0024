"""From bought tables to what is fitted on them; and reading it back from JSON.

Values are those of the table's features, in their order, NaN for gaps. There is one fit of ours,
the stack, with a first stage where features are known of every row; and a user's own estimator,
prepared. A new kind of ours is a class with the methods of :class:`Fitted` and a line in `_LOADED`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol

import numpy as np

from thrifty.array_types import Floats
from thrifty.errors import ThriftyError
from thrifty.models.card import Card
from thrifty.models.fits.estimators import fit_user
from thrifty.models.fits.plain_trees import PlainTrees, Words, no_plain_trees
from thrifty.models.fits.quality import Quality
from thrifty.models.fits.stack import fit_quickly, fit_stacks, stack_from_dict
from thrifty.models.fits.two_stage import fit_two_stages, two_stage_from_dict
from thrifty.models.table import Table
from thrifty.typing import AnyArray, EstimatorLike, Json, JsonLike

__all__ = ["Fitted", "NotBrought", "fit_prefix", "fit_table", "fit_tables", "fitted_from_dict"]


class Fitted(Protocol):
    """What every kind can: a classifier over class codes, or a regressor."""

    @property
    def classes_(self) -> AnyArray: ...
    @property
    def quality(self) -> Quality | None:
        """From held-out rows; None where they cannot show it, or were not asked."""

    @property
    def measured(self) -> bool:
        """Whether its quality was looked for when it was fitted; if not, it can be later."""

    @property
    def error(self) -> float:
        """Of numbers: root mean square on held-out rows; NaN where it was not measured."""

    def predict_proba(self, values: Floats) -> Floats: ...
    def predict(self, values: Floats) -> AnyArray: ...
    def summary(self) -> str:
        """What it is, in a sentence."""

    def scorecard(
        self, names: Sequence[str], words: Words, classes: Sequence[Hashable]
    ) -> Card | None:
        """Its scorecard, or that of the part of it that is one; None where none is."""

    def as_trees(self, names: Sequence[str], words: Words) -> PlainTrees:
        """The same scores as a sum of small trees, for serving; BadInput where they are none."""

    def to_dict(self) -> Json | None:
        """Plain data, for JSON; None for those of others, which are fitted again."""


_LOADED: dict[str, Callable[[JsonLike], Fitted]] = {
    "Stack 3": stack_from_dict,
    "TwoStage": two_stage_from_dict,
}


def fitted_from_dict(data: JsonLike) -> Fitted | None:
    """The inverse of ``to_dict``; None where the format is of an earlier version."""
    load = _LOADED.get(str(data.get("model")))
    return None if load is None else load(data)


def fit_table(table: Table, estimator: EstimatorLike | None = None, *, seed: int = 0) -> Fitted:
    """Fit what was bought; None: the stack."""
    return fit_tables([table], estimator, seed)[0][0]


def fit_tables(
    tables: Sequence[Table], estimator: EstimatorLike | None = None, seed: int = 0
) -> list[tuple[Fitted, Floats | None]]:
    """The same for several labels, with what is said of their rows had they been left out."""
    if estimator is not None:
        return [(fit_user(table, estimator, seed), None) for table in tables]
    plain = [table for table in tables if not table.first]
    stacks = iter(fit_stacks(plain, seed)) if plain else iter(())
    return [fit_two_stages(table, seed) if table.first else next(stacks) for table in tables]


def fit_prefix(table: Table, estimator: EstimatorLike | None = None, *, seed: int = 0) -> Fitted:
    """The same for a beginning of the features: quickly, since others scale it."""
    return fit_quickly(table, seed) if estimator is None else fit_user(table, estimator, seed)


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
