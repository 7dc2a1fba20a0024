"""What users hold: a lifetime learns, predicts, quotes and bills."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.lifetime.answering import Answers
    from thrifty.lifetime.joint_prediction import JointPrediction
    from thrifty.lifetime.learned import Learned
    from thrifty.lifetime.lifetime import Lifetime
    from thrifty.lifetime.parts import PredictionFiles
    from thrifty.lifetime.prediction import Prediction
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
        "joint_prediction": ["JointPrediction"],
        "learned": ["Learned"],
        "lifetime": ["Lifetime"],
        "parts": ["PredictionFiles"],
        "prediction": ["Prediction"],
        "quote": ["Quote"],
    },
)
