"""What a lifetime gives: what was learned, predicted, answered, quoted, and what it cost."""

from thrifty.cells import Receipt, Reply
from thrifty.certified.certify import Certificate
from thrifty.lifetime import Answers, JointPrediction, Learned, Prediction, PredictionFiles, Quote

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
