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
from thrifty.powers.representation import Exponents, PowersRepresentation
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
    #: whether features must be above 0
    positive: ClassVar[bool] = False
    #: what users hold
    regressor: ClassVar[type[_Regressor]]

    @property
    @abstractmethod
    def method(self) -> Method:
        """How formulas are found."""

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
    def _for_nothing(self, labels: Posed) -> Formula | None:
        """The formula of labels that are all alike: it costs nothing to see."""

    @abstractmethod
    def _in_span(
        self, known: PowersRepresentation, reader: BoughtValues, labels: Posed
    ) -> Formula | Failure:
        """A formula in the span of what is known; of the naive baseline: over the features seen."""

    @abstractmethod
    def _over(
        self, known: PowersRepresentation | None, reader: BoughtValues, labels: Posed
    ) -> Formula | Failure:
        """A formula over the features that known ones use; None: over all features."""

    def use_rep(
        self, representation: PowersRepresentation, cells: Cells, labels: Posed
    ) -> Attempt[Formula]:
        """A formula in the span of what is known; failing that, over the features seen."""
        known, alike = representation, self._for_nothing(labels)
        if alike is not None:
            return Found("reused", alike)
        if not len(known):
            return Failed(Failure("empty-representation", "nothing has been learned yet"))
        reader = self._reader(cells)
        found = self._in_span(known, reader, labels)
        if not isinstance(found, Failure):
            return Found("reused", found)
        if self.method != "lattice" or known.partial:
            return Failed(found)
        seen = self._over(known, reader, labels)
        return Failed(found) if isinstance(seen, Failure) else Found("bought", seen, found)

    def _reader(self, cells: Cells) -> BoughtValues:
        return BoughtValues(cells, positive=self.positive)

    def from_scratch(self, cells: Cells, labels: Posed, failed: Failed | None) -> Found[Formula]:
        """A formula over all features, verified; raises where there is none."""
        if cells.n_examples < 2:  # said before a cell is bought
            refuse(Failure("too-few-rows", "one example tells no formula from another"))
        reader = self._reader(cells)
        found = self._over(None, reader, labels)
        if isinstance(found, Failure):
            refuse(found)
        everywhere = np.arange(reader.n_features)
        coarse = coarsest(reader.values(reader.owned_rows(everywhere), everywhere))
        failure = None if failed is None else failed.failure
        return Found("scratch", found, failure, seen=coarse)

    def improve_rep(
        self, representation: PowersRepresentation, found: Found[Formula]
    ) -> PowersRepresentation:
        """The representation with those of the verified terms that raise the rank."""
        coarse = found.seen if isinstance(found.seen, float) else 0.0
        return representation.extended(self._terms(found.model), coarse)

    @abstractmethod
    def _terms(self, formula: Formula) -> list[Exponents]:
        """The monomials that a formula is made of."""

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
