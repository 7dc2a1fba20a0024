"""What ``life.predict([names], X)`` gives: answers of several tasks from one walk, and one bill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.cells.ledger.receipt import PredictionReceipt
from thrifty.errors import BadInput, BadParameter, UnknownTask
from thrifty.lazy import Asked, Asks, Explanation, Step, explain_cells
from thrifty.lazy.stopping import StoppingRule, Sure, rule_for_models
from thrifty.lifetime.prediction import (
    Prediction,
    frame_of_answers,
    prediction_receipt,
    probability_columns,
)
from thrifty.models import ModelClassifier
from thrifty.models.asking.ask import prefixes_of
from thrifty.models.asking.certificate import seen_of
from thrifty.models.asking.joint import JointPrefixes, ask_jointly, joint_prefixes
from thrifty.models.asking.prefixes import Prefixes
from thrifty.models.asking.stored import joint_fingerprint, joint_from_dict, joint_to_dict

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["JointExplanation", "JointPrediction", "JointStep", "TasksTogether"]


@dataclass(frozen=True, slots=True)
class JointStep:
    """A cell that was asked, what it cost, and the tasks that read it."""

    step: Step
    served: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.step} (for {', '.join(self.served) or 'nobody'})"


@dataclass(frozen=True, slots=True)
class JointExplanation:
    """The cells of one example, what they cost, whom each served, and the answers."""

    example: int
    steps: tuple[JointStep, ...]
    answers: Mapping[str, object]
    cost: float

    def __str__(self) -> str:
        said = ", ".join(f"{name} {answer}" for name, answer in self.answers.items())
        head = f"example {self.example}: {said}; {len(self.steps)} cells, cost {self.cost:g}"
        return "\n".join([head, *(f"  {step}" for step in self.steps)])


class JointPrediction(Mapping[str, Prediction]):
    """The answers of several tasks to the same examples.

    A mapping of task to :class:`thrifty.results.Prediction`; all of them have one receipt.

    Attributes
    ----------
    receipt : PredictionReceipt
        what was bought for all tasks together
    joint : bool
        whether every task reads every cell along one order; False: each its own cells, in turn

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> for name, y in {"both": [0, 0, 0, 1], "first": [0, 0, 1, 1]}.items():
    ...     _ = life.learn(name, X, y)
    >>> answers = life.predict(["both", "first"], np.array([[1, 1], [0, 1]]))
    >>> answers["both"].values.tolist(), answers["first"].values.tolist(), answers.receipt.cells
    ([1, 0], [1, 0], 3)
    >>> print(answers.explain(0))
    example 0: both 1, first 1; 2 cells, cost 2
      x0 = 1, paid 1 (for both, first)
      x1 = 1, paid 1 (for both)
    """

    def __init__(
        self,
        cells: Cells,
        parts: Mapping[str, Prediction],
        read: Mapping[str, Sequence[Ints]],
        joint: bool,
    ) -> None:
        self._cells, self._parts, self._read, self.joint = cells, dict(parts), read, joint
        self.receipt: PredictionReceipt = prediction_receipt(cells)

    def __getitem__(self, name: str) -> Prediction:
        try:
            return self._parts[name]
        except KeyError:
            known = ", ".join(map(repr, self._parts))
            raise UnknownTask(f"no answers for {name!r}; asked were {known}.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        receipt = self.receipt
        cost = f"{receipt.cost:g} {receipt.currency}".rstrip()
        return (
            f"JointPrediction({', '.join(self)}: {receipt.n_examples} rows, {receipt.cells} cells "
            f"bought for {cost})"
        )

    @overload
    def to_frame(self) -> pandas.DataFrame: ...

    @overload
    def to_frame(self, kind: Literal["pandas"]) -> pandas.DataFrame: ...

    @overload
    def to_frame(self, kind: Literal["polars"]) -> polars.DataFrame: ...

    def to_frame(
        self, kind: Literal["pandas", "polars"] = "pandas"
    ) -> pandas.DataFrame | polars.DataFrame:
        """A frame, a row each: id, each task's answer and probabilities, cells and cost of all."""
        answers: dict[str, object] = {}
        for name, part in self.items():
            answers[name] = part.values
            answers.update(probability_columns(part, f"{name}: "))
        return frame_of_answers(answers, self._cells, self.receipt, kind)

    def explain(self, example: int) -> JointExplanation:
        """What one row was asked, what each cell cost, and which tasks read it."""
        n = self.receipt.n_examples
        if not 0 <= example < n:
            raise BadInput(f"example must lie in 0..{n - 1}; got {example!r}.")
        asked = list(dict.fromkeys(f for read in self._read.values() for f in read[example]))
        asked = [int(f) for f in asked if self._cells.looked_at(example, int(f))]
        told: Explanation = explain_cells(self._cells, example, asked, None)
        steps = tuple(
            JointStep(step, tuple(name for name, read in self._read.items() if f in read[example]))
            for f, step in zip(asked, told.steps)
        )
        answers = {name: part.values[example] for name, part in self.items()}
        return JointExplanation(example, steps, answers, told.cost)


