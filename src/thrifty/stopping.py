"""When to stop asking: sure enough, not worth its price, or out of money.

A rule is a frozen value whose method ``stops`` says for many rows at once who has been asked
enough. It sees the present class probabilities of each row, the class shares of the population,
what the next questions cost and what they are expected to gain; never a value. What else it needs,
and whether models and trees can stop by it, it says itself (:class:`StoppingRule`): a new rule is
one class, and no list of ours names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BadParameter
from thrifty.typing import AnyArray, Floats

__all__ = ["Stop", "StoppingRule", "Sure", "Worth", "is_auto"]


@runtime_checkable
class StoppingRule(Protocol):
    """A stopping rule: for every row, whether it has been asked enough.

    A rule derives from this class and has its own ``stops``; the rest has defaults. Attributes:
    ``reason``, how a prediction says that a row stopped by it; ``for_models``, whether models that
    ask in order take it from users; ``weighs_falls``, whether it has to be told prices and the fall
    of the loss that going on is expected to bring, in which case it has a ``loss`` and ``costs``.

    Parameters of ``stops``
    -----------------------
    p : (rows, classes), the present probabilities
    class_shares : (classes,), how common each class is among all rows
    price_next : (rows,) or (rows, further prefixes): what going on would cost
    fall_next : the same shape: the fall of the loss expected from going on, in the rule's own loss

    See Also
    --------
    thrifty.Sure, thrifty.Worth : rules that are there

    Examples
    --------
    >>> class Half(StoppingRule):
    ...     def stops(self, p, class_shares, price_next=0.0, fall_next=None):
    ...         return p.max(axis=1) >= 0.5
    >>> rule_for_models(Half()).reason
    'sure'
    """

    reason: ClassVar[str] = "sure"
    for_models: ClassVar[bool] = True
    weighs_falls: ClassVar[bool] = False

    def stops(
        self, p: Floats, class_shares: Floats, price_next: object = 0.0, fall_next: object = None
    ) -> NDArray[np.bool_]: ...

    @property
    def for_trees(self) -> float | None:
        """The probability, classes weighted equally, that ends a row; None: trees cannot."""
        return None

    @property
    def costs(self) -> Floats | None:
        """What errors cost, [true class, decision]; None: the loss is Brier's score."""
        return None

    def loss(self, p: Floats) -> Floats:
        """The loss expected where the probabilities are p."""
        return expected_loss(p, self.costs)

    def decide(self, p: Floats) -> NDArray[np.int64]:
        """The decision of each row: the cheapest one, or the likeliest class without costs."""
        costs = self.costs
        if costs is None:
            return np.asarray(p.argmax(axis=1), dtype=np.int64)
        return np.asarray((p @ costs).argmin(axis=1), dtype=np.int64)

    def check_classes(self, classes: AnyArray) -> None:
        """Refuse costs that are not those of these classes."""
        costs = self.costs
        if costs is not None and len(costs) != len(classes):
            raise BadParameter(
                f"errors must name a cost for each of the {len(classes)} classes "
                f"{classes.tolist()[:6]}; got {len(costs)}."
            )


#: what a prediction may be told: "auto", a rule, or None for everything
Stop: TypeAlias = StoppingRule | Literal["auto"] | None


def is_auto(stop: object) -> TypeGuard[Literal["auto"]]:
    """Whether a prediction is to find out itself how far to ask.

    >>> is_auto("auto"), is_auto(None)
    (True, False)
    """
    return isinstance(stop, str) and stop == "auto"


def rule_for_models(stop: object) -> StoppingRule | None:
    """What a user said, as a rule by which models stop."""
    if stop is None or (isinstance(stop, StoppingRule) and stop.for_models):
        return stop
    raise BadParameter(
        "models stop with thrifty.Sure(probability) or thrifty.Worth(...), with 'auto' where "
        f"nothing more is gained, and with None nowhere; got {stop!r}."
    )


def probability_for_trees(stop: object) -> float | None:
    """What a user said, as the probability at which trees stop; None: nothing was said."""
    found = stop.for_trees if isinstance(stop, StoppingRule) else None
    if stop is not None and found is None:
        raise BadParameter(
            f"trees stop with thrifty.Sure(probability), without a certificate; got {stop!r}."
        )
    return found


