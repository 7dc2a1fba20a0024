"""What a lifetime gives: what was learned, predicted, answered, quoted, and what it cost."""

from thrifty.cells import Receipt, Reply
from thrifty.certified.certify import Certificate
from thrifty.lifetime.answering import Answers
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.prediction import JointPrediction, Prediction
from thrifty.lifetime.prediction_parts import PredictionFiles
from thrifty.lifetime.quote import Quote

__all__ = [
    "Answers",
    "Certificate",
    "JointPrediction",
    "Learned",
    "Prediction",
    "PredictionFiles",
    "Quote",
    "Receipt",
    "Reply",
]