class TasksTogether:
    """Models of several tasks as one that asks: its features are those of all of them."""

    def __init__(self, models: Mapping[str, Asks], weights: Mapping[str, float]) -> None:
        self.models, self.weights = dict(models), [weights[name] for name in models]
        self.feature_names_ = max((m.feature_names_ for m in models.values()), key=len)
        for name, model in models.items():
            if model.feature_names_ != self.feature_names_[: len(model.feature_names_)]:
                raise BadInput(f"the features of {name!r} are not those of the other tasks.")
        self.features_: Ints = np.unique(np.concatenate([m.features_ for m in models.values()]))
        self.words_ = {
            name: said for m in models.values() for name, said in getattr(m, "words_", {}).items()
        }
        self._made: dict[object, JointPrefixes] = {}

    def answer(
        self, cells: Cells, rows: Ints, stop: object, spend: float | None, per_row: float | None
    ) -> JointPrediction:
        """All tasks' answers through one door."""
        rules = self.rules(stop)
        limited = spend is not None or per_row is not None
        if not limited and all(rule is None for rule in rules):
            return self._in_turn(cells, rows, rules)
        models = [m for m in self.models.values() if isinstance(m, ModelClassifier)]
        if len(models) < len(self.models):
            if limited:
                raise BadParameter(
                    "several tasks share per_row= and spend= where all are models of classes "
                    "(thrifty.Models); leave them out, or predict the tasks one by one."
                )
            return self._in_turn(cells, rows, rules)
        return self._jointly(models, cells, rows, rules, spend, per_row)

    def rules(self, stop: object) -> list[StoppingRule | None]:
        """The rule of each task: one for all, or by name."""
        given = stop if isinstance(stop, Mapping) else dict.fromkeys(self.models, stop)
        for name in given:
            if name not in self.models:
                raise BadParameter(f"stop names {name!r}, which is not asked for.")
        rules = [rule_for_models(given.get(name)) for name in self.models]
        for rule in rules:
            if rule is not None and (rule.weighs_falls or getattr(rule, "certified", False)):
                raise BadParameter(
                    f"several tasks at once stop with thrifty.Sure(probability); got {rule!r}."
                )
        return rules

    def _in_turn(
        self, cells: Cells, rows: Ints, rules: Sequence[StoppingRule | None]
    ) -> JointPrediction:
        """One after the other through the same door: what one has asked is there for the next."""
        parts, read = {}, {}
        for (name, model), rule in zip(self.models.items(), rules):
            asked = model.ask(cells, rows, stop=rule)
            features = model.features_
            read[name] = [
                np.array([f for f in features.tolist() if cells.looked_at(int(i), f)]) for i in rows
            ]
            parts[name] = Prediction(model, cells, asked)
        return JointPrediction(cells, parts, read, joint=False)

    def _jointly(
        self,
        models: Sequence[ModelClassifier],
        cells: Cells,
        rows: Ints,
        rules: Sequence[StoppingRule | None],
        spend: float | None,
        per_row: float | None,
    ) -> JointPrediction:
        for model in models:
            model.check_kinds(cells)
        joint = self.joint(cells)

        def get(some: Ints, features: Ints) -> Floats:
            return np.asarray(cells.get(rows[some], features), dtype=np.float64)

        def price(some: Ints, features: Sequence[int]) -> Floats:
            return cells.row_costs(rows[some], list(features))

        got = ask_jointly(
            joint,
            get,
            price,
            len(rows),
            stops=rules,
            weights=self.weights,
            spend=spend,
            per_row=per_row,
        )
        parts, read = {}, {}
        for t, (name, model) in enumerate(zip(self.models, models)):
            task = joint.tasks[t]
            p = np.zeros((len(rows), len(model.classes_)))
            p[:, np.asarray(task.classes, dtype=np.int64)] = got.p[t]
            values = model.classes_[p.argmax(axis=1)]
            asked = Asked(values, p, tuple(got.why[t].tolist()), _promise(task, rules[t]))
            parts[name] = Prediction(model, cells, asked)
            steps = [np.array(part.features, dtype=np.int64) for part in task.parts]
            none = np.zeros(0, dtype=np.int64)
            read[name] = [steps[k] if k >= 0 else none for k in got.at[t].tolist()]
        return JointPrediction(cells, parts, read, joint.is_joint)

    def joint(self, cells: Cells) -> JointPrefixes:
        """Steps of all tasks at the prices of a door; made once. For models of classes."""
        models = [model for model in self.models.values() if isinstance(model, ModelClassifier)]
        key = (tuple(cells.prices[self.features_].tolist()), cells.fees, cells.orders)
        if key not in self._made:
            if len(models) == 1:  # its own order is the joint one
                own = prefixes_of(models[0], cells)
                steps = tuple(part.features for part in own.parts)
                self._made[key] = JointPrefixes(steps, (own,), True)
            else:
                self._made[key] = self._kept_or_made(models, cells, key)
        return self._made[key]

    def _kept_or_made(
        self, models: Sequence[ModelClassifier], cells: Cells, key: object
    ) -> JointPrefixes:
        """From the store, where they were made before; else made, and kept there."""
        tables, estimators = [m.table_ for m in models], [m.estimator for m in models]
        keeper = models[0]._keeper
        name = joint_fingerprint(tables, self.weights, key, estimators)
        data = None if keeper is None else keeper.get(name)
        if data is not None:
            return joint_from_dict(data)
        made = joint_prefixes(
            tables,
            lambda: [prefixes_of(model, cells) for model in models],
            self.weights,
            cells.price_between,
            cells.orders,
            estimators,
            models[0].random_state or 0,
        )
        kept = joint_to_dict(made)
        if keeper is not None and kept is not None:
            keeper.put(name, kept)
        return made


def _promise(task: Prefixes, rule: StoppingRule | None) -> str:
    return seen_of(task, rule) if isinstance(rule, Sure) else ""
