"""Purses: rows in order, what was bought of them, what is left to spend."""
