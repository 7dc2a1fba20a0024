"""Every error Thrifty raises, under one root.

    ThriftyError
    ├── BadInput (ValueError)            the data cannot be used as given
    │   ├── BadParameter                 a parameter is outside its range
    │   ├── ContradictoryLabels          identical rows carry different labels
    │   ├── FeaturesChanged              a task brings other features than the lifetime's
    │   └── NotEnoughExamples            fewer rows than the method needs
    ├── TaskExists (ValueError)          the name is taken
    └── UnknownTask (KeyError)           no task of that name

A message says what was expected, what came, and what to do next.
"""

from __future__ import annotations

__all__ = [
    "BadInput",
    "BadParameter",
    "ContradictoryLabels",
    "FeaturesChanged",
    "NotEnoughExamples",
    "TaskExists",
    "ThriftyError",
    "UnknownTask",
]


class ThriftyError(Exception):
    """The root: catch it to catch everything Thrifty raises on purpose."""


class BadInput(ThriftyError, ValueError):
    """The data cannot be used as given."""


class BadParameter(BadInput):
    """A parameter is outside its range."""


class ContradictoryLabels(BadInput):
    """Identical rows carry different labels, so no tree can be consistent with them."""


class FeaturesChanged(BadInput):
    """A task brings another number of features, or other names, than the lifetime holds."""


class NotEnoughExamples(BadInput):
    """Fewer rows than the method needs to keep its promise."""


class TaskExists(ThriftyError, ValueError):
    """A task of that name was learned before."""


class UnknownTask(ThriftyError, KeyError):
    """No task of that name."""

    def __str__(self) -> str:
        # KeyError prints the repr of its argument; a sentence should read as one.
        return str(self.args[0]) if self.args else ""
