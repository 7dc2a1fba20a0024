"""Any model, on the few cells it needs: what is bought, and what is fitted on it, apart."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.models.estimators.classifier import ModelClassifier
    from thrifty.models.estimators.regressor import ModelRegressor
    from thrifty.models.estimators.scorecard import ScorecardClassifier
    from thrifty.models.family import Models
    from thrifty.models.memory import MemoryUpdate
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
        "estimators.classifier": ["ModelClassifier"],
        "estimators.regressor": ["ModelRegressor"],
        "estimators.scorecard": ["ScorecardClassifier"],
        "memory": ["MemoryUpdate"],
        "table": ["Table"],
    },
)
