"""What every family must do, as checks that you run on yours.

``family_checks(family)`` generates named checks, as scikit-learn's ``check_estimator`` and River's
do: columns in any order, names, numpy integers, JSON there and back, a source equals an array,
ignored parameters refused, one class, one row, constant features, prices, receipts, traits, and
the protocol itself. Every family of Thrifty passes them all.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thrifty.attempt import Expected, Failed, Found, Traits
from thrifty.cells import Budget, Cells, Source
from thrifty.errors import BadParameter, ThriftyError
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.lifetime import Lifetime
from thrifty.protocol import AnyFamily, traits_of
from thrifty.typing import AnyArray, Json, LabelsLike, TableLike

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Check:
    """One check: call it; it raises AssertionError where the family falls short."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class _Subject:
    """The family and a table that it can learn."""

    family: AnyFamily
    X: AnyArray
    y: AnyArray
    names: tuple[str, ...]

    def life(self, **how: Any) -> Lifetime:
        # The order of rows is a secret unless it is said, and two lifetimes are to be compared.
        return Lifetime(self.family, **{"random_state": 0, "budget": Budget(10**9), **how})

    def learn(
        self, X: TableLike | None = None, y: LabelsLike | None = None, **how: object
    ) -> Learned:
        table = self.X.copy() if X is None else X
        return self.life(**how).learn("task", table, self.y if y is None else y)

    def frame(self, order: NDArray[np.int64] | None = None) -> pandas.DataFrame:
        """A source with names, its columns in another order."""
        order = np.arange(len(self.names)) if order is None else order
        names = [self.names[i] for i in order]
        return Source.from_array(self.X[:, order], feature_names=names)

    def paid(self, X: AnyArray) -> tuple[Source, set[tuple[int, str]]]:
        """A provider of these values, and the cells that it was asked for."""
        asked: set[tuple[int, str]] = set()
        column = {name: j for j, name in enumerate(self.names)}

        def provider(ids: Sequence[int], names: Sequence[str]) -> AnyArray:
            asked.update((i, name) for i in ids for name in names)
            return np.asarray(X[np.ix_(list(ids), [column[name] for name in names])])

        source = Source.from_callable(
            provider,
            examples=list(range(len(X))),
            features=self.names,
            name="checked",
            prices=1,
            boolean=X.dtype.kind != "f",
        )
        return source, asked

    def learned_or_refused(self, X: AnyArray, y: AnyArray) -> Learned | None:
        """A task that may be too little to learn: that is said before anything is bought."""
        source, asked = self.paid(X)
        try:
            return self.life().learn("task", source, y)
        except ThriftyError:
            assert not asked, "a task that cannot be learned is refused before money is spent"
            return None


def family_checks(
    family: AnyFamily, X: TableLike | None = None, y: LabelsLike | None = None
) -> Iterator[Check]:
    """Checks of a family, each with a name.

    Parameters
    ----------
    family : Family
        The family, with any parameters.
    X, y : array-like, optional
        A task that the family can learn. Without them: for classifiers Boolean features and the
        conjunction of two of them, for regressors positive numbers and the product of two.

    Raises
    ------
    thrifty.errors.BadInput
        X and y that the family refuses

    See Also
    --------
    thrifty.protocol.Family : what a family must have

    Examples
    --------
    >>> import thrifty
    >>> checks = list(family_checks(thrifty.Trees(max_depth=4)))
    >>> checks[0]
    it_learns
    >>> for check in checks:
    ...     check()
    """
    if X is None or y is None:
        X, y = _a_table(family)
    subject = _Subject(family, np.asarray(X), np.asarray(y), _names(np.asarray(X).shape[1]))
    for check in _CHECKS:
        yield Check(check.__name__.strip("_"), partial(check, subject))


def _names(n: int) -> tuple[str, ...]:
    return tuple(f"feature {chr(97 + i % 26)}{i}" for i in range(n))


def _a_table(family: AnyFamily) -> tuple[AnyArray, AnyArray]:
    rng = np.random.default_rng(7)
    if family.kind == "classifier":
        bits = rng.integers(0, 2, (240, 8)).astype(np.uint8)
        return bits, (bits[:, 2] & bits[:, 5]).astype(np.int64)
    X = rng.uniform(1, 2, (120, 8))
    return X, X[:, 2] * X[:, 5]


