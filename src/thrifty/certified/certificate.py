"""What is handed out at the end: the target, what was tested, what it cost, who answered what."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from thrifty.certified.certify import Certified
from thrifty.certified.divergence import least_checks
from thrifty.typing import Json

__all__ = ["Certificate", "certificate_of"]


@dataclass(frozen=True)
class Certificate:
    """One promise of a set of answers.

    Attributes
    ----------
    target : str
        what is promised, for instance "agree 0.95"
    confidence : float
        the probability, over the rows that were drawn, with which it holds, whatever the model is
        worth; 1.0 where it holds for certain
    rows, by_model, by_oracle : int
        all rows, and who answered them
    drawn, drawn_wrong : int
        rows drawn at random, on which the certificate rests, and on how many the model was wrong
    doubtful : int
        rows put to the oracle because the model doubted them
    known : int
        rows whose labels were there before: they count as the oracle's and certify nothing
    cost : float
        what the labels of this certificate have cost, in units of ``currency``
    note : str
        what else is to be said of it
    """

    target: str
    confidence: float
    rows: int
    by_model: int
    by_oracle: int
    drawn: int
    drawn_wrong: int
    doubtful: int
    known: int
    cost: float
    currency: str = ""
    note: str = ""

    def __str__(self) -> str:
        sure = "for certain" if self.confidence == 1 else f"with confidence {self.confidence:g}"
        cost = f"{self.cost:,.6g} {self.currency}".strip()
        lines = [
            f"{self.target}, {sure}, of {self.rows:,} rows",
            f"  tested      {self.drawn:,} rows drawn at random, the model wrong on "
            f"{self.drawn_wrong:,}",
            f"  the oracle  {self.by_oracle:,} rows: {self.drawn:,} drawn, {self.doubtful:,} "
            f"doubtful, {self.known:,} known before; {cost}",
            f"  the model   {self.by_model:,} rows",
        ]
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return asdict(self)


def certificate_of(
    done: Certified, confidence: float, known: int, cost: float, currency: str
) -> Certificate:
    """The certificate of a run that is over."""
    rows, bought = len(done.bought), int(done.bought.sum())
    return Certificate(
        target=done.target.title,
        confidence=confidence if done.by_chance else 1.0,
        rows=rows,
        by_model=rows - bought,
        by_oracle=bought,
        drawn=done.drawn,
        drawn_wrong=done.drawn_wrong,
        doubtful=bought - done.drawn - known,
        known=known,
        cost=cost,
        currency=currency,
        note=_too_few(done, confidence),
    )


def _too_few(done: Certified, confidence: float) -> str:
    """Where a certificate by chance was out of reach for any model: how many rows it takes."""
    share = 1 - done.target.level
    if done.by_chance or not 0 < share < 1:
        return ""
    needed = least_checks(share, confidence)
    if len(done.bought) > 2 * needed:
        return ""
    return (
        f"{len(done.bought):,} rows are few: even a model that is never wrong is checked on "
        f"{needed} of them, so that nearly all were put to the oracle"
    )
