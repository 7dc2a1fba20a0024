"""What the families of monomials and polynomials share: the span they know, and how it is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np

from thrifty.attempt import Attempt, Expected, Failed, Failure, Found, Traits
from thrifty.cells import Cells
from thrifty.lazy import Estimator
from thrifty.powers.evidence import coarsest, refuse
from thrifty.powers.representation import PowersRepresentation
from thrifty.powers.values import BoughtValues
from thrifty.typing import Json, JsonLike, LabelsLike

Method = Literal["lattice", "paper", "features"]
METHODS = ("lattice", "paper", "features")

Formula = TypeVar("Formula")
Posed = TypeVar("Posed")  # the labels, as the verbs take them


class _Regressor(Estimator, Protocol):
    """An estimator that a store gives back."""

    @classmethod
    def from_dict(cls, data: JsonLike) -> Self: ...


@dataclass(frozen=True)
class PowersFamily(ABC, Generic[Formula, Posed]):
    """Formulas whose exponents lie in the span of the exponents of earlier ones."""

    kind: ClassVar[Literal["regressor"]] = "regressor"
    #: a feature that is not there has no value that a formula could do without
    traits: ClassVar[Traits] = Traits(
        stops_anywhere=False,
        takes_absent=False,
        allows_missing=False,
        reads_categories=False,
        one_after_another=False,
        remembers="metafeatures",
        draws=False,
        buys_background=False,
        weighs_rows=False,
    )
    #: what users hold
    regressor: ClassVar[type[_Regressor]]

    def start(self) -> PowersRepresentation:
        """Nothing known."""
        return PowersRepresentation()

    def expected_cells(self, representation: PowersRepresentation, cells: Cells) -> Expected:
        """Known from earlier receipts alone."""
        return Expected()

    @abstractmethod
    def read_labels(self, y: LabelsLike) -> Posed:
        """Check the labels, and put them into the form the verbs take."""

    @abstractmethod
    def use_rep(
        self, representation: PowersRepresentation, cells: Cells, labels: Posed
    ) -> Attempt[Formula]:
        """A formula in the span of what is known."""

    @abstractmethod
    def _over_all(self, cells: Cells, labels: Posed) -> tuple[Formula | Failure, BoughtValues]:
        """A formula over all features, or why there is none; and the values bought for it."""

    def from_scratch(self, cells: Cells, labels: Posed, failed: Failed | None) -> Found[Formula]:
        """A formula over all features, verified; raises where there is none."""
        if cells.n_examples < 2:  # said before a cell is bought
            refuse(Failure("too-few-rows", "one example tells no formula from another"))
        found, reader = self._over_all(cells, labels)
        if isinstance(found, Failure):
            refuse(found)
        everywhere = np.arange(reader.n_features)
        coarse = coarsest(reader.values(reader.owned_rows(everywhere), everywhere))
        failure = None if failed is None else failed.failure
        return Found("scratch", found, failure, seen=coarse)

    def load_representation(self, data: JsonLike) -> PowersRepresentation:
        """The inverse of ``representation.to_dict()``."""
        return PowersRepresentation.from_dict(data)

    def load_estimator(self, data: JsonLike) -> Estimator:
        """The inverse of ``estimator.to_dict()``."""
        return self.regressor.from_dict(data)

    def to_dict(self) -> Json:
        """Name and parameters, as JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"family": type(self).__name__, **values}
