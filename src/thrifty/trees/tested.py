"""``Tested(error, confidence)``: a reused task whose bill does not grow with its rows.

A tree is grown by Algorithm 2 on a few random rows, and then asked about fresh ones, buying only
the cells on each row's path. If it is right on t_i of them in a row it is accepted; else its
mistakes join the rows it is grown on, and the next tree meets rows that no tree has met. A tree
need not be consistent with its sample: fresh rows alone decide.

Guarantee. The i-th tree tested is accepted after t_i = ln(1 / delta_i) / -ln(1 - error) right
answers, delta_i = (1 - confidence) / (i (i + 1)). It depends on earlier rows only, so if its error
is above ``error`` it passes with probability at most (1 - error)^t_i <= delta_i; the delta_i sum to
1 - confidence. So an accepted tree has an error above ``error`` with probability at most
1 - confidence, on the distribution the rows were drawn from. A row that was tested and then used
for growing is never counted as fresh again.

Whose rows. All this needs rows that the metafeatures were not fitted to. A representation therefore
remembers which examples taught it, by their ids, or by their values where they have none. Where a
task brings one of them again, a tree must be right on so many rows that *every* tree of its size
with an error above ``error`` would have failed with that probability: with s splits over N Boolean
features there are at most 2 (8 N)^s of them, and ln of that, of s (s + 1) and of the rows (where a
test may begin) joins ln(1 / delta_i). Bits of categories may have been named by these very rows:
each of them then counts as one feature more for every row.

Portions. Where a rule tries parts of a representation one after the other (:class:`~thrifty.
Doubling`), the j-th has (1 - confidence) / (j (j + 1)) to spend, and one that passes no test ends
there: only the whole goes on to all rows.

Where the metafeatures do not fit even a quarter of the rows, or rows run out, all rows are used,
as :class:`~thrifty.trees.Race` does: a task fails only if Algorithm 2 on all rows fails, and the
paper's bound on tasks from scratch stays. Of such a tree, and of one from scratch, nothing is
promised beyond those rows; ``receipt.promise`` says which.

The order of rows is the lifetime's, so that data cannot be laid out against it, or that of
``random_state``, which the representation keeps.

On a few rows Algorithm 2 goes on where it fails. A rare branch may hold too few of a sample's rows
to tell its split, and one wrong choice there leaves the metafeatures without an answer. That says
nothing against the tree as a whole: such a node becomes a leaf of the most common class, and a test
on fresh rows decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.attempt import Attempt, Expected, Failed, Failure, Found
from thrifty.cells import Cells
from thrifty.cells.bit_cells import BitCells
from thrifty.checks import a_share, set_checked, whole_number
from thrifty.labels import Labels
from thrifty.trees.columns import RowColumns, RowPlace
from thrifty.trees.gains import Gain, gain_named
from thrifty.trees.growing import Half, PathPrices, Reason, Suggested, grow, most_common, one_by_one
from thrifty.trees.race import Race
from thrifty.trees.representation import Metafeatures, share_any
from thrifty.trees.tree import Leaf, Node, Tree, size
from thrifty.typing import Ints

#: rows the first tree is grown on
_FIRST = 48


def rows_to_pass(
    error: float, confidence: float, attempt: int, *, portion: int = 0, log_trees: float = 0.0
) -> int:
    """Right answers in a row that the attempt-th tree needs (counted from 1).

    ``portion`` is which part of a representation is tried (from 1; 0: it is tried whole alone),
    ``log_trees`` the natural log of how many trees the promise must hold for at once.

    >>> rows_to_pass(0.01, 0.95, 1), rows_to_pass(0.01, 0.95, 1, portion=1)
    (368, 437)
    """
    delta = (1.0 - confidence) / (attempt * (attempt + 1))
    if portion:
        delta /= portion * (portion + 1)
    return math.ceil((math.log(delta) - log_trees) / math.log1p(-error))


def log_trees_like(tree: Tree, n_features: int, n_rows: int) -> float:
    """ln of a bound on the trees of this size over Boolean features, sizes and places added.

    >>> from thrifty.trees.tree import stump
    >>> round(log_trees_like(stump(3), n_features=100, n_rows=1000), 1)
    15.0
    """
    s = size(tree)
    shapes = math.log(2.0) + s * math.log(8.0 * n_features)
    return shapes + math.log(max(s * (s + 1), 1)) + math.log(n_rows)


def answers(tree: Tree, cells: Cells, rows: Ints) -> Ints:
    """What the tree says of the rows (class codes), buying only the cells on their paths."""
    out = np.zeros(len(rows), dtype=np.int64)
    stack = [(tree, np.arange(len(rows)))]
    while stack:
        at, which = stack.pop()
        if isinstance(at, Leaf):
            out[which] = at.label
            continue
        values = cells.get(rows[which], [at.split.feature])[:, 0]
        true = values >= at.split.cut
        if values.dtype.kind == "f":  # a row without a value follows the larger child
            true[np.isnan(values)] = _rows_of(at.true) > _rows_of(at.false)
        for child, side in ((at.true, which[true]), (at.false, which[~true])):
            if len(side):
                stack.append((child, side))
    return out


def _rows_of(tree: Tree) -> float:
    if isinstance(tree, Leaf):
        return sum(tree.counts or ())
    return _rows_of(tree.false) + _rows_of(tree.true)


@dataclass(frozen=True, repr=False)
class Tested(Race):
    """Right on enough fresh examples: error at most ``error`` with probability ``confidence``.

    The bill of a reused task then does not grow with the number of examples.

    Parameters
    ----------
    error : float
        The share of examples that an accepted tree may get wrong.
    confidence : float
        The probability with which an accepted tree keeps to that.
    random_state : int or None
        Of the order in which rows are drawn. None: the lifetime's, or a secret that it keeps.
    gain, improve, match, max_nodes, warm_up, missing : as there
        see :class:`~thrifty.trees.Race`, which learns where the test cannot tell, and from
        scratch

    Raises
    ------
    thrifty.errors.BadParameter
        an error or confidence outside (0, 1), or what a race cannot decide

    See Also
    --------
    thrifty.trees.Race, thrifty.trees.Paper : learners of consistent trees

    Examples
    --------
    >>> Tested(0.01, 0.95).gain
    'entropy'
    """

    __test__: ClassVar[bool] = False  # the name is no test of pytest's

    error: float = 0.01
    confidence: float = 0.95
    random_state: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        error, confidence = a_share("error", self.error), a_share("confidence", self.confidence)
        set_checked(self, error=error, confidence=confidence)
        if self.random_state is not None:
            state = whole_number("random_state", self.random_state, least=0)
            set_checked(self, random_state=state)

    def expected_cells(self, known: Metafeatures, cells: Cells, max_depth: int) -> Expected:
        """A test asks about rows whose number does not depend on the task's."""
        expected = super().expected_cells(known, cells, max_depth)
        return replace(expected, grows_with_examples=False)

    def start(self) -> Metafeatures:
        """No metafeatures, and the seed of the order of rows where the learner has its own."""
        return Metafeatures(seed=0 if self.random_state is None else 1 + self.random_state)

    def remembers(self, cells: Cells) -> NDArray[np.uint64]:
        """The examples: a test on them would not be independent of what they taught."""
        return cells.row_keys()

    def reuse(
        self, known: Metafeatures, cells: Cells, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        """A tree that passed the test; all rows where the test cannot tell."""
        trial = _Trial(self, known, cells, labels, max_depth)
        tree = trial.run()
        if tree is not None:
            return Found("reused", tree, seen=self.remembers(cells), promise=trial.promise)
        if known.partial:
            reason = f"no tree of the newest {len(known)} metafeatures passed the test"
            return Failed(Failure("portion-failed", reason))
        return super().reuse(known, cells, labels, max_depth)


def grow_on_sample(
    suggested: Suggested,
    cells: Cells,
    labels: Labels,
    rows: Ints,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
) -> tuple[Tree, int]:
    """Depth first, false branch first, on these rows alone; and how many of them it gets wrong."""
    mistakes = 0

    def unfinished(place: RowPlace, reason: Reason, half: Half) -> Leaf:
        nonlocal mistakes
        mistakes += int(place.totals.sum() - place.totals.max())
        return most_common(place, reason, half)

    columns, prices = RowColumns(cells, labels, gain), PathPrices.of(cells, gain)
    root, choose = columns.root(rows), one_by_one(columns.best)
    tree = grow(root, suggested, choose, prices, unfinished, max_depth, max_nodes)
    return tree, mistakes


class _Trial:
    def __init__(
        self, terms: Tested, known: Metafeatures, cells: Cells, labels: Labels, max_depth: int
    ) -> None:
        seed = 20_222  # a salt of its own
        self.terms, self.known, self.max_depth = terms, known, max_depth
        self.cells, self.labels = cells, labels
        self.order = cells.row_order(seed)
        if known.seed:
            self.order = np.random.default_rng([seed, known.seed]).permutation(len(labels))
        self.shared = bool(known.rows) and share_any(known.rows, cells.row_keys())
        self.promise = ""
        self.met = min(_FIRST, len(labels))  # rows from here on are fresh
        self.sample = self.order[: self.met]

    def run(self) -> Tree | None:
        # a part of them still fails on so many rows: go on to the next, whatever the number of
        # rows
        enough_of_a_part = 200
        attempt = 0
        # they still fail on a sample of this share of the rows: use all rows
        enough = 0.25 * len(self.order)
        if self.known.partial:
            enough = min(enough, enough_of_a_part)
        while len(self.sample) <= enough:
            grown = self._grow()
            if grown is None:
                if not self._enlarge():
                    return None
                continue
            attempt += 1
            right = self._test(grown, attempt)
            if right is None:
                return None
            if right:
                return grown
        return None

    def _grow(self) -> Tree | None:
        """A tree worth testing, from the best root of the sample or one of the next; else None.

        A few rows often mistake the root. Its rivals are bought on the sample already, so trying
        them costs far less than more rows.
        """
        roots = 3  # roots tried on a sample before it is enlarged
        # a tree is tested when its mistakes on the rows met so far are below this share of those
        # allowed
        hopeful = 0.5
        terms = self.terms
        tried: frozenset[int] = frozenset()
        while len(tried) < roots:
            tree, mistakes = grow_on_sample(
                Suggested(self.known, by_feature=terms.match == "feature", not_at_root=tried),
                self.cells,
                self.labels,
                self.sample,
                gain_named(terms.gain),
                max_depth=self.max_depth,
                max_nodes=terms.max_nodes,
            )
            if mistakes <= hopeful * terms.error * self.met:
                return tree
            if not isinstance(tree, Node):
                return None
            tried |= {tree.split.feature}
        return None

    def _enlarge(self) -> bool:
        """Twice the rows to grow on; False when there are none left."""
        more = self.order[self.met : self.met + len(self.sample)]
        self.met += len(more)
        self.sample = np.concatenate([self.sample, more])
        return len(more) > 0

    def _test(self, tree: Tree, attempt: int) -> bool | None:
        """Whether the tree passed; None when there are not enough fresh rows to tell."""
        terms, log_trees = self.terms, 0.0
        if self.shared:
            if not self.cells.boolean.all():  # thresholds are taken from the rows: not countable
                return None
            cuts = len(self.order) if isinstance(self.cells, BitCells) else 1
            log_trees = log_trees_like(tree, self.cells.n_features * cuts, len(self.order))
        left = rows_to_pass(
            terms.error, terms.confidence, attempt, portion=self.known.portion, log_trees=log_trees
        )
        if self.met + left > len(self.order):
            return None
        whose = "enough for any tree of its size" if self.shared else "new to the metafeatures"
        self.promise = (
            f"error at most {terms.error:g} with probability {terms.confidence:g}: right on {left} "
            f"rows, {whose}"
        )
        block = 16  # rows tested at a time: a wrong tree is found out within the first few
        while left:
            rows = self.order[self.met : self.met + min(block, left)]
            self.met += len(rows)
            left -= len(rows)
            block *= 2
            wrong = answers(tree, self.cells, rows) != self.labels.codes[rows]
            if wrong.any():
                self.sample = np.concatenate([self.sample, rows[wrong]])
                return False
        return True
