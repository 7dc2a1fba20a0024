"""What a lifetime gives: what was learned, predicted, answered, quoted, and what it cost."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.cells import Receipt, Reply
    from thrifty.certified.certify import Certificate
    from thrifty.lifetime import (
        Answers,
        JointPrediction,
        Learned,
        Prediction,
        PredictionFiles,
        Quote,
    )

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

__getattr__, __dir__ = on_demand(
    "thrifty",
    {
        "cells": ["Receipt", "Reply"],
        "certified.certify": ["Certificate"],
        "lifetime": [
            "Answers",
            "JointPrediction",
            "Learned",
            "Prediction",
            "PredictionFiles",
            "Quote",
        ],
    },
    holder=__name__,
)
