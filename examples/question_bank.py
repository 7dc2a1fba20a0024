"""A bank of yes/no questions put to a language model: slow, priced, and failing now and then.

    python examples/question_bank.py [folder]

The provider is a fake one that bills nobody. It takes time, turns some calls away, and once cuts
the line after the request went out, so that nobody knows whether that call was billed. The program
shows what a careful user does then: look at the provider's own bill, say what happened, go on. But
for the answer that was lost no cell is paid for twice, and the budget holds.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from pathlib import Path

import numpy as np

import thrifty
from thrifty.errors import BudgetExceeded, PurchaseInDoubt
from thrifty.report import save_report
from thrifty.testing import FakeProvider

TOPICS = ["price", "delivery", "damage", "refund", "invoice", "thanks", "legal", "date"]
ASKS = ["is {} mentioned?", "is {} disputed?", "is {} urgent?", "is {} asked for by name?"]
QUESTIONS = [ask.format(topic) for topic in TOPICS for ask in ASKS]
PRICES = thrifty.PriceList("0.0004", currency="USD")

#: what the mailroom wants to know, as points for questions that are answered yes
LABELS = {
    "complaint": {"is damage mentioned?": 2, "is damage disputed?": 2, "is refund urgent?": 1},
    "refund due": {"is refund mentioned?": 3, "is damage mentioned?": 1, "is legal mentioned?": 1},
    "answer today": {"is date urgent?": 3, "is delivery urgent?": 2, "is legal urgent?": 1},
    "to the lawyers": {"is legal mentioned?": 3, "is legal disputed?": 2, "is price disputed?": 1},
    "happy": {"is thanks mentioned?": 3, "is damage mentioned?": -2, "is refund urgent?": -1},
}
#: labels that are wrong, as people's are
WRONG = 0.05


def truth(mail: str, question: str) -> int:
    """What the language model would say of this mail."""
    return hashlib.sha256(f"{mail}|{question}".encode()).digest()[0] % 2


def label(mail: str, name: str) -> bool:
    """What a person wrote down: by the answers, and now and then wrong."""
    points = LABELS[name]
    most = sum(max(p, 0) for p in points.values())
    right = sum(p * truth(mail, question) for question, p in points.items()) > most / 2
    wrong = hashlib.sha256(f"{mail}|{name}|slip".encode()).digest()[0] < 256 * WRONG
    return right != wrong


def faults(call: int) -> str:
    """Now and then a call is turned away; the fifth is cut off after it was billed."""
    return "error-after" if call == 4 else "refuse" if call % 97 == 6 else ""


def learn(life: thrifty.Lifetime, name: str, mails: list[str], provider: FakeProvider) -> None:
    """Learn one label; on the way, settle what is in doubt as a user would."""
    bank = provider.source(
        mails, QUESTIONS, prices=PRICES, max_examples=40, max_features=16, name="language model"
    )
    y = np.array([label(mail, name) for mail in mails])
    while True:
        try:
            learned = life.learn(name, bank, y, spend="30 %")
            break
        except PurchaseInDoubt as doubt:
            print(f"  {doubt}")
            for purchase in doubt.purchases:
                # The provider's own bill lists it: it was billed, and its answer is lost.
                life.ledger.resolve(purchase, "billed")
                print(f"  purchase {purchase}: billed, given up")
    bill, quality = learned.receipt, learned.model.quality_
    print(
        f"{name:16} {bill.cells:6} asked, {bill.reused_cells:6} known before, {bill.cost:8.4f} "
        f"{bill.currency}, average precision "
        f"{quality.average_precision if quality else 'not measured'}"
    )


def main(folder: Path, n_mails: int = 240, n_labels: int = len(LABELS)) -> thrifty.Lifetime:
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "mails.db"
    store.unlink(missing_ok=True)
    logging.getLogger("stamina").setLevel(logging.ERROR)  # calls turned away are tried again
    provider = FakeProvider(truth, faults=faults, delay=0.002)
    life = thrifty.Lifetime(store=str(store), budget=thrifty.Budget(total="20 USD"), random_state=0)
    for number, name in enumerate(list(LABELS)[:n_labels]):
        mails = [f"mail-{number * n_mails // 2 + i}" for i in range(n_mails)]  # half are old ones
        try:
            learn(life, name, mails, provider)
        except BudgetExceeded as error:
            print(f"{name}: {error}")
            break
    spent = life.balance()
    worth = len(provider.bill().cells) * 0.0004
    lost = spent.spent - worth
    print(f"\nspent {spent.spent:.4f} {spent.currency}, {lost:.4f} of it for the lost answer")
    page = save_report(life, folder / "mails.html", title="mailroom", prices=PRICES)
    print(f"The report: {page.resolve()}")
    return life


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "mailroom"))
