"""A learned tree or decision list as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from thrifty.cells import Cells, Source, as_source
from thrifty.cells.bit_cells import Bit, BitCells, bits_to_dict, read_bits
from thrifty.cells.features import match_features
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.sources.checks import default_names, refuse_masked
from thrifty.checks import whole_number
from thrifty.errors import BadInput, FeaturesChanged
from thrifty.html import pre_html
from thrifty.labels import Labels, read_classes
from thrifty.lazy import Asked, Explanation, Forest, Walked, balanced_shares, stopping_of, walk
from thrifty.lazy import explain as explain_path
from thrifty.stopping import StoppingRule
from thrifty.trees.drawing import draw_tree, graphviz_text, list_text, sign, text_with_origins
from thrifty.trees.gains import Gain, Measure, gain_named, pure_child
from thrifty.trees.growing import most_common
from thrifty.trees.representation import Origin, origins
from thrifty.trees.scratch import scratch_tree
from thrifty.trees.tree import (
    MOST_DEPTH,
    Leaf,
    Path,
    Tree,
    allows_missing,
    depth,
    features_of,
    relabel,
    tree_from_dict,
    tree_text,
)
from thrifty.typing import AnyArray, Json, JsonLike, LabelsLike, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TreeClassifier(ClassifierMixin, BaseEstimator):
    """A decision tree over Boolean and real-valued features.

    Lifetimes hand out fitted ones; on its own, ``fit(X, y)`` learns from scratch.

    Parameters
    ----------
    max_depth : int or None
        None grows until the leaves are pure, or hold only rows that are alike; never deeper than
        300
    gain : str, Gain or callable
        "entropy", "gini", "gain-ratio", "eg2", "cs-id3", "idx", or a function (counts, totals,
        prices) -> gains
    missing : str
        "error" refuses NaN; "larger-child" sends rows that lack a value to the larger child
    prices : None, number, sequence, mapping or PriceList
        what a cell costs, for price-aware gains: None (1 each), a number, a sequence or a mapping
        by feature name

    Attributes
    ----------
    tree_ : Tree
        the tree, its leaves labelled with the classes
    classes_, n_features_in_ : array and int
        as everywhere in scikit-learn
    feature_names_ : tuple of str
        the features' names, x0, x1, ... where none were given
    receipt_ : Receipt
        what the last prediction on a Source bought
    feature_names_in_ : array of str
        the names that ``fit`` was given, if any; a lifetime's models have all names
    bits_ : tuple of Bit
        what the features of ``tree_`` are, where a lifetime met categories: bits of the columns
        that users bring

    Raises
    ------
    thrifty.errors.BadInput
        in ``fit``: labels that do not fit the rows, NaN where ``missing`` refuses it

    See Also
    --------
    thrifty.Trees : the family that learns it
    thrifty.metered : predictions that buy what they ask for

    Examples
    --------
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> model = TreeClassifier().fit(X, [0, 1, 1, 0])
    >>> model.predict(X).tolist()
    [0, 1, 1, 0]
    >>> print(TreeClassifier().fit([[0.5], [1.5], [4.0]], ["low", "low", "high"]))
    x0 >= 2.75?
    ├─ no: low
    └─ yes: high
    """

    def __init__(
        self,
        max_depth: int | None = None,
        gain: str | Gain | Measure = "entropy",
        missing: str = "error",
        prices: PricesLike = None,
    ) -> None:
        self.max_depth = max_depth
        self.gain = gain
        self.missing = missing
        self.prices = prices

    def fit(self, X: TableLike, y: LabelsLike, sample_weight: object = None) -> Self:
        """Learn from scratch on every cell of X.

        ``sample_weight`` takes whole numbers, each row counting so many times: gains are functions
        of counts. Fractions are refused; scale them to whole numbers.
        """
        allow_missing = allows_missing(self.missing)
        if self.max_depth is not None:
            whole_number("max_depth", self.max_depth)
        if y is None:
            raise BadInput(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        source = _source_of(X, allow_missing=allow_missing)
        labels = read_classes(_one_column(y))
        if len(labels) != source.n_examples:
            raise BadInput(
                f"y must hold one label per example; X has {source.n_examples} examples and y has "
                f"{len(labels)} labels (inconsistent numbers of samples)."
            )
        names, named = source.feature_names, source.named
        if sample_weight is not None:
            source, labels = repeat_rows(source, labels, sample_weight)
        cells = Cells(source, self.prices)
        # With a bound, rows that cannot be told apart become a leaf of their most common class.
        deepest = min(self.max_depth or MOST_DEPTH, MOST_DEPTH)
        gain = self._learning_gain()
        tree = scratch_tree(cells, labels, gain, max_depth=deepest, on_stuck=most_common)
        return self._set(tree, labels, names, named=named)

    def _learning_gain(self) -> Gain:
        return gain_named(self.gain)

    @classmethod
    def around(
        cls,
        tree: Tree,
        labels: Labels,
        feature_names: Sequence[str],
        *,
        missing: str = "error",
        bits: Sequence[Bit] = (),
    ) -> Self:
        """A fitted classifier around a tree whose leaves carry class codes."""
        made = cls(missing=missing)._set(tree, labels, feature_names, named=True)
        made.bits_ = tuple(bits)
        made._told_names = bool(bits) or made.feature_names_ != default_names(len(feature_names))
        return made

    def _set(
        self, tree: Tree, labels: Labels, feature_names: Sequence[str], *, named: bool
    ) -> Self:
        self.tree_ = relabel(tree, labels.value)
        self.classes_ = labels.classes
        self.n_features_in_ = len(feature_names)
        self.feature_names_ = tuple(feature_names)
        self.bits_: tuple[Bit, ...] = ()
        if named:
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._told_names = True
        self._to_flatten = ToFlatten(tree, labels.n_classes)
        return self

    @property
    def _flat(self) -> FlatTree:
        return self._to_flatten.flat

    def predict(self, X: TableLike) -> AnyArray:
        """The class of each example.

        Of a Source only the cells on each example's path are bought; ``receipt_`` is then the bill.
        """
        leaves = self._leaves(X)
        return np.asarray(self.classes_[self._flat.label[leaves]])

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """The share of each class among the training rows of each example's leaf."""
        leaves = self._leaves(X)
        return self._flat.share[leaves]

    def explain(self, X: TableLike, example: int) -> Explanation:
        """Path, cells and cost of one example; only its own cells are bought.

        >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> print(TreeClassifier().fit(X, [0, 0, 0, 1]).explain(X, 2))
        example 2: 0 for 2 cells, cost 2
          x0 = 1 (compared with 0.5), paid 1
          x1 = 0 (compared with 0.5), paid 1
        """
        check_is_fitted(self, "tree_")
        cells = self._reader(X)
        if not 0 <= example < cells.n_examples:
            raise BadInput(f"example must lie in 0..{cells.n_examples - 1}; got {example!r}.")
        return self.explain_asked(cells, example)

    def explain_asked(self, cells: Cells, example: int) -> Explanation:
        """The same through a reader that is open already."""
        forest, cells = self._flat.forest, self._own(cells)
        walked = walk(cells, forest, rows=np.array([example]))
        answer = self.classes_[self._flat.label[walked.at[example, 0]]]
        return explain_path(forest, walked, example, answer, cells)

    @property
    def features_(self) -> NDArray[np.int64]:
        """Indices of the features that a prediction may ask for."""
        asked = features_of(self.tree_)
        if self.bits_:
            place = {name: f for f, name in enumerate(self.feature_names_)}
            asked = {place[self.bits_[i].feature] for i in asked}
        return np.array(sorted(asked), dtype=np.int64)

    def _own(self, cells: Cells) -> Cells:
        """What the tree asks of a reader."""
        return BitCells(cells, self.bits_) if self.bits_ else cells

    def _reader(self, X: TableLike) -> Cells:
        if self.bits_:
            source = as_source(X, allow_missing=True, categories=True)
        else:
            source = _source_of(X, allow_missing=allows_missing(self.missing))
        needed, whose = self.features_.tolist(), type(self).__name__
        names, told = self.feature_names_, self._told_names
        return Cells(
            source, match=match_features(names, source, needed=needed, whose=whose, named=told)
        )

    def ask(
        self,
        cells: Cells,
        rows: NDArray[np.int64],
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer rows through a reader, buying only the cells on their paths."""
        forest = self._flat.forest
        walked = walk(self._own(cells), forest, stopping_of(stop, spend, per_row), rows=rows)
        self._no_gaps(walked)
        at = walked.at[rows, 0]
        stopped = tuple(walked.why[0, rows].tolist())
        label = self._flat.label[at]
        sure = np.array([why == "sure" for why in stopped], dtype=np.bool_)
        if sure.any():  # the class it is sure of, which need not be the most common one
            label = np.where(sure, balanced_shares(forest)[at].argmax(axis=1), label)
        return Asked(np.asarray(self.classes_[label]), self._flat.share[at], stopped)

    def _no_gaps(self, walked: Walked) -> None:
        """A value that came as NaN must not lead anywhere in silence."""
        lost = np.argwhere(np.isnan(walked.values) & walked.known)
        if len(lost) and not allows_missing(self.missing):
            example, column = map(int, lost[0])
            raise BadInput(
                f"every value must be known; got NaN for {self._name(int(walked.features[column]))}"
                f" on example {example}. Impute it, or learn with missing='larger-child'."
            )

    def get_depth(self) -> int:
        """Tests on the longest path."""
        check_is_fitted(self, "tree_")
        return depth(self.tree_)

    def _leaves(self, X: TableLike) -> NDArray[np.int64]:
        check_is_fitted(self, "tree_")
        if self.bits_ or isinstance(X, Source):  # ask only for what each example's path needs
            cells = self._reader(X)
            walked = walk(self._own(cells), self._flat.forest)
            self.receipt_ = cells.receipt()
            self._no_gaps(walked)
            return walked.at[:, 0]
        source = _source_of(X, allow_missing=allows_missing(self.missing))
        if source.n_features != self.n_features_in_:
            raise FeaturesChanged(
                f"X has {source.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        if self._told_names:
            validate_data(self, X, reset=False, skip_check_array=True)  # the names
        return _route(source, self._flat.forest, sorted(features_of(self.tree_)))

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        check_is_fitted(self, "tree_")
        names = [self._name(i) for i in range(len(self.bits_ or self.feature_names_))]
        classes = self.classes_.tolist()
        data = {"tree": self.tree_.to_dict(), "classes": classes, "feature_names": names}
        if self.missing != "error":
            data["missing"] = self.missing
        if self.bits_:
            bits, own = bits_to_dict(self.bits_), list(self.feature_names_)
            data = {"bits": bits, "over_bits": data, "feature_names": own}
        return data

    @classmethod
    def from_dict(cls, data: JsonLike) -> Self:
        """The inverse of :meth:`to_dict`."""
        own, bits = data["feature_names"], read_bits(data["bits"]) if "over_bits" in data else ()
        data = data.get("over_bits", data)
        classes = np.array(data["classes"])
        codes = {value: code for code, value in enumerate(data["classes"])}
        tree = relabel(tree_from_dict(data["tree"]), codes.__getitem__)
        for names in (own, data["feature_names"]):
            if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
                raise BadInput("feature_names of a model must be a list of texts.")
        outside = [f for f in features_of(tree) if not 0 <= f < len(bits or names)]
        if outside:
            raise BadInput(f"the tree asks for feature {outside[0]}, and there are {len(names)}.")
        labels = Labels(np.zeros(0, dtype=np.int64), classes)
        missing = data.get("missing", "error")
        return cls.around(tree, labels, own, missing=missing, bits=bits)

    def to_text(self, metafeatures: Iterable[Tree] | None = None) -> str:
        """The tree as text; with a representation, the metafeature each node came from."""
        check_is_fitted(self, "tree_")
        if metafeatures is None:
            return tree_text(self.tree_, self._name)
        return text_with_origins(self.tree_, metafeatures, self._name)

    def to_graphviz(self, metafeatures: Iterable[Tree] | None = None) -> str:
        """The tree in the DOT language, for ``graphviz.Source`` or the program ``dot``."""
        check_is_fitted(self, "tree_")
        return graphviz_text(self.tree_, self._name, self._origins(metafeatures))

    def plot(self, metafeatures: Iterable[Tree] | None = None, ax: Axes | None = None) -> Axes:
        """Draw the tree with matplotlib; with a representation, each metafeature has a colour."""
        check_is_fitted(self, "tree_")
        return draw_tree(self.tree_, self._name, self._origins(metafeatures), ax)

    def _name(self, i: int) -> str:
        return str(self.bits_[i].name if self.bits_ else self.feature_names_[i])

    def _origins(self, metafeatures: Iterable[Tree] | None) -> dict[Path, Origin] | None:
        return None if metafeatures is None else origins(self.tree_, metafeatures)

    def __str__(self) -> str:
        if not hasattr(self, "tree_"):
            return repr(self)
        return self.to_text()

    def _repr_html_(self) -> str:
        """Notebooks show the text, in place of scikit-learn's diagram."""
        return pre_html(str(self))

    def _repr_mimebundle_(self, **given: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "larger-child"
        return tags


def _one_column(y: LabelsLike) -> LabelsLike:
    """A column of labels is taken with scikit-learn's warning."""
    refuse_masked(y)
    labels = np.asarray(y)
    column = labels.ndim == 2 and labels.shape[1] == 1
    return column_or_1d(labels, warn=True, dtype=labels.dtype) if column else labels


def _source_of(X: TableLike, *, allow_missing: bool) -> Source:
    """A source; integers that are no Booleans are numbers to scikit-learn's users, counts or codes.

    Tried in that order, so that large Boolean tables are looked through once.
    """
    try:
        return as_source(X, allow_missing=allow_missing)
    except BadInput:
        reals = _reals(X)
        if reals is None:
            raise
        return as_source(reals, allow_missing=allow_missing)


def _reals(X: TableLike) -> AnyArray | None:
    """Integers as floats; None where they are something else."""
    if isinstance(X, Source) or hasattr(X, "columns"):
        return None
    try:
        table = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    except ValueError:
        return None  # ragged
    return table.astype(np.float64) if table.dtype.kind in "iu" else None


def _route(source: Source, forest: Forest, features: list[int]) -> NDArray[np.int64]:
    """The leaf of every example, level by level."""
    at = np.zeros(source.n_examples, dtype=np.int64)
    if not features:
        return at
    rows = np.arange(source.n_examples)
    values = source.read(rows, np.array(features, dtype=np.int64))
    gaps = values.dtype.kind == "f" and bool(np.isnan(values).any())
    column = np.full(source.n_features, -1, dtype=np.int64)
    column[features] = np.arange(len(features))
    while True:
        moving = np.flatnonzero(forest.feature[at] >= 0)
        if not len(moving):
            return at
        nodes = at[moving]
        asked = values[moving, column[forest.feature[nodes]]]
        below = asked < forest.threshold[nodes]
        at[moving] = np.where(below, forest.first[nodes], forest.second[nodes])
        if gaps:
            lost = np.isnan(asked)
            at[moving[lost]] = forest.missing[nodes[lost]]


def repeat_rows(source: Source, labels: Labels, sample_weight: object) -> tuple[Source, Labels]:
    """Each row as often as its weight says; weight 0 leaves it out.

    Gains are functions of counts, so that equal counts give equal trees; a fraction of a row has no
    count and is refused.
    """
    weights = np.asarray(sample_weight)
    if weights.ndim == 0:
        weights = np.full(len(labels), weights)
    if weights.shape != (len(labels),):
        raise BadInput(
            f"sample_weight must hold one number per example, {len(labels)}; Sample weights must "
            f"be 1D array or scalar, got shape {weights.shape}."
        )
    try:
        numbers = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"sample_weight must hold numbers; {error}.") from error
    whole = np.isfinite(numbers) & (numbers >= 0) & (numbers == np.rint(numbers))
    if not whole.all():
        i = int(np.flatnonzero(~whole)[0])
        raise BadInput(
            f"sample_weight must hold whole numbers, 0 or more: a row counts so many times; got "
            f"{weights[i]} for example {i}. Scale the weights to whole numbers."
        )
    if not numbers.any():
        raise BadInput("sample_weight must leave at least one example; all weights are zero.")
    rows = np.repeat(np.arange(len(labels)), numbers.astype(np.int64))
    table = np.asarray(source.read(rows, np.arange(source.n_features)))
    repeated = Source.from_array(table, allow_missing=True)
    kept, codes = np.unique(labels.codes[rows], return_inverse=True)
    again = replace(labels, codes=codes.reshape(-1).astype(np.int64), classes=labels.classes[kept])
    return repeated, again


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
    missing, prices : as there
        as for :class:`TreeClassifier`

    Raises
    ------
    thrifty.errors.BadInput
        in ``fit``: labels that do not fit the rows, NaN where ``missing`` refuses it

    See Also
    --------
    thrifty.Lists : the family that learns it
    thrifty.TreeClassifier : trees

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


class FlatTree(NamedTuple):
    """A tree as arrays, for many examples at once, with what it answers at each of its nodes.

    A value of the threshold and above goes to the true child; a Boolean split is the threshold
    1/2. A row without the value goes to the child that more training rows reached (the false one of
    equals). ``label`` is the code of a leaf's label, of an inner node its most common class, and
    ``share`` the share of each class among a node's training rows.
    """

    forest: Forest
    label: NDArray[np.int64]
    share: NDArray[np.float64]


class ToFlatten:
    """A tree whose arrays are made when a prediction first needs them: many models never predict.

    An object of its own, as scikit-learn wants ``predict`` to leave a model's attributes alone.
    """

    def __init__(self, tree: Tree, n_classes: int) -> None:
        self.tree, self.n_classes = tree, n_classes

    @cached_property
    def flat(self) -> FlatTree:
        """The arrays."""
        return flatten(self.tree, self.n_classes)


def flatten(tree: Tree, n_classes: int) -> FlatTree:
    """Number the nodes parents first; leaves carry class codes."""
    order: list[Tree] = [tree]
    children: list[tuple[int, int]] = []
    for i, at in enumerate(order):  # which grows meanwhile
        if isinstance(at, Leaf):
            children.append((i, i))
        else:
            children.append((len(order), len(order) + 1))
            order.extend((at.false, at.true))
    n = len(order)
    child = np.array(children, dtype=np.int64)
    feature, threshold = np.full(n, -1, dtype=np.int64), np.full(n, 0.5)
    label, rows = np.zeros(n, dtype=np.int64), np.zeros(n)
    share = np.zeros((n, n_classes))
    for i in range(n - 1, -1, -1):  # children come after their parents
        at = order[i]
        if isinstance(at, Leaf):
            label[i] = at.label or 0
            rows[i] = sum(at.counts or ())
            share[i] = (
                np.array(at.counts) / rows[i] if rows[i] else np.arange(n_classes) == label[i]
            )
        else:
            feature[i], threshold[i] = at.split.feature, at.split.cut
            rows[i] = rows[child[i]].sum()
            weights = rows[child[i]] if rows[i] > 0 else np.ones(2)
            share[i] = weights @ share[child[i]] / weights.sum()
            label[i] = int(np.argmax(share[i]))
    false, true = child.T
    larger = np.where(rows[true] > rows[false], true, false)
    roots = np.zeros(1, dtype=np.int64)
    forest = Forest(feature, threshold, false, true, larger, roots, strict=True, share=share)
    return FlatTree(forest, label, share)
