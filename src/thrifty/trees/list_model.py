"""A learned decision list as a scikit-learn classifier."""

from __future__ import annotations

from thrifty.trees.gains.gain import Gain
from thrifty.trees.gains.pure_child import pure_child
from thrifty.trees.look.list_text import list_text, sign
from thrifty.trees.model import TreeClassifier

__all__ = ["ListClassifier"]


class ListClassifier(TreeClassifier):
    """A decision list: one test after the other, each with an answer of its own.

    Lifetimes hand out fitted ones; on its own, ``fit(X, y)`` learns from scratch.

    Parameters
    ----------
    max_depth : int or None
        the most tests; None goes on while a test settles examples. What is left then gets the most
        common class of it; a lifetime's lists are consistent or refused
    gain : str, Gain or callable
        "entropy", "gini", or a function (counts, totals, prices) -> gains; compared among the
        splits that leave one child pure
    class_weight, missing, prices : as there
        as for :class:`TreeClassifier`

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> print(ListClassifier().fit(X, [0, 1, 1, 1]))
    if x0: + / elif x1: + / else: -
    """

    def _learning_gain(self) -> Gain:
        return pure_child(super()._learning_gain())

    def __str__(self) -> str:
        if not hasattr(self, "tree_"):
            return repr(self)
        two = len(self.classes_) <= 2
        return list_text(self.tree_, self._name, labels=sign if two else str)
