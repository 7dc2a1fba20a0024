"""A lifetime in plain words."""

from __future__ import annotations

from thrifty.report.lineage import Lineage
from thrifty.report.number_text import amount, counted, share
from thrifty.report.view import LifetimeView

__all__ = ["amount", "counted", "knows", "share", "summary"]


def summary(view: LifetimeView) -> list[str]:
    """What happened, for the one who pays; an empty lifetime gets a friendly sentence."""
    if not view.tasks:
        said = [
            "Nothing has been learned yet. The first task will appear here: learn one with "
            "life.learn(name, X, y), or with the command thrifty learn."
        ]
        if view.balance is not None and view.balance.spent:
            said.append(f"{view.money(view.balance.spent)} spent so far.")
    else:
        said = [_learned(view), *_paid(view)]
    if view.ledger is not None and view.ledger.in_doubt:
        waiting = counted(len(view.ledger.in_doubt), "purchase")
        said.append(f"{waiting} in doubt: money stays reserved until you say what happened.")
    return said


def _learned(view: LifetimeView) -> str:
    widest = max(task.receipt.n_features for task in view.tasks)
    cells = view.cells_of_learning
    return (
        f"{counted(len(view.tasks), 'task')} learned over {counted(widest, 'feature')}, from "
        f"{counted(cells, 'cell')}: {share(cells, view.everything)} of the "
        f"{view.everything:,} there are to buy."
    )


def _paid(view: LifetimeView) -> list[str]:
    balance = view.balance
    if balance is None:
        return [f"Learning cost {view.money(view.cost)}."] if view.priced else []
    text = ""
    if view.priced:
        text = f"Learning cost {view.money(balance.learning)}"
        if balance.everything:
            text += (
                f", where everything there is to buy would have cost "
                f"{view.money(balance.everything)}: {view.money(balance.saved)} saved"
            )
        text += "."
    if balance.predictions:
        text += f" Predictions have cost {view.money(balance.predictions)}."
    if balance.left is not None:
        total = balance.left + balance.spent + balance.reserved
        text += f" Of the budget of {view.money(total)}, {view.money(balance.left)} is left."
    return [text.strip()] if text else []


def knows(view: LifetimeView, lineage: Lineage) -> list[str]:
    """How the tasks were learned and what they taught, for the curious."""
    if not view.tasks:
        return []
    routes = [task.route for task in view.tasks]
    parts = []
    if scratch := routes.count("scratch"):
        parts.append(f"{scratch:,} from scratch")
    if screened := routes.count("screened"):
        parts.append(f"{screened:,} with a search of the features beside what was known")
    if reused := len(routes) - routes.count("scratch") - routes.count("screened"):
        parts.append(f"{reused:,} from what earlier tasks had taught")
    said = [f"Of {counted(len(routes), 'task')}: {', '.join(parts)}."]
    if view.metafeature_texts:
        text = f"The representation holds {counted(len(view.metafeature_texts), 'metafeature')}"
        if any(lineage.used_by):
            most = max(range(len(lineage.used_by)), key=lambda i: len(lineage.used_by[i]))
            times = counted(len(lineage.used_by[most]), "later task")
            text += f"; M{most} served most, {times}"
        said.append(f"{text}.")
    return said
