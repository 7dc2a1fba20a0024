"""Any model, on the few cells it needs: what is bought, and what is fitted on it, apart."""

from thrifty.models.buying.policy import Bought, Policy
from thrifty.models.family import Models
from thrifty.models.held.classifier import ModelClassifier
from thrifty.models.held.regressor import ModelRegressor
from thrifty.models.held.scorecard import ScorecardClassifier
from thrifty.models.memory.memory import Lesson
from thrifty.models.table import Table

__all__ = [
    "Bought", "Lesson", "ModelClassifier", "ModelRegressor", "Models", "Policy",
    "ScorecardClassifier", "Table",
]  # fmt: skip
