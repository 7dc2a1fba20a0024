"""A bank of questions put to two language models: labels are learned, then answered and certified.

    python examples/question_bank.py [folder]

The models are servers on this machine (no key, no network): prompts, tokens and bills are what they
would be elsewhere. The small one reasons, answers the bank about mails for little, and is now and
then wrong; once it cuts the line after it has billed, so that nobody knows. The program shows what
a careful user does then: look at the provider's own bill, say what happened, go on. The large one
is right, and expensive: it is asked about few mails, to certify the answers to all of them.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

import thrifty
from thrifty.errors import PurchaseInDoubt
from thrifty.report import save_report
from thrifty.testing.provider import LocalChatServer

TOPICS = ["price", "delivery", "damage", "refund", "invoice", "thanks", "lawyer", "date"]
QUESTIONS = [f"Is {topic} a topic?" for topic in TOPICS]
SMALL = thrifty.Rates("0.15 USD", "0.60 USD")
LARGE = thrifty.Rates("2.50 USD", "10 USD")
COMPLAINT = thrifty.Question("Is the mail a complaint?")


def mails(n: int, seed: int = 0) -> list[str]:
    """Mails about a few topics each."""
    draw = random.Random(seed)
    return [f"mail {i}: about {' and '.join(draw.sample(TOPICS, 3))}" for i in range(n)]


def is_complaint(mail: str) -> bool:
    return "damage" in mail or ("delivery" in mail and "refund" in mail)


def small_model(mail: str, question: str) -> str:
    """Right but for one answer in twenty; and talkative, as models are."""
    topic = question.split()[1]
    wrong = random.Random(f"{mail}{question}").random() < 0.05
    return f"Yes, {topic} is named." if (topic in mail) != wrong else "No."


def large_model(mail: str, question: str) -> str:
    return "yes" if is_complaint(mail) else "no"


def learn(life: thrifty.Lifetime, bank: thrifty.Source, y: np.ndarray) -> object:
    """Learn the label; on the way, settle what is in doubt as a user would."""
    while True:
        try:
            return life.learn("complaint", bank, y, spend="60 %")
        except PurchaseInDoubt as doubt:
            for purchase in doubt.purchases:
                # The provider's own bill lists it: it was billed, and its answer is lost.
                life.ledger.resolve(purchase, "billed")
                print(f"purchase {purchase} was in doubt: billed, its answer given up")


def main(folder: Path, n: int = 1200, labelled: int = 200) -> tuple[thrifty.Lifetime, object]:
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "mails.db"
    store.unlink(missing_ok=True)
    texts = mails(n)
    budget = thrifty.Budget(total="2 USD")
    with (
        LocalChatServer(small_model, rates=SMALL, refuse=2, break_=1, reasoning=400) as small,
        LocalChatServer(large_model, rates=LARGE) as large,
    ):
        ask = thrifty.ChatServer(
            "small", rates=SMALL, base_url=small.url, key_from=None, reasoning=400
        )
        judge = thrifty.ChatServer("large", rates=LARGE, base_url=large.url, key_from=None)
        life = thrifty.Lifetime(store=store, budget=budget, random_state=0)
        some = thrifty.Source.from_questions(texts[:labelled], QUESTIONS, ask=ask)
        known = [is_complaint(text) for text in texts[:labelled]]  # by people
        learned = learn(life, some, np.where(known, "yes", "no"))
        print(f"learned for {learned.receipt.cost:.5f} {learned.receipt.currency}")
        every = thrifty.Source.from_questions(texts, QUESTIONS, ask=ask)
        oracle = thrifty.Oracle(COMPLAINT, texts=texts, server=judge, concurrency=8)
        answers = life.answer("complaint", every, oracle=oracle, agree=0.9, random_state=0)
        whole = oracle.about(every, "complaint").dry_run(show=0).price
        print(answers.certificate)
        spent, billed = life.balance(), (small.billed + large.billed) / 1e6
    print(f"spent {spent.spent:.4f} USD, as the two servers billed: {billed:.4f}; the large model "
          f"about every mail: up to {whole:.4f}")  # fmt: skip
    page = save_report(life, folder / "mails.html", title="mailroom")
    print(f"The report: {page.resolve()}")
    return life, answers


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "mailroom"))