def _same(a: object, b: object) -> bool:
    one, other = np.asarray(a), np.asarray(b)
    if one.dtype.kind == "f":
        return bool(np.allclose(one, other, rtol=1e-6))
    return bool((one == other).all())


# The checks, in the order in which they are worth reading.


def _it_learns(s: _Subject) -> None:
    learned = s.learn()
    predicted = learned.model.predict(s.X)
    assert predicted.shape == s.y.shape, "predict must give one answer per example"
    if s.family.kind == "classifier":
        most_common = np.bincount(np.unique(s.y, return_inverse=True)[1]).max() / len(s.y)
        right = float((predicted == s.y).mean())
        assert right > most_common, "the model must be better than the most common class"
    else:
        assert np.isfinite(predicted).all(), "predictions must be finite"


def _the_protocol_is_kept(s: _Subject) -> None:
    cells, labels = Cells(s.X.copy()), s.family.read_labels(s.y)
    start = s.family.start()
    before = json.dumps(start.to_dict())
    expected = s.family.expected_cells(start, cells)
    assert isinstance(expected, Expected), "expected_cells must give an Expected"
    assert cells.receipt().cells == 0, "expected_cells must not buy"
    attempt = s.family.use_rep(start, cells, labels)
    assert isinstance(attempt, Found | Failed), "use_rep must give Found or Failed"
    found = attempt if isinstance(attempt, Found) else s.family.from_scratch(cells, labels, attempt)
    assert isinstance(found, Found), "from_scratch must give Found"
    after = s.family.improve_rep(start, found)
    assert json.dumps(start.to_dict()) == before, "a representation is an immutable value"
    assert len(after) >= 0 and list(after) is not None
    again = s.family.use_rep(after, Cells(s.X.copy()), labels)
    assert isinstance(again, Found), "what a task taught must be enough for the same task"


def _columns_in_any_order(s: _Subject) -> None:
    order = np.random.default_rng(3).permutation(len(s.names))
    life = s.life()
    life.learn("task", s.frame(), s.y)
    straight, turned = (life.predict("task", s.frame(o)).values for o in (None, order))
    assert _same(straight, turned), "columns are found by their names, in any order"
    life.learn("turned", s.frame(order), s.y)
    assert _same(life.predict("turned", s.frame()).values, straight), (
        "a task whose columns come in another order is the same task"
    )


def _names_are_kept(s: _Subject) -> None:
    model = s.learn(s.frame()).model
    assert tuple(model.feature_names_) == s.names, "feature_names_ holds the names"
    assert model.n_features_in_ == len(s.names)


def _numpy_integers(s: _Subject) -> None:
    given = _parameters(s.family)
    whole = {k: v for k, v in given.items() if isinstance(v, int) and not isinstance(v, bool)}
    made: Any = type(s.family)
    twin = made(**{**given, **{k: np.int64(v) for k, v in whole.items()}})
    assert json.dumps(twin.to_dict()) == json.dumps(s.family.to_dict()), (
        "a numpy integer is an integer"
    )


def _json_there_and_back(s: _Subject) -> None:
    life = s.life()
    learned = life.learn("task", s.X.copy(), s.y)
    assert json.loads(json.dumps(s.family.to_dict())) == s.family.to_dict()
    model: Any = s.family.load_estimator(json.loads(json.dumps(learned.model.to_dict())))
    assert _same(model.predict(s.X), learned.model.predict(s.X)), "a model goes through JSON"
    data = json.dumps(life.representation.to_dict())
    known = s.family.load_representation(json.loads(data))
    assert json.dumps(known.to_dict()) == data, "a representation goes through JSON"


def _a_source_equals_an_array(s: _Subject) -> None:
    array, source = s.learn(), s.learn(Source.from_array(s.X.copy()))
    assert array.receipt == source.receipt, "the same cells, whatever they come from"
    assert _same(array.model.predict(s.X), source.model.predict(s.X))


