"""A lifetime in plain words, and numbers as people write them."""

from __future__ import annotations

from thrifty.report.lineage import Lineage
from thrifty.report.view import LifetimeView

__all__ = ["amount", "counted", "share", "summary"]


def amount(number: float) -> str:
    """A number with as many decimals as it needs, thousands apart.

    >>> amount(1386000), amount(22.5), amount(0.2), amount(0.00041), amount(0.0)
    ('1,386,000', '22.50', '0.20', '0.00041', '0')
    """
    if number == int(number):
        return f"{int(number):,}"
    whole_cents = abs(number) >= 1 or round(number, 2) == number
    return f"{number:,.2f}" if whole_cents else f"{number:.2g}"


def share(part: float, whole: float) -> str:
    """A part of a whole in per cent.

    >>> share(1, 8), share(1, 3000), share(0, 0)
    ('12.5 %', '0.033 %', '0 %')
    """
    if not part or not whole:
        return "0 %"
    percent = 100 * part / whole
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 task``, ``2 tasks``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def summary(view: LifetimeView, lineage: Lineage) -> list[str]:
    """What happened, in a few sentences; an empty lifetime gets a friendly one."""
    if not view.tasks:
        return [
            "Nothing has been learned yet. The first task will appear here: learn one with "
            "life.learn(name, X, y), or with the command thrifty learn."
        ]
    said = [_learned(view), _paid(view)]
    if view.metafeature_texts:
        said.append(_knows(view, lineage))
    if view.ledger is not None and view.ledger.in_doubt:
        waiting = counted(len(view.ledger.in_doubt), "purchase")
        said.append(f"{waiting} in doubt: money stays reserved until you say what happened.")
    return said


def _learned(view: LifetimeView) -> str:
    n = len(view.tasks)
    routes = [task.route for task in view.tasks]
    scratch, screened = routes.count("scratch"), routes.count("screened")
    widest = max(task.n_features for task in view.tasks)
    parts = [f"{counted(n, 'task')} learned over {counted(widest, 'feature')}"]
    if scratch:
        parts.append(f"{scratch:,} from scratch")
    if screened:
        parts.append(f"{screened:,} with a search of the other features beside what was known")
    if reused := n - scratch - screened:
        parts.append(f"{reused:,} from what earlier tasks had taught")
    return f"{parts[0]}: {', '.join(parts[1:])}."


def _paid(view: LifetimeView) -> str:
    text = (
        f"Bought {counted(view.cells, 'cell')}, {share(view.cells, view.everything)} of the "
        f"{view.everything:,} there are to buy"
    )
    text = f"{text}, for {amount(view.cost)} {view.unit}." if view.priced else f"{text}."
    balance = view.balance
    if balance is None:
        return text
    if view.priced and balance.everything:
        text += (
            f" All of them would cost {amount(balance.everything)} {view.unit}: "
            f"{amount(balance.saved)} {view.unit} saved."
        )
    if balance.predictions:
        text += f" Predictions have cost {amount(balance.predictions)} {view.unit}."
    if balance.left is not None:
        text += f" {amount(balance.left)} {view.unit} of the budget is left."
    return text


def _knows(view: LifetimeView, lineage: Lineage) -> str:
    text = f"The representation holds {counted(len(view.metafeature_texts), 'metafeature')}"
    if not any(lineage.used_by):
        return f"{text}."
    most = max(range(len(lineage.used_by)), key=lambda i: len(lineage.used_by[i]))
    return f"{text}; M{most} served most, {counted(len(lineage.used_by[most]), 'later task')}."