def equal_posterior(p: Floats, class_shares: Floats) -> Floats:
    """The posterior as if all classes were equally common.

    With a label that one row in a hundred has, the plain posterior is beyond .95 before the first
    cell; what the cells said is the ratio of posterior to share.

    >>> equal_posterior(np.array([[0.9, 0.1]]), np.array([0.9, 0.1])).tolist()
    [[0.5, 0.5]]
    """
    shares = np.maximum(np.asarray(class_shares, dtype=np.float64), 1e-12)
    ratio = np.asarray(p, dtype=np.float64) / shares
    return np.asarray(ratio / np.maximum(ratio.sum(axis=1, keepdims=True), 1e-300))


def expected_loss(p: Floats, errors: Floats | None = None) -> Floats:
    """Brier's score expected under p, or with ``errors`` the cost of the cheapest decision.

    >>> expected_loss(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [0.5, 0.0]
    >>> expected_loss(np.array([[0.9, 0.1]]), np.array([[0.0, 10.0], [200.0, 0.0]])).tolist()
    [9.0]
    """
    if errors is None:
        return np.asarray(1.0 - (p * p).sum(axis=1))
    return np.asarray((p @ errors).min(axis=1))


@dataclass(frozen=True)
class Sure(StoppingRule):
    """Of the rows that stop as sure and are answered with a class, at least p are of that class.

    A row stops once its likeliest class has the probability p, both as it is and with the classes
    weighted equally. The first makes the promise; the second keeps rare labels from stopping
    before anything was asked. Models stop it at less where held-out rows that stop there are right
    often enough.

    Parameters
    ----------
    probability : float
        p, above 0 and at most 1
    certified : bool
        whether the promise must hold by a finite-sample test on held-out rows, in nine
        of ten certificates; where it cannot, the prediction says so and buys nothing. For models
    give_up : bool
        whether a row stops, as "hopeless", when held-out rows like it hardly ever became sure; of
        its answer nothing is promised. False: it is asked everything. For models

    Raises
    ------
    thrifty.errors.BadParameter
        a probability outside (0, 1], or 1 with ``certified``

    See Also
    --------
    thrifty.Worth : stop by what errors cost
    thrifty.Lifetime.predict : where it is given

    Examples
    --------
    The second row is likely of the first class, but most rows are: nothing was learned of it yet.

    >>> Sure(0.95).stops(np.array([[0.999, 0.001], [0.96, 0.04]]), np.array([0.9, 0.1])).tolist()
    [True, False]
    """

    probability: float
    certified: bool = False
    give_up: bool = True

    @property
    def for_trees(self) -> float | None:
        return None if self.certified else self.probability

    def __post_init__(self) -> None:
        p = self.probability
        for name in ("certified", "give_up"):
            if not isinstance(getattr(self, name), bool):
                raise BadParameter(f"{name} must be True or False; got {getattr(self, name)!r}.")
        if self.certified and p == 1:
            raise BadParameter("no number of rows certifies a probability of 1; ask for less.")
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0 < p <= 1:
            raise BadParameter(f"Sure takes a probability above 0, at most 1; got {p!r}.")

    def stops(
        self, p: Floats, class_shares: Floats, price_next: object = 0.0, fall_next: object = None
    ) -> NDArray[np.bool_]:
        each, likely = np.arange(len(p)), p.argmax(axis=1)
        equal = equal_posterior(p, class_shares)[each, likely]
        return np.asarray(np.minimum(p[each, likely], equal) >= self.probability)


@dataclass(frozen=True)
class Settled(StoppingRule):
    """Stop once the entropy of the posterior, as it is, is at most ``entropy`` (in nats).

    The rule that spends a given sum best: with a rare label it stops those who do not have it and
    goes on asking whoever may, where :class:`Sure` treats both sides alike.

    >>> Settled(0.4).stops(np.array([[0.99, 0.01], [0.5, 0.5]]), np.ones(2)).tolist()
    [True, False]
    """

    for_models: ClassVar[bool] = False

    entropy: float

    def stops(
        self, p: Floats, class_shares: Floats, price_next: object = 0.0, fall_next: object = None
    ) -> NDArray[np.bool_]:
        return np.asarray(entropy(p) <= self.entropy)


