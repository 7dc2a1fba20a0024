"""Every error Thrifty raises, under one root.

    ThriftyError
    ├── BadInput (ValueError)            the data cannot be used as given
    │   ├── BadParameter                 a parameter is outside its range
    │   ├── ContradictoryLabels          identical rows carry different labels
    │   ├── DamagedFile                  a packed file is truncated, altered or of another version
    │   ├── FeaturesChanged              a task brings other features than the lifetime's
    │   ├── MixedCurrencies              prices or budgets in more than one currency
    │   ├── LimitNeeded                  cells cost money, and nobody said how much may be spent
    │   ├── NotEnoughExamples            fewer rows than the method needs
    │   └── NotInFamily                  no model of the family, within its limits, fits the labels
    ├── BudgetExceeded                   a purchase would cost more than is left
    ├── ClockWentBack                    values expire, and the clock is behind the store's
    ├── ProviderError                    a provider did not give what was bought
    │   ├── ChangedValue                 another value came for a cell that is known
    │   ├── CostAboveReservation         a call was billed at more than was reserved for it
    │   ├── MalformedAnswer              an answer that cannot be taken for values
    │   ├── NotBilled                    raised by a provider: refused, nothing was billed
    │   ├── PurchaseFailed               raised by a provider: it tried, failed, and bills its fee
    │   └── PurchaseInDoubt              nobody knows whether it was billed
    ├── StoreError                       the store cannot be used
    │   ├── LifetimeExists               another lifetime of that name is in the store
    │   ├── NotAStore                    the file or database was not made by Thrifty
    │   ├── StoreBusy                    other processes held the store for too long
    │   ├── StoreTooNew                  written by a newer version of Thrifty
    │   └── StoreUnwritable              read-only, full, or failing disk
    ├── TaskExists (ValueError)          the name is taken
    ├── UnknownFeature (KeyError)        no feature of that name
    └── UnknownTask (KeyError)           no task of that name

A message says what was expected, what came, and what to do next. Some warnings (UserWarning) are no
errors: ``LabelLeftOut``, a column that is a label was not used as a feature; ``ExamplePurged``,
values that were taken out of the store on purpose are bought again; ``TakenForGap``, words among
numbers were read as gaps; ``RowsLeftOut``, rows without a label were left out; ``LabelLeakage``, a
feature alone tells the label; ``LooksMisspelt``, a price's feature is nearly one of X, or a class
is spelt in several ways; ``Censored``, values such as "<5" were read as their limit;
``ColumnsChanged``, X lacks columns of a model, or has new ones; ``DefaultShare``, nobody said how
much to read, and a tenth was; ``EverythingIsBought``, ``stop=None`` reads all that a model has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "BadInput",
    "BadParameter",
    "BudgetExceeded",
    "Censored",
    "ChangedValue",
    "ClockWentBack",
    "ColumnsChanged",
    "ContradictoryLabels",
    "CostAboveReservation",
    "DamagedFile",
    "DefaultShare",
    "EverythingIsBought",
    "ExamplePurged",
    "FeaturesChanged",
    "LabelLeakage",
    "LabelLeftOut",
    "LifetimeExists",
    "LimitNeeded",
    "LooksMisspelt",
    "MalformedAnswer",
    "MixedCurrencies",
    "NotAStore",
    "NotBilled",
    "NotEnoughExamples",
    "NotInFamily",
    "ProviderError",
    "PurchaseFailed",
    "PurchaseInDoubt",
    "RowsLeftOut",
    "StoreBusy",
    "StoreError",
    "StoreTooNew",
    "StoreUnwritable",
    "TakenForGap",
    "TaskExists",
    "ThriftyError",
    "UnknownFeature",
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


class DamagedFile(BadInput):
    """A packed file is truncated, altered, or of another version of the format."""


class FeaturesChanged(BadInput):
    """A task brings another number of features, or other names, than the lifetime holds."""


class LimitNeeded(BadInput):
    """Cells cost money, and nobody said how much of it may be spent; nothing was bought.

    ``quote`` holds what the task would cost, a :class:`thrifty.lifetime.quote.Quote`.
    """

    def __init__(self, message: str, quote: Any = None) -> None:
        super().__init__(message)
        self.quote = quote


class NotEnoughExamples(BadInput):
    """Fewer rows than the method needs to keep its promise.

    ``failure``, where given, holds the reason as one word and the numbers behind it.
    """

    def __init__(self, message: str, failure: object = None) -> None:
        super().__init__(message)
        self.failure = failure


class NotInFamily(BadInput):
    """No model of the family, within its limits, fits the labels.

    ``failure``, where given, holds the reason as one word and the numbers behind it.
    """

    def __init__(self, message: str, failure: object = None) -> None:
        super().__init__(message)
        self.failure = failure


class MixedCurrencies(BadInput):
    """Prices or budgets in more than one currency; Thrifty does not convert money."""


class BudgetExceeded(ThriftyError):
    """A purchase would cost more than is left; what was bought before is kept.

    ``needed`` and ``left`` are amounts in the currency of the price list; ``scope`` says which
    limit it was: ``"total"``, ``"task"`` or ``"example"``. ``prediction`` holds the rows that were
    answered, where ``life.predict`` ran out of money; elsewhere it is None.
    """

    def __init__(
        self,
        message: str,
        *,
        needed: float = 0.0,
        left: float = 0.0,
        scope: str = "total",
        prediction: Any = None,
    ) -> None:
        super().__init__(message)
        self.needed, self.left, self.scope = needed, left, scope
        self.prediction = prediction


class ClockWentBack(ThriftyError):
    """Values of a source expire, and the clock of this machine is behind the store's purchases."""