def _ignored_parameters_are_refused(s: _Subject) -> None:
    made: Any = type(s.family)
    for what in (s.family, getattr(s.family, "learner", s.family)):
        made = type(what)
        try:
            made(**{**_parameters(what), "no_such_parameter": 1})
        except TypeError:
            continue
        raise AssertionError(f"{made.__name__} must refuse a parameter that it does not use")


def _one_class(s: _Subject) -> None:
    value = s.y[:1] if s.family.kind == "classifier" else np.ones(1)
    learned = s.learned_or_refused(s.X, np.repeat(value, len(s.y)))
    if learned is not None:
        assert _same(learned.model.predict(s.X), np.repeat(value, len(s.y)))


def _one_row(s: _Subject) -> None:
    learned = s.learned_or_refused(s.X[:1], s.y[:1])
    if learned is not None:
        assert learned.model.predict(s.X[:1]).shape == (1,)


def _constant_features(s: _Subject) -> None:
    flat = np.ones((len(s.X), 1), dtype=s.X.dtype)
    wide = np.concatenate([flat, s.X, flat], axis=1)
    assert _same(s.learn(wide).model.predict(wide), s.learn().model.predict(s.X)), (
        "constant features change nothing"
    )


def _prices(s: _Subject) -> None:
    free, expensive = s.learn(), s.learn(prices=[2.5] * s.X.shape[1])
    assert free.receipt.cost == free.receipt.cells, "without prices a cell costs 1"
    assert abs(expensive.receipt.cost - 2.5 * expensive.receipt.cells) < 1e-6 * max(
        1, expensive.receipt.cells
    )


def _receipts(s: _Subject) -> None:
    source, asked = s.paid(s.X)
    life = s.life()
    receipt = life.learn("first", source, s.y).receipt
    assert receipt.cells == len(asked) <= s.X.size, "the receipt is what the provider was asked"
    assert receipt.max_cells_per_example <= s.X.shape[1]
    before = len(asked)
    again = life.learn("second", source, s.y).receipt
    assert again.cells == len(asked) - before, "a cell is paid for once"


def _traits_are_declared(s: _Subject) -> None:
    try:
        said = traits_of(s.family)
    except BadParameter as error:
        raise AssertionError(str(error)) from error
    for trait in fields(Traits):
        value, kind = getattr(said, trait.name), str if trait.name == "remembers" else bool
        assert isinstance(value, kind), f"traits.{trait.name} must be a {kind.__name__}: {value!r}"
        assert not hasattr(s.family, trait.name), (
            f"{trait.name} is read from traits: say it there, and nowhere else"
        )
    # what a trait promises is there, and what is there is promised
    for trait_name, members in _MEMBERS.items():
        for member in members:
            assert getattr(said, trait_name) == hasattr(s.family, member), (
                f"traits.{trait_name} is {getattr(said, trait_name)}, and the family "
                f"{'has' if hasattr(s.family, member) else 'lacks'} {member}"
            )


def _spend_is_kept_or_refused(s: _Subject) -> None:
    life, most = s.life(), s.X.size // 2
    if traits_of(s.family).stops_anywhere:
        cells = life.learn("task", s.X.copy(), s.y, spend=most).receipt.cells
        assert cells <= most, "traits.stops_anywhere: spend= is the most that a task may cost"
        return
    try:
        life.learn("task", s.X.copy(), s.y, spend=most)
    except BadParameter:
        return
    raise AssertionError("traits.stops_anywhere is False: spend= must be refused")


#: what a family has where it says so
_MEMBERS = {"draws": ("random_state",), "buys_background": ("buy_background", "with_background")}


def _parameters(what: object) -> Json:
    """The parameters that a value was made with, where it keeps them under their names."""
    names = inspect.signature(type(what)).parameters.values()
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    held = vars(what) if hasattr(what, "__dict__") else {}
    return {p.name: held[p.name] for p in names if p.kind not in kinds and p.name in held}


_CHECKS: tuple[Callable[[_Subject], None], ...] = (
    _it_learns, _the_protocol_is_kept, _columns_in_any_order, _names_are_kept, _numpy_integers,
    _json_there_and_back, _a_source_equals_an_array, _ignored_parameters_are_refused, _one_class,
    _one_row, _constant_features, _prices, _receipts, _traits_are_declared,
    _spend_is_kept_or_refused,
)  # fmt: skip
