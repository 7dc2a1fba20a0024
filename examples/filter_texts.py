"""20,000 short texts, one question, a certificate: python examples/filter_texts.py.

Which messages complain about a late delivery? A language model could answer for every one of them.
Here it is asked about a few hundred: some to learn from, some because the learned model doubts,
some drawn at random to certify the rest. Texts are made by this script, and the language model is a
server on this machine that answers by what a text was made of (no key, no network): the prompts,
the tokens and the bill are what they would be elsewhere.
"""

from __future__ import annotations

import random
import time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import thrifty
from thrifty.testing.provider import LocalChatServer

LATE = [
    "still waiting for my parcel",
    "it came a week late",
    "where is my order",
    "overdue again",
    "the courier never showed up on time",
]
OTHER = ["the colour is wrong", "great service", "please send an invoice", "it arrived on time",
         "the box was damaged", "can I change my address", "the size does not fit"]  # fmt: skip
AROUND = ["hello", "thanks", "regards", "order from monday", "I bought shoes", "for my mother",
          "as a present", "second message", "from the app"]  # fmt: skip
QUESTION = thrifty.Question("Does the customer complain about a late delivery?")


def make_texts(n: int, seed: int = 0) -> tuple[list[str], dict[str, str]]:
    """Short messages, and the answer to the question about each; one in sixty is hard to tell."""
    draw = random.Random(seed)
    texts, truth = [], {}
    for i in range(n):
        late = draw.random() < 0.2
        odd = draw.random() < 1 / 60
        said = draw.choice(OTHER if late == odd else LATE)
        some = draw.sample(AROUND, 2)
        text = f"{some[0]}, {said}, {some[1]} ({i})"
        texts.append(text)
        truth[text] = "yes" if late else "no"
    return texts, truth


def main(n: int = 20_000, spend: str = "0.03 USD") -> thrifty.results.Answers:
    texts, truth = make_texts(n)
    words = CountVectorizer(binary=True, token_pattern=r"(?u)\b[a-z]+\b")
    X = words.fit_transform(texts)
    names = words.get_feature_names_out().tolist()
    source = thrifty.Source.from_array(X, feature_names=names)
    begun = time.perf_counter()
    with LocalChatServer(lambda text, question: truth[text]) as local:
        server = thrifty.ChatServer(
            "local", rates=thrifty.Rates("0.15 USD", "0.60 USD"), base_url=local.url, key_from=None
        )
        oracle = thrifty.Oracle(QUESTION, texts=texts, server=server, concurrency=16)
        life = thrifty.Lifetime(prices=0, random_state=0)  # words cost nothing
        learned = life.learn("late", source, oracle, spend=spend)
        print(f"learned from {len(learned.labelled.rows)} answers, {learned.receipt.cost:.4f} USD")
        answers = life.answer("late", source, oracle=oracle, agree=0.95, random_state=0)
        every = oracle.about(source, "late").dry_run(show=0).price
    print(answers)
    right = np.mean([said == truth[text] for said, text in zip(answers.values, texts)])
    print(
        f"{right:.1%} of all answers are the server's, for {life.balance().spent:.4f} USD in "
        f"all; asking about every text costs up to {every:.2f} USD"
    )
    print(f"{time.perf_counter() - begun:.0f} seconds")
    return answers


if __name__ == "__main__":
    main()
