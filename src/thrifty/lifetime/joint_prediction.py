"""Several tasks asked of the same rows: one pass for all of them, and one reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import BadInput, BadParameter
from thrifty.lazy import Asks
from thrifty.lifetime.prediction import JointPrediction, Prediction
from thrifty.models.asking.ask import ask_together, check_rule, enough_of, ladder_for
from thrifty.models.asking.ladder import Ladder
from thrifty.models.estimators import OnCells
from thrifty.stopping import StoppingRule, is_auto, rule_for_models
from thrifty.typing import Ints


def read_weights(names: Sequence[str], weights: Mapping[str, float] | None) -> list[float]:
    """What each task counts; 1 where nothing is said.

    >>> read_weights(["a", "b"], {"b": 3})
    [1.0, 3.0]
    """
    given = dict(weights or {})
    for name, weight in given.items():
        if name not in names:
            raise BadParameter(f"weights names {name!r}, which is not asked for: {list(names)}.")
        number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not number or not 0 < weight < np.inf:
            raise BadParameter(f"the weight of {name!r} must be above 0; got {weight!r}.")
    return [float(given.get(name, 1.0)) for name in names]


class TasksTogether:
    """Models of several tasks as one that asks: its features are those of all of them."""

    def __init__(
        self, models: Mapping[str, Asks], weights: Sequence[float], lacking: tuple[str, ...] = ()
    ) -> None:
        self.models, self.weights, self.lacking = dict(models), list(weights), lacking
        self.feature_names_ = max((m.feature_names_ for m in models.values()), key=len)
        for name, model in models.items():
            if model.feature_names_ != self.feature_names_[: len(model.feature_names_)]:
                raise BadInput(f"the features of {name!r} are not those of the other tasks.")
        self.features_: Ints = np.unique(np.concatenate([m.features_ for m in models.values()]))
        self.words_ = {
            name: said for m in models.values() for name, said in getattr(m, "words_", {}).items()
        }
        self._made: dict[object, Ladder] = {}

    def answer(
        self, cells: Cells, rows: Ints, stop: object, spend: float | None, per_row: float | None
    ) -> JointPrediction:
        """All tasks' answers through one reader; "auto": none asks further than it is worth."""
        models, auto = self.on_cells, is_auto(stop)
        rules = self.rules(None if auto else stop)
        if auto or (spend is per_row is None and all(rule is None for rule in rules)):
            askers = dict(self.models)
            if auto and len(models) == len(askers):
                askers = dict(zip(models, enough_of(list(models.values()), cells, self._made)))
            return self._in_turn(cells, rows, rules, askers)
        if len(models) == len(self.models):
            return self._jointly(cells, rows, rules, spend, per_row)
        if spend is per_row is None:
            return self._in_turn(cells, rows, rules, self.models)
        raise BadParameter(
            "several tasks share per_row= and spend= where all are models of thrifty.Models; leave "
            "them out, or predict the tasks one by one."
        )

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
        self,
        cells: Cells,
        rows: Ints,
        rules: Sequence[StoppingRule | None],
        askers: Mapping[str, Asks],
    ) -> JointPrediction:
        """One after the other through the same reader: what one has asked is there for the next."""
        parts, read = {}, {}
        for (name, model), rule in zip(self.models.items(), rules):
            asked, features = askers[name].ask(cells, rows, stop=rule), askers[name].features_
            read[name] = [
                np.array([f for f in features.tolist() if cells.looked_at(int(i), f)]) for i in rows
            ]
            parts[name] = Prediction(model, cells, asked)
        return JointPrediction(cells, parts, read, joint=False)

    def _jointly(
        self,
        cells: Cells,
        rows: Ints,
        rules: Sequence[StoppingRule | None],
        spend: float | None,
        per_row: float | None,
    ) -> JointPrediction:
        """Along one order, as far as some task needs it and money reaches."""
        models, ladder = list(self.on_cells.values()), self.ladder(cells)
        for model, rule in zip(models, rules):
            model.check_kinds(cells)
            check_rule(model, rule)
        answers, walk = ask_together(
            models, ladder, cells, rows, rules, spend, per_row, self.weights
        )
        parts, read = {}, {}
        for name, model, asked, task, at in zip(
            self.models, models, answers, ladder.tasks, walk.at
        ):
            steps = [np.array(part.features, dtype=np.int64) for part in task.parts]
            parts[name] = Prediction(model, cells, asked)
            read[name] = [steps[k] if k >= 0 else steps[0][:0] for k in at.tolist()]
        return JointPrediction(cells, parts, read, ladder.is_joint)

    @property
    def on_cells(self) -> dict[str, OnCells[Any]]:
        """The models that one order can serve."""
        return {name: model for name, model in self.models.items() if isinstance(model, OnCells)}

    def ladder(self, cells: Cells) -> Ladder:
        """Steps of all tasks at the prices of a reader; made once, or read from the store."""
        models = list(self.on_cells.values())
        if len(models) == 1:  # each row's own order has no common steps
            return ladder_for(models, cells, one_order=True)
        return ladder_for(models, cells, self.weights, self._made)
