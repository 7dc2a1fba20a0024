"""What a certificate is about, as one number that must not be above 0: the deficit.

Every row counts something. For ``agree`` a wrong answer counts 1, and a share of all rows may be
wrong:

    agree a:      errors                          <= (1 - a) rows
    precision p:  wrong rows in the answer        <= (1 - p) rows in the answer
    recall r:     r (rows of the class left out)  <= (1 - r) (rows of the class in the answer)

Left side less right side is the deficit. A row whose label was bought is answered by the oracle,
and counts what is then known; so buying a label never raises the deficit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.checks import a_probability

__all__ = ["Target", "agreement", "precision_of", "recall_of"]


@dataclass(frozen=True, eq=False)
class Target:
    """What each row counts: answered by the model, rightly or not, and answered by the oracle."""

    #: as it is printed
    title: str
    #: what is required, for instance .95
    level: float
    #: what a row counts that the model answers rightly, and what a wrong answer adds
    right: Floats
    extra: Floats
    #: what it counts once its label is bought, where the model was right and where it was wrong
    bought_right: Floats
    bought_wrong: Floats
    #: what all rows together may count
    allowed: float

    @cached_property
    def if_wrong(self) -> Floats:
        """What a row counts that the model answers wrongly."""
        return self.right + self.extra

    @cached_property
    def kind(self) -> Ints:
        """The same number for rows whose wrong answers add the same."""
        return np.unique(self.extra, return_inverse=True)[1]

    def once_bought(self, rows: Ints, wrong: Bools) -> Floats:
        """What these rows count once their labels are bought."""
        return np.where(wrong, self.bought_wrong[rows], self.bought_right[rows])

    def falls(self, rows: Ints, wrong: Bools) -> Floats:
        """By how much the deficit falls when the labels of these rows are bought."""
        model = self.right[rows] + self.extra[rows] * wrong
        return np.asarray(model - self.once_bought(rows, wrong))

    def expected_falls(self, rate: Floats) -> Floats:
        """The same before the labels are seen, where a row is wrong with this probability."""
        if_wrong = self.if_wrong - self.bought_wrong
        return np.asarray(rate * if_wrong + (1 - rate) * (self.right - self.bought_right))

    def deficit(self, wrong: Bools, bought: Bools) -> float:
        """The deficit where everything is known; for tests and simulations."""
        by_model = self.right + self.extra * wrong
        by_oracle = np.where(wrong, self.bought_wrong, self.bought_right)
        return float(np.where(bought, by_oracle, by_model).sum() - self.allowed)


def agreement(rows: int, level: float) -> Target:
    """At least this share of all answers are the oracle's.

    >>> target = agreement(100, 0.95)
    >>> wrong = np.arange(100) < 8
    >>> round(target.deficit(wrong, np.arange(100) < 2), 6)   # eight wrong, two of them bought
    1.0
    """
    level = a_probability("agree", level)
    none, one = np.zeros(rows), np.ones(rows)
    return Target(f"agree {level:g}", level, none, one, none, none, (1 - level) * rows)


def precision_of(answered: Bools, level: float, class_name: object = "the class") -> Target:
    """Of the rows answered with a class at least this share are the oracle's."""
    level = a_probability("precision", level)
    in_answer = np.asarray(answered, dtype=np.float64)
    share = 1 - level
    return Target(
        f"precision {level:g} of {class_name}",
        level,
        right=-share * in_answer,
        extra=in_answer,
        bought_right=-share * in_answer,
        bought_wrong=-share * (1 - in_answer),
        allowed=0.0,
    )


def recall_of(answered: Bools, level: float, class_name: object = "the class") -> Target:
    """Of the rows that are of a class for the oracle, at least this share are answered so.

    >>> target = recall_of(np.array([True, False, False]), 0.5)
    >>> target.deficit(np.array([False, True, False]), np.zeros(3, bool))   # one of two found
    0.0
    """
    level = a_probability("recall", level)
    in_answer = np.asarray(answered, dtype=np.float64)
    share = 1 - level
    return Target(
        f"recall {level:g} of {class_name}",
        level,
        right=-share * in_answer,
        extra=level * (1 - in_answer) + share * in_answer,
        bought_right=-share * in_answer,
        bought_wrong=-share * (1 - in_answer),
        allowed=0.0,
    )
