"""Algorithms 2 and 3 of the paper, line by line."""
