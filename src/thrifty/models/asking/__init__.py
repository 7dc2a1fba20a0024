"""Predictions that ask in order: the order, a model for each prefix, when to stop."""
