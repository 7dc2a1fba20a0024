"""Any model, on the few cells it needs: what is bought, and what is fitted on it, apart."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.models.estimators import ModelClassifier, ModelRegressor
    from thrifty.models.family import Models
    from thrifty.models.memory import MemoryUpdate
    from thrifty.models.scorecard_classifier import ScorecardClassifier
    from thrifty.models.table import Table

__all__ = [
    "MemoryUpdate",
    "ModelClassifier",
    "ModelRegressor",
    "Models",
    "ScorecardClassifier",
    "Table",
]

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "family": ["Models"],
        "estimators": ["ModelClassifier", "ModelRegressor"],
        "scorecard_classifier": ["ScorecardClassifier"],
        "memory": ["MemoryUpdate"],
        "table": ["Table"],
    },
)
