"""What users hold: a lifetime learns, predicts, quotes and bills."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.lifetime.answering import Answers
    from thrifty.lifetime.learned import Learned
    from thrifty.lifetime.lifetime import Lifetime
    from thrifty.lifetime.prediction import JointPrediction, Prediction
    from thrifty.lifetime.prediction_parts import PredictionFiles
    from thrifty.lifetime.quote import Quote

__all__ = [
    "Answers",
    "JointPrediction",
    "Learned",
    "Lifetime",
    "Prediction",
    "PredictionFiles",
    "Quote",
]

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "answering": ["Answers"],
        "learned": ["Learned"],
        "lifetime": ["Lifetime"],
        "prediction": ["JointPrediction", "Prediction"],
        "prediction_parts": ["PredictionFiles"],
        "quote": ["Quote"],
    },
)
