"""What users hold: a lifetime learns, predicts, quotes and bills."""

from thrifty.lifetime.learned import Learned
from thrifty.lifetime.lifetime import Lifetime
from thrifty.lifetime.prediction import Prediction

__all__ = ["Learned", "Lifetime", "Prediction"]
