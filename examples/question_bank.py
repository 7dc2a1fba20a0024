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

#: what the mailroom wants to know, as questions that a reader would ask: if a then b, else c
LABELS = {
    "complaint": ("is damage mentioned?", "is damage disputed?", "is refund urgent?"),
    "refund due": ("is refund mentioned?", "is damage mentioned?", "is legal mentioned?"),
    "complaint, shop 2": ("is damage mentioned?", "is damage disputed?", "is refund urgent?"),
    "answer today": ("is date urgent?", "is delivery urgent?", "is legal mentioned?"),
    "refund due, shop 2": ("is refund mentioned?", "is damage mentioned?", "is legal mentioned?"),
    "answer today, shop 2": ("is date urgent?", "is delivery urgent?", "is legal mentioned?"),
}


def truth(mail: str, question: str) -> int:
    """What the language model would say of this mail."""
    return hashlib.sha256(f"{mail}|{question}".encode()).digest()[0] % 2


def label(mail: str, asked: tuple[str, str, str]) -> int:
    first, then, otherwise = asked
    return truth(mail, then if truth(mail, first) else otherwise)


def faults(call: int) -> str:
    """Every seventh call is turned away; the fifth is cut off after it was billed."""
    return "error-after" if call == 4 else "refuse" if call % 7 == 6 else ""


def learn(life: thrifty.Lifetime, name: str, mails: list[str], provider: FakeProvider) -> None:
    """Learn one label; on the way, settle what is in doubt as a user would."""
    bank = provider.source(
        mails, QUESTIONS, prices=PRICES, max_examples=40, max_features=16, name="language model"
    )
    y = np.array([label(mail, LABELS[name]) for mail in mails])
    while True:
        try:
            learned = life.learn(name, bank, y)
            break
        except PurchaseInDoubt as doubt:
            print(f"  {doubt}")
            for purchase in doubt.purchases:
                # The provider's own bill lists it: it was billed, and its answer is lost.
                life.ledger.resolve(purchase, "billed")
                print(f"  purchase {purchase}: billed, given up")
    bill = learned.receipt
    print(f"{name:22} {learned.route:8} {bill.cells:6} asked  {bill.cost:8.4f} {bill.currency}")


def main(folder: Path, n_mails: int = 240) -> thrifty.Lifetime:
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "mails.db"
    store.unlink(missing_ok=True)
    logging.getLogger("stamina").setLevel(logging.ERROR)  # calls turned away are tried again
    provider = FakeProvider(truth, faults=faults, delay=0.002)
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=3), store=str(store), budget=thrifty.Budget(total="20 USD")
    )
    for number, name in enumerate(LABELS):
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
