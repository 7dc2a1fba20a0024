"""Any model, on the few cells it needs: what is bought, and what is fitted on it, apart."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.models.family import Models
    from thrifty.models.held.classifier import ModelClassifier
    from thrifty.models.held.regressor import ModelRegressor
    from thrifty.models.held.scorecard import ScorecardClassifier
    from thrifty.models.memory import Lesson
    from thrifty.models.table import Table

__all__ = ["Lesson", "ModelClassifier", "ModelRegressor", "Models", "ScorecardClassifier", "Table"]

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "family": ["Models"],
        "held.classifier": ["ModelClassifier"],
        "held.regressor": ["ModelRegressor"],
        "held.scorecard": ["ScorecardClassifier"],
        "memory": ["Lesson"],
        "table": ["Table"],
    },
)
