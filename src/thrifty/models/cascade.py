"""Several answers to the same thing: the cheap one everywhere, the expensive one where that pays.

``PriceList(alternatives={"crp": ["crp rapid", "crp lab"]})`` says that two features answer the
same. A few rows, bought with both, show what a cheap answer leaves open, and for each thing one of
four ways is taken:

- *in a cascade*: the cheap one is asked, and the expensive one only after some of its answers.
  Where a thing is rare that is most of what the expensive one tells for a part of its price: a
  quick test that says no is left at that, one that says yes is checked
- *the cheap one alone*, where it says as much
- *the expensive one alone*, where the cheap one says less for its price
- *both as they are*, where each is worth its price: the learner chooses between them

A model sees one feature for a thing in its cascade, that of the expensive one; its value is the
last answer that was asked for. Learning and predictions climb row by row; a prediction asks the
expensive one outright of the few things that a model rests on, where a wrong "no" of the cheap one
costs most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.cells import Cells
from thrifty.cells.features import checked_indices
from thrifty.typing import AnyArray, Bools, Floats, Ints, Json, JsonLike


@dataclass(frozen=True)
class CascadeStep:
    """How one thing is asked.

    Attributes
    ----------
    cheap, expensive : int
        two features that answer the same
    again : tuple of float
        answers of the cheap one after which the expensive one is asked
    instead : tuple of float
        what the expensive one most likely says after each answer of the cheap one, where the money
        ends
    share : float
        of the rows on which the expensive one is asked
    alone : bool
        whether the expensive one is asked without the cheap one
    """

    cheap: int
    expensive: int
    again: tuple[float, ...]
    instead: tuple[float, ...]
    share: float
    alone: bool = False


def way_of(joint: Floats, cheap: float, expensive: float) -> tuple[tuple[int, ...], bool] | None:
    """Cheap answers after which the expensive one is asked, and whether it is asked alone.

    None: both as they are. ``joint`` counts answers, the cheap by the expensive ones.

    A quick test that finds four of five at a tenth of the price, and one that says nothing:

    >>> rare = np.array([[76.0, 1], [19, 4]])
    >>> way_of(10 * rare, 0.1, 1.0), way_of(np.full((2, 2), 25.0), 0.1, 1.0)
    (((1,), False), ((), True))
    >>> way_of(np.diag([50.0, 50.0]), 0.1, 1.0)
    ((), False)
    """
    # a cascade tells so much of what the expensive one tells at least, the cheap one alone so much,
    # and so many times as much for the price
    least, as_much, better = 0.4, 0.9, 1.1
    p = joint / joint.sum()
    whole = _entropy(p.sum(axis=0))
    said = p.sum(axis=1)
    if whole <= 0:
        return (), True
    left = np.array([_entropy(row / row.sum()) if row.sum() > 0 else 0.0 for row in p])
    order = np.argsort(-left, kind="stable").tolist()
    best, most = None, better
    by_chance = (len(p) - 1) ** 2 / (2 * joint.sum())  # few rows show more than there is (Miller)
    for n in range(len(order)):
        again = order[:n]
        told = (_told(p, again) - by_chance) / whole
        price = cheap + expensive * float(said[again].sum())
        ratio = told * expensive / max(price, 1e-12)
        if told >= (least if again else as_much) and ratio > most:
            best, most = tuple(sorted(again)), ratio
    if best is not None:
        return best, False
    if (_told(p, []) - by_chance) / whole * expensive <= cheap:
        return (), True
    return None


def _told(p: Floats, again: Sequence[int]) -> float:
    """How much the last answer says of the expensive one, in nats."""
    kept = np.setdiff1d(np.arange(len(p)), again)
    last = np.diag(p[list(again)].sum(axis=0))
    last[kept] += p[kept]
    return _entropy(last.sum(axis=0)) + _entropy(last.sum(axis=1)) - _entropy(last.ravel())


def _entropy(p: Floats) -> float:
    some = p[p > 0]
    return float(-(some * np.log(some)).sum())


def find_steps(cells: Cells, money: float, rng: np.random.Generator) -> tuple[CascadeStep, ...]:
    """How each thing with alternatives is asked, from a few rows that are bought with both.

    Of three and more alternatives the two ends of the prices count, the others are features of
    their own. Numbers are left as they are.
    """
    # Part of the money for rows on which both are bought, rows of it where things are many, and
    # pairs of cells without which nothing is decided. Set by hand, as the other numbers here, on
    # made answers (tests/models/test_cascade.py); measured as they are by `python
    # benchmarks/two_answerers.py`.
    pilot, rows, fewest = 0.04, 40, 30
    ends = [(several[0], several[-1]) for several in cells.alternatives]
    ends = [(c, d) for c, d in ends if _n_answers(cells, d) and not cells.absent[[c, d]].any()]
    prices = np.asarray(cells.prices, dtype=np.float64)
    ends = [(c, d) for c, d in ends if prices[c] < prices[d]]
    if not ends:
        return ()
    both = float(np.mean([prices[c] + prices[d] for c, d in ends]))
    n = int(pilot * money / both)
    if n < fewest:
        return ()
    n_things = min(len(ends), max(1, n // rows))
    some = rng.permutation(cells.n_examples)[: n // n_things]
    things = rng.permutation(len(ends))[:n_things].tolist()
    asked = [ends[i] for i in things]
    cheap = cells.get(some, [c for c, _ in asked])
    expensive = cells.get(some, [d for _, d in asked])
    counts: dict[int, Floats] = {}
    for j, i in enumerate(things):
        counts[i] = _counts(cells, ends[i], cheap[:, j], expensive[:, j])
    return tuple(_steps(cells, ends, counts, prices))


def _steps(
    cells: Cells, ends: Sequence[tuple[int, int]], counts: Mapping[int, Floats], prices: Floats
) -> Iterable[CascadeStep]:
    for i, (c, d) in enumerate(ends):
        k = _n_answers(cells, d)
        own = counts.get(i, np.zeros((k, k)))
        others = np.zeros((k, k))
        for j, found in counts.items():
            if len(found) == k and j != i:
                others += found
        if not (own + others).any():
            continue
        # pairs of all things that count beside a thing's own: 100 at most
        joint = own + others * min(1.0, 100.0 / max(others.sum(), 1.0))
        way = way_of(joint, float(prices[c]), float(prices[d]))
        if way is None:
            continue
        again, alone = way
        share = float(joint[list(again)].sum() / joint.sum())
        likely = tuple(float(v) for v in joint.argmax(axis=1))
        yield CascadeStep(c, d, tuple(map(float, again)), likely, share, alone)


def for_predictions(
    steps: Sequence[CascadeStep], features: Iterable[int], prices: Floats
) -> tuple[CascadeStep, ...]:
    """How a model asks, its features most useful first: those of the expensive one outright.

    As many as keep a row's price at a part of what the expensive ones alone cost. A model that was
    fitted to last answers reads the expensive one's as well: where these say yes they agree, and a
    no is truer.

    >>> steps = [CascadeStep(j, j + 9, (1.0,), (0.0, 0.0), 0.2) for j in range(9)]
    >>> order, prices = [11, 9, 10, *range(12, 18)], np.repeat([0.1, 1.0], 9)
    >>> [s.cheap for s in for_predictions(steps, order, prices) if s.alone]
    [2]
    """
    climbed = {s.expensive: s for s in steps if s.again}  # else the cheap one says as much
    asked = [f for f in features if f in climbed]
    on_the_way = {f: float(prices[climbed[f].cheap] + climbed[f].share * prices[f]) for f in asked}
    # a prediction may cost this part of what the expensive ones alone cost: the most useful things
    # are asked of the expensive one first. Chosen on rcv1s1_500, confirmed on medical
    left = 0.4 * float(prices[asked].sum()) - sum(on_the_way.values())
    outright: set[int] = set()
    for f in asked:
        left -= float(prices[f]) - on_the_way[f]
        if left < 0:
            break
        outright.add(f)
    return tuple(replace(s, alone=True) if s.expensive in outright else s for s in steps)


def _n_answers(cells: Cells, feature: int) -> int:
    """How many answers a feature has; 0 for numbers."""
    return 2 if cells.boolean[feature] else len(cells.categories.get(feature, ()))


def _counts(cells: Cells, ends: tuple[int, int], cheap: AnyArray, expensive: AnyArray) -> Floats:
    k = _n_answers(cells, ends[1])
    out = np.zeros((k, k))
    said = _as_expensive(cells, *ends, np.asarray(cheap, dtype=np.float64))
    there = ~(np.isnan(said) | np.isnan(np.asarray(expensive, dtype=np.float64)))
    np.add.at(out, (said[there].astype(int), np.asarray(expensive)[there].astype(int)), 1.0)
    return out


def _as_expensive(cells: Cells, cheap: int, expensive: int, values: Floats) -> Floats:
    """Cheap answers, numbered as the expensive feature's categories."""
    mine, theirs = cells.categories.get(cheap), cells.categories.get(expensive)
    if mine is None or theirs is None or mine == theirs:
        return values
    places = np.array([theirs.index(word) if word in theirs else np.nan for word in mine])
    out = np.full(values.shape, np.nan)
    there = ~np.isnan(values)
    out[there] = places[values[there].astype(int)]
    return out