class ProviderError(ThriftyError):
    """A provider did not give what was bought.

    ``purchases`` are the numbers of the purchases concerned, as ``thrifty resolve`` lists them.
    """

    def __init__(self, message: str = "", *, purchases: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.purchases = purchases


class ChangedValue(ProviderError):
    """Another value came for a cell that is known and still valid.

    ``cells`` names them: (example, feature, the value that is known, the one that came).
    """

    def __init__(
        self,
        message: str = "",
        *,
        purchases: tuple[int, ...] = (),
        cells: tuple[tuple[str, str, float, float], ...] = (),
    ) -> None:
        super().__init__(message, purchases=purchases)
        self.cells = cells

    @staticmethod
    def also(cells: Sequence[tuple[str, str, float, float]], named: int = 5) -> str:
        """The cells after the first, for a sentence about it.

        >>> ChangedValue.also([("p1", "a", 0.0, 1.0), ("p2", "a", 1.0, 0.0)])
        "; also a of 'p2'"
        """
        others = ", ".join(f"{feature} of {example!r}" for example, feature, *_ in cells[1:named])
        more = f" and {len(cells) - named} more" if len(cells) > named else ""
        return (f"; also {others}" if others else "") + more


class CostAboveReservation(ProviderError):
    """A call was billed at more than was reserved for it; its values are kept and usable."""


class MalformedAnswer(ProviderError):
    """An answer that cannot be taken for values; it is kept and counted as spent, never used."""


class NotBilled(ProviderError):
    """Raise this in a provider function when nothing was billed: it is then safe to try again."""


class PurchaseFailed(ProviderError):
    """Raise this in a provider function when it tried and failed, and bills the price of that."""


class PurchaseInDoubt(ProviderError):
    """A purchase was begun and nobody knows how it ended; its money stays reserved."""


class LabelLeftOut(UserWarning):
    """A column of X is a label, or was one of the same source, and was not used as a feature."""


class ExamplePurged(UserWarning):
    """The values of an example were taken out of the store on purpose; they cost again."""


class TakenForGap(UserWarning):
    """A column holds numbers but for one or two words, which were read as gaps."""


class RowsLeftOut(UserWarning):
    """Rows without a label were left out; nothing was bought on them."""


class LabelLeakage(UserWarning):
    """A feature alone gives the label away: it may be the label by another name."""


class Censored(UserWarning):
    """Values beyond a limit, "<5" or ">100", were read as the limit itself."""


class ColumnsChanged(UserWarning):
    """X lacks columns that a model goes by, or has columns that it does not know."""


class DefaultShare(UserWarning):
    """Cells have no price and nobody said how many to read: a tenth of them were."""


class EverythingIsBought(UserWarning):
    """A prediction was told to read all of its model's features, and they cost something."""


class LooksMisspelt(UserWarning):
    """A name that is no feature of X, and nearly one; or one class in several spellings."""


class StoreError(ThriftyError):
    """The store cannot be used."""


class LifetimeExists(StoreError):
    """The store holds a lifetime of that name with another family."""


class NotAStore(StoreError):
    """The file or database was not made by Thrifty."""


class StoreBusy(StoreError):
    """Other processes held the store for longer than the time allowed."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of Thrifty."""


class StoreUnwritable(StoreError):
    """The store is on a read-only, full or failing disk."""


class TaskExists(ThriftyError, ValueError):
    """A task of that name was learned before."""


class UnknownFeature(ThriftyError, KeyError):
    """No feature of that name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownTask(ThriftyError, KeyError):
    """No task of that name."""

    def __str__(self) -> str:
        # KeyError prints the repr of its argument; a sentence should read as one.
        return str(self.args[0]) if self.args else ""
