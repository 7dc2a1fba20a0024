"""Points in logits as a card that people read: names, words, and points that double the odds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from thrifty.models.fits.points import Points
from thrifty.models.held.card import Card, CardRow

__all__ = ["card_of_points", "plain"]

Words = Mapping[str, Sequence[object]]


def card_of_points(
    points: Points,
    names: Sequence[str],
    words: Words,
    classes: Sequence[Hashable],
    doubling: float = 10.0,
) -> Card:
    """Points in logits as a card, the features that move the score most first.

    Parameters
    ----------
    words : Words
        the texts behind the codes of categories, by the feature's name
    classes : sequence
        the class of each code
    doubling : float
        how many points double the odds
    """
    unit = float(np.log(2.0) / doubling)
    labels = [plain(label) for label in (classes[1:] if len(classes) == 2 else classes)]
    rows: list[tuple[float, list[CardRow]]] = []
    for name, bins, table in zip(names, points.bins, points.points):
        texts = bins.names(words.get(name))
        share = bins.weight / max(float(bins.weight.sum()), 1e-300)
        for c, label in enumerate(labels):
            spread = float(share @ table[:, c] ** 2)
            if spread <= 1e-12:
                continue
            lines = [
                CardRow(str(name), text, float(worth / unit), float(part), label)
                for text, worth, part in zip(texts, table[:, c], share)
                if part > 0
            ]
            rows.append((spread, lines))
    rows.sort(key=lambda row: -row[0])
    base = dict(zip(labels, (points.intercepts / unit).tolist()))
    return Card(tuple(line for _, lines in rows for line in lines), base, doubling)


def plain(label: Hashable) -> Hashable:
    """A label as Python has it."""
    return label.item() if isinstance(label, np.generic) else label
