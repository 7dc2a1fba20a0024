"""Sample weights, where they make sense: as whole numbers of repetitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from thrifty.cells import Source
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels

__all__ = ["repeat_rows"]


def repeat_rows(source: Source, labels: Labels, sample_weight: object) -> tuple[Source, Labels]:
    """Each row as often as its weight says; weight 0 leaves it out.

    Gains are functions of counts, so that equal counts give equal trees; a fraction of a row has no
    count and is refused.
    """
    weights = np.asarray(sample_weight)
    if weights.ndim == 0:
        weights = np.full(len(labels), weights)
    if weights.shape != (len(labels),):
        raise BadInput(
            f"sample_weight must hold one number per example, {len(labels)}; Sample weights must "
            f"be 1D array or scalar, got shape {weights.shape}."
        )
    try:
        numbers = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"sample_weight must hold numbers; {error}.") from error
    whole = np.isfinite(numbers) & (numbers >= 0) & (numbers == np.rint(numbers))
    if not whole.all():
        i = int(np.flatnonzero(~whole)[0])
        raise BadInput(
            f"sample_weight must hold whole numbers, 0 or more: a row counts so many times; got "
            f"{weights[i]} for example {i}. Scale the weights to whole numbers, or weigh classes "
            "with class_weight."
        )
    if not numbers.any():
        raise BadInput("sample_weight must leave at least one example; all weights are zero.")
    rows = np.repeat(np.arange(len(labels)), numbers.astype(np.int64))
    table = np.asarray(source.read(rows, np.arange(source.n_features)))
    repeated = Source.from_array(table, allow_missing=True)
    kept, codes = np.unique(labels.codes[rows], return_inverse=True)
    again = replace(labels, codes=codes.reshape(-1).astype(np.int64), classes=labels.classes[kept])
    return repeated, again