def entropy(p: Floats) -> Floats:
    """Of each row, in nats."""
    return np.asarray(-(p * np.log(np.clip(p, 1e-12, 1.0))).sum(axis=1))


@dataclass(frozen=True)
class Worth(StoppingRule):
    """Stop once no further prefix is expected to lower the loss by ``rate`` per unit of its price.

    Parameters
    ----------
    rate : float or None
        the fall of the loss that one unit of money has to bring. Without ``errors`` the loss is
        Brier's score, and a rate must be given; with ``errors`` it is money, and 1 minimises tests
        plus errors
    errors : array-like or mapping
        what wrong decisions cost: a matrix, ``errors[true class][decision]``, or one cost per true
        class; in the unit of the prices

    Raises
    ------
    thrifty.errors.BadParameter
        neither a rate nor errors, or costs that are no square matrix

    See Also
    --------
    thrifty.Sure : stop when sure
    thrifty.Lifetime.predict : where it is given

    Examples
    --------
    A test for 5 that is expected to save 20 of errors is worth it, one that saves 3 is not:

    >>> rule = Worth(errors=[10, 200])
    >>> p = np.array([[0.8, 0.2], [0.8, 0.2]])
    >>> rule.stops(p, np.array([0.9, 0.1]), 5.0, np.array([20.0, 3.0])).tolist()
    [False, True]
    """

    reason: ClassVar[str] = "worth"
    weighs_falls: ClassVar[bool] = True

    rate: float | None = None
    errors: object = None

    def __post_init__(self) -> None:
        if self.rate is None and self.errors is None:
            raise BadParameter(
                "Worth needs a rate (the fall of Brier's score that one unit of money has to "
                "bring) or errors= (what wrong decisions cost); got neither."
            )
        rate = 1.0 if self.rate is None else self.rate
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not rate >= 0:
            raise BadParameter(f"Worth's rate must be a number, 0 or more; got {self.rate!r}.")
        object.__setattr__(self, "rate", float(rate))
        if self.errors is not None:
            found = read_errors(self.errors)
            object.__setattr__(self, "errors", tuple(map(tuple, found.tolist())))

    @property
    def costs(self) -> Floats | None:
        """The matrix of error costs, or None for Brier's score."""
        return None if self.errors is None else np.asarray(self.errors, dtype=np.float64)

    def stops(
        self, p: Floats, class_shares: Floats, price_next: object = 0.0, fall_next: object = None
    ) -> NDArray[np.bool_]:
        if fall_next is None:
            raise BadParameter(
                "Worth weighs a price against an expected fall of the loss; fall_next is missing."
            )
        assert self.rate is not None
        fall = np.asarray(fall_next, dtype=np.float64)
        ahead = fall - self.rate * np.asarray(price_next, dtype=np.float64)
        if ahead.ndim == 2:  # several prefixes ahead: the best of them counts
            ahead = ahead.max(axis=1) if ahead.shape[1] else np.full(len(p), -1.0)
        return np.asarray(np.broadcast_to(ahead <= 0, (len(p),)))


def read_errors(errors: object) -> Floats:
    """A matrix of error costs from a matrix or from one cost per true class.

    >>> read_errors([10, 200]).tolist()
    [[0.0, 10.0], [200.0, 0.0]]
    """
    try:
        given = np.asarray(errors, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim == 1 and len(given) >= 2:
        given = np.repeat(given[:, None], len(given), axis=1)
        np.fill_diagonal(given, 0.0)
    square = given.ndim == 2 and given.shape[0] == given.shape[1] >= 2
    if not square or not np.isfinite(given).all() or (given < 0).any():
        raise BadParameter(
            "errors must be one cost per true class or a square matrix errors[true][decision], "
            f"finite and not negative; got {errors!r}."
        )
    return given