def on_cascade(cells: Cells, steps: Sequence[CascadeStep]) -> Cells:
    """The same reader, where things are asked step by step; one whose cheap feature is not here is
    asked of the expensive one."""
    here = [s for s in steps if not cells.absent[[s.cheap, s.expensive]].any()]
    return CascadeCells(cells, here) if here else cells


def steps_from(data: Iterable[JsonLike]) -> tuple[CascadeStep, ...]:
    """The inverse of ``[step_to_dict(s) for s in steps]``, for models in stores."""
    steps = []
    for one in data:
        again, instead = (tuple(map(float, one[name])) for name in ("again", "instead"))
        cheap, expensive, share = int(one["cheap"]), int(one["dear"]), float(one["share"])
        steps.append(CascadeStep(cheap, expensive, again, instead, share, bool(one["alone"])))
    return tuple(steps)


def step_to_dict(step: CascadeStep) -> Json:
    """Plain data, for JSON; the key of the expensive feature is what stores know."""
    return {"dear" if k == "expensive" else k: v for k, v in asdict(step).items()}


class CascadeCells(Cells):
    """A reader at which the expensive feature of a thing gives the last answer that was asked for.

    The cheap one is no feature of its own any more: constant 0, free. Prices of the expensive one
    are what a row is expected to cost. Where money ends, what the expensive one would most likely
    say stands for its answer, so no purchase fails for an estimate.

    >>> import thrifty
    >>> X = np.array([[0, 0], [1, 0], [1, 1]], dtype=bool)
    >>> prices = thrifty.PriceList([1, 10], alternatives={"crp": ["x0", "x1"]})
    >>> step = CascadeStep(0, 1, (1.0,), (0.0, 0.0), 0.5)
    >>> cells = CascadeCells(Cells(X, prices), [step])
    >>> cells.get([0, 1, 2], [1])[:, 0].tolist(), cells.receipt().cost, cells.prices.tolist()
    ([False, False, True], 23.0, [0.0, 6.5])
    """

    def __init__(self, cells: Cells, steps: Sequence[CascadeStep]) -> None:
        # a row is taken to cost so many times what the first rows show: the expensive one is
        # asked more often where a label is rare, and the rows of a rare class are bought first
        more = 1.1
        self.__dict__.update(cells.__dict__)  # the same account, meter and bill
        self._plain = cells
        climbed = [s for s in steps if not s.alone]
        self._steps = climbed
        #: whether prices are what a row is expected to cost, and others are paid
        self.expected = any(s.again for s in climbed)
        self._cheap = np.array([s.cheap for s in climbed], dtype=np.int64)
        self._expensive = np.array([s.expensive for s in climbed], dtype=np.int64)
        self._at = {s.expensive: k for k, s in enumerate(climbed)}
        self._hidden = np.zeros(cells.n_features, dtype=np.bool_)
        self._hidden[[s.cheap for s in steps]] = True
        self._real = np.asarray(cells.prices, dtype=np.float64)
        self.prices = self._real.copy()
        for s in climbed:
            share = min(1.0, more * s.share)
            self.prices[s.expensive] = self._real[s.cheap] + share * self._real[s.expensive]
        self.prices[self._hidden] = 0.0
        shape = (len(climbed), cells.n_examples)
        self._done, self._owned = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        self._values = np.zeros(shape, dtype=np.float64)
        for k, s in enumerate(climbed):
            self._owned[k, cells.owned_rows([s.expensive])] = True

    @property
    def absent(self) -> NDArray[np.bool_]:
        """What the source lacks, and what is asked on the way to something else."""
        return np.asarray(self._plain.absent | self._hidden)

    @property
    def alternatives(self) -> tuple[tuple[int, ...], ...]:
        """None: it is decided how they are asked."""
        return ()

    # Values.

    def get(self, rows: ArrayLike, features: ArrayLike) -> AnyArray:
        """Values of rows x features; the expensive one of a thing is asked where that pays."""
        at = checked_indices(rows, self.n_examples, "row")
        which = self._which(features)
        up = np.array([self._at.get(f, -1) for f in which.tolist()], dtype=np.int64)
        plain = (up < 0) & ~self._hidden[which]
        out = np.zeros((len(at), len(which)))
        if plain.any():
            out[:, plain] = self._plain.get(at, which[plain])
        if (up >= 0).any():
            out[:, up >= 0] = self._climb(at, up[up >= 0])
        return out.astype(np.bool_) if bool(self.boolean[which].all()) else out

    def _climb(self, rows: Ints, steps: Ints) -> Floats:
        lacking = ~self._done[np.ix_(steps, rows)]
        if lacking.size and lacking.all():
            self._first(rows, steps)
        else:
            for j in np.flatnonzero(lacking.any(axis=1)):
                self._first(np.unique(rows[lacking[j]]), steps[[j]])
        return np.asarray(self._values[np.ix_(steps, rows)].T)

    def _first(self, rows: Ints, steps: Ints) -> None:
        """Ask the cheap, then the expensive ones after some answers, as far as the money goes."""
        left = self.allowance
        if left is not None:
            costs = np.cumsum(self._plain.row_costs(rows, self._cheap[steps]))
            n = int(np.searchsorted(costs, left + 1e-9, side="right"))
            for k in steps.tolist():
                self._values[k, rows[n:]] = np.nan
                self._guess(k, rows[n:])
            self._done[np.ix_(steps, rows[n:])] = True
            rows = rows[:n]
        owned = self._owned[np.ix_(steps, rows)]
        again = owned.copy()
        if not owned.all():
            found = np.asarray(self._plain.get(rows, self._cheap[steps]), dtype=np.float64)
            for j, k in enumerate(steps.tolist()):
                step = self._steps[k]
                said = _as_expensive(self._plain, step.cheap, step.expensive, found[:, j])
                again[j] |= np.isin(said, step.again) | np.isnan(said)
                self._values[k, rows] = said
        for k, some in self._within_means(rows, steps, again, owned):
            self._values[k, some] = self._plain.get(some, [self._expensive[k]])[:, 0]
        self._done[np.ix_(steps, rows)] = True

    def _within_means(
        self, rows: Ints, steps: Ints, again: Bools, owned: Bools
    ) -> Iterable[tuple[int, Ints]]:
        """Rows on which each expensive one is asked; without money the likeliest answer stands."""
        left = self.allowance
        for j, k in enumerate(steps.tolist()):
            some = rows[again[j]]
            price = float(self._real[self._expensive[k]])
            if left is not None and price > 0 and not owned[j][again[j]].all():
                n = min(len(some), int((left + 1e-9) / price))
                self._guess(k, some[n:])
                some = some[:n]
                left -= price * n
            if len(some):
                yield k, some

    def _guess(self, k: int, rows: Ints) -> None:
        said = np.nan_to_num(self._values[k, rows], nan=0.0).astype(int)
        self._values[k, rows] = np.array(self._steps[k].instead)[said]

    # What cells would cost.

    def _split(self, features: object) -> tuple[Ints, Ints]:
        """Features that are asked as they are, and the steps of the others."""
        which = np.unique(self._which(features))
        plain = [f for f in which.tolist() if f not in self._at and not self._hidden[f]]
        up = [self._at[f] for f in which.tolist() if f in self._at]
        return np.array(plain, dtype=np.int64), np.array(up, dtype=np.int64)

    def row_costs(self, rows: object, features: object) -> NDArray[np.float64]:
        """What these features are expected to cost on each row, given what is owned."""
        at = checked_indices(rows, self.n_examples, "row")
        plain, up = self._split(features)
        out = self._plain.row_costs(at, plain) if len(plain) else np.zeros(len(at))
        if len(up):
            ready = self._done[np.ix_(up, at)] | self._owned[np.ix_(up, at)]
            call = self.call_price
            out = (
                out
                + ~ready.T @ (self.prices[self._expensive[up]] - call)
                + call * ~ready.all(axis=0)
            )
        return np.asarray(out)

    def margins(self, rows: object, features: object) -> NDArray[np.float64]:
        """What each feature alone is expected to cost on each row: (rows, features)."""
        at = checked_indices(rows, self.n_examples, "row")
        which = self._which(features)
        out = np.zeros((len(at), len(which)))
        up = np.array([self._at.get(f, -1) for f in which.tolist()], dtype=np.int64)
        ready = self._done[np.ix_(up[up >= 0], at)] | self._owned[np.ix_(up[up >= 0], at)]
        out[:, up >= 0] = ~ready.T * self.prices[which[up >= 0]]
        plain = (up < 0) & ~self._hidden[which]
        if plain.any():
            out[:, plain] = self._plain.margins(at, which[plain])
        return out

    def price_between(self, owned: Sequence[int], wanted: Sequence[int]) -> float:
        """What an example that has some features is expected to pay for others."""
        plain, up = self._split(list(set(wanted) - set(owned)))
        had, _ = self._split(list(owned))
        price = self._plain.price_between(had.tolist(), plain.tolist()) if len(plain) else 0.0
        call = self.call_price
        climbed = float((self.prices[self._expensive[up]] - call).sum())
        return price + climbed + (call if len(up) and not len(plain) else 0.0)

    def prices_after(self, features: Sequence[int]) -> NDArray[np.float64]:
        """What each feature is expected to cost on an example that was asked some."""
        plain, up = self._split(list(features))
        found = self._plain.prices_after(plain.tolist())
        if found is self._plain.prices:
            return self.prices
        out = np.asarray(found, dtype=np.float64).copy()
        out[self._expensive], out[self._hidden] = self.prices[self._expensive], 0.0
        out[self._expensive[up]] = 0.0
        return out

    def owned_rows(self, features: object) -> NDArray[np.int64]:
        """Examples on which all of these features can be looked at for nothing."""
        plain, up = self._split(features)
        every: Ints = self._plain.owned_rows(plain) if len(plain) else np.arange(self.n_examples)
        ready = np.asarray((self._done[up] | self._owned[up]).all(axis=0))
        return np.asarray(every[ready[every]])

    def looked_at(self, row: int, feature: int) -> bool:
        """Whether a cell has gone through."""
        k = self._at.get(feature)
        return self._plain.looked_at(row, feature) if k is None else bool(self._done[k, row])

    def paid_on(self, row: int, features: Sequence[int]) -> list[float]:
        """What was paid for each of these cells of one row, on the way to them included."""
        wanted: list[int] = []
        for f in features:
            wanted += [f] if f not in self._at else [int(self._cheap[self._at[f]]), f]
        paid = iter(self._plain.paid_on(row, wanted))
        return [next(paid) if f not in self._at else next(paid) + next(paid) for f in features]
