"""Chains of models before an oracle, in dollars: python benchmarks/cascade.py [--runs 100].

llm_mmlu: 1,816 questions that five Llamas answered, with the log-probability and the price of each
answer. The largest is the oracle, the four others are the members of a cascade. Agree .90 and .95
with confidence .95, dollars for a thousand questions, labels for learning and testing included:

- ours, a chain that is learned in each run
- two models: each member alone before the oracle, with our certificate and with BARGAIN's
  (``pip install --group baselines``); the best of them all is chosen in hindsight
- in hindsight: members, thresholds and corrections of the chain chosen with every label known, and
  what our certificate then takes
- nothing certified: the least that one member, and two in a chain, could cost with every label
  known for nothing: what no certificate can better

"kept": runs whose answers agree as often as promised, with a 95 % interval (Clopper and Pearson).
A long question costs more than a short one, which ours knows; ``--one-price`` keeps it from that.
``--times 10`` asks the questions ten times over, as a picture of a larger bank; ``--messages``
gives them the prices that messages of log-normal lengths would have (sigma 1).
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import beta

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent))
import baselines
from studies.data import data_folder
from thrifty.certified import cascade
from thrifty.certified.cascade import Members, answer_with_chain
from thrifty.certified.certify import certify
from thrifty.certified.plan import agreement

ALPHA = 0.05


@dataclass(frozen=True)
class Bank:
    """Answers, confidences and dollars, questions x models; the last model is the oracle."""

    codes: np.ndarray
    sure: np.ndarray
    usd: np.ndarray
    names: list[str]
    one_price: bool = False

    @property
    def oracle(self) -> np.ndarray:
        return self.codes[:, -1]

    @property
    def row_prices(self) -> np.ndarray | None:
        """Of each question, in prices of the average one."""
        return None if self.one_price else self.usd[:, -1] / self.usd[:, -1].mean()

    def times(self, n: int) -> Bank:
        parts = (self.codes, self.sure, self.usd)
        return Bank(*(np.tile(part, (n, 1)) for part in parts), self.names, self.one_price)

    def messages(self) -> Bank:
        lengths = np.random.default_rng(0).lognormal(size=(len(self.usd), 1))
        return replace(self, usd=self.usd.mean(axis=0) * lengths / lengths.mean())


def read() -> Bank:
    folder = data_folder()
    if folder is None:
        sys.exit("llm_mmlu: no data folder; set THRIFTY_DATA to it.")
    with np.load(folder / "llm_mmlu.npz", allow_pickle=False) as z:
        codes = np.unique(z["answers"], return_inverse=True)[1].reshape(z["answers"].shape)
        names = [str(name).removeprefix("right, ") for name in z["label_names"]]
        return Bank(codes, np.exp(z["X"].astype(float)), z["usd"].astype(float), names)


@dataclass(frozen=True)
class Run:
    """Dollars for a thousand questions, agreement, and questions that each model answered."""

    usd: float
    agree: float
    asked: tuple[float, ...]
    chain: str = ""


def spent(bank: Bank, asked: np.ndarray, values: np.ndarray, chain: str = "") -> Run:
    usd = 1000 * float((bank.usd * asked).sum()) / len(values)
    agree = float((values == bank.oracle).mean())
    return Run(usd, agree, tuple(asked.mean(axis=0).tolist()), chain)


def ours(bank: Bank, level: float, seed: int) -> Run:
    """A chain that is learned, and its certificate."""
    rows = len(bank.codes)
    asked, rng = np.zeros(bank.codes.shape, dtype=bool), np.random.default_rng(seed)

    def ask(member: int, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked[some, member] = True
        return bank.codes[some, member], bank.sure[some, member]

    def label(some: np.ndarray) -> np.ndarray:
        asked[some, -1] = True
        return bank.oracle[some]

    prices = bank.usd.mean(axis=0)
    members = Members(
        rows, 4, prices[:-1], prices[:-1], float(prices[-1]), ask, label,
        lambda codes: [agreement(len(codes), level)], ALPHA, bank.row_prices,
    )  # fmt: skip
    found = answer_with_chain(members, rng)
    values = certified(bank, level, found.codes, found.doubt, found.by + 1, asked, rng)
    chain = " > ".join(bank.names[m] for m in found.chain.members) or "the oracle alone"
    return spent(bank, asked, values, chain)


def certified(
    bank: Bank,
    level: float,
    codes: np.ndarray,
    doubt: np.ndarray,
    side: np.ndarray,
    asked: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """The answers at the end; what the oracle was asked is noted in ``asked``."""
    wrong, known = codes != bank.oracle, asked[:, -1].copy()
    done = certify(
        agreement(len(codes), level), doubt, side, lambda rows: wrong[rows],
        alpha=ALPHA, rng=rng, known=known, wrong=wrong & known,
        price=bank.row_prices,
    )  # fmt: skip
    asked[:, -1] = done.bought
    return np.where(done.bought, bank.oracle, codes)


def two_models(bank: Bank, member: int, level: float, seed: int) -> Run:
    """One member before the oracle, with our certificate."""
    asked = np.zeros(bank.codes.shape, dtype=bool)
    asked[:, member] = True
    codes, doubt = bank.codes[:, member], 1 - bank.sure[:, member]
    side, rng = np.zeros(len(codes), dtype=int), np.random.default_rng(seed)
    return spent(bank, asked, certified(bank, level, codes, doubt, side, asked, rng))


def by_bargain(bank: Bank, member: int, level: float, seed: int) -> Run:
    """One member before the oracle, with BARGAIN's certificate."""
    codes, sure = bank.codes[:, member], bank.sure[:, member]
    asked = np.zeros(bank.codes.shape, dtype=bool)
    asked[:, member] = True
    values, asked[:, -1] = baselines.bargain(codes, sure, bank.oracle, level, seed)
    return spent(bank, asked, values)


# -- in hindsight -------------------------------------------------------------------------------


def all_known(bank: Bank, level: float) -> cascade._ChainRun:
    """A choice of chains with corrections fitted to every label."""
    rows, models = bank.codes.shape
    prices = bank.usd.mean(axis=0)
    members = Members(
        rows, 4, prices[:-1], prices[:-1], float(prices[-1]),
        lambda m, some: (bank.codes[some, m], bank.sure[some, m]), lambda some: bank.oracle[some],
        lambda codes: [agreement(len(codes), level)], ALPHA, bank.row_prices,
    )  # fmt: skip
    run = cascade._ChainRun(members, np.random.default_rng(0), bank.oracle)
    every = np.arange(rows)
    for member in range(models - 1):
        run._ask(member, every)
    run._correct(every)
    run.said[:] = -1  # the labels are used to choose, not to answer
    return run


def hindsight(bank: Bank, level: float, seeds: range) -> list[Run]:
    run = all_known(bank, level)
    every = np.arange(len(bank.oracle))
    chain = run._choose(every)
    codes, by, doubt = run._walk(chain, every[:0])
    asked = np.zeros(bank.codes.shape, dtype=bool)
    for place, member in enumerate(chain.members):
        asked[:, member] = np.isin(by, chain.members[place:])
    name = " > ".join(bank.names[m] for m in chain.members)
    found = []
    for seed in seeds:
        mine, rng = asked.copy(), np.random.default_rng(seed)
        values = certified(bank, level, codes, doubt, by + 1, mine, rng)
        found.append(spent(bank, mine, values, name))
    return found


def nothing_certified(bank: Bank, level: float, members: tuple[int, ...]) -> float:
    """The least dollars with thresholds set by every label, of one member or of two in a chain.

    The surest answers of the first are kept, its least sure rows go to the oracle at once, the rest
    to the last member, whose least sure rows go to the oracle until the level is reached.
    """
    n, last, best = len(bank.oracle), members[-1], math.inf
    usd, wrong = bank.usd.mean(axis=0), bank.codes != bank.oracle[:, None]
    surest = np.argsort(-bank.sure[:, members[0]], kind="stable")
    steps = range(0, n, n // 60) if len(members) > 1 else (0,)
    for kept, left_out in itertools.product(steps, steps):
        if kept + left_out > n:
            continue
        middle = surest[kept : n - left_out]
        middle = middle[np.argsort(bank.sure[middle, last], kind="stable")]
        errors = wrong[middle, last]
        errors = wrong[surest[:kept], members[0]].sum() + errors.sum() - np.cumsum(errors)
        enough = np.flatnonzero(errors <= (1 - level) * n)
        if len(enough):
            asked = usd[members[0]] * n * (len(members) > 1) + usd[last] * len(middle)
            best = min(best, asked + usd[-1] * (left_out + enough[0] + 1))
    return 1000 * best / n


# -- tables -------------------------------------------------------------------------------------


def kept(runs: list[Run], level: float) -> str:
    n, k = len(runs), sum(run.agree >= level - 1e-12 for run in runs)
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return f"{k} of {n} ({low:.2f} to {high:.2f})"


def line(what: str, runs: list[Run], level: float, best: float = math.nan) -> float:
    usd = float(np.mean([run.usd for run in runs]))
    half = 1.96 * float(np.std([run.usd for run in runs])) / math.sqrt(len(runs))
    ratio = "" if math.isnan(best) else f"  {usd / best:.3f} of the best two models"
    asked = " ".join(f"{share:.2f}" for share in np.mean([run.asked for run in runs], axis=0))
    print(
        f"  {what:<28} {usd:.4f} ± {half:.4f} USD  kept {kept(runs, level)}  asked {asked}{ratio}",
        flush=True,
    )
    return usd


def compare(bank: Bank, level: float, runs: int, peers: bool) -> None:
    print(f"agree {level}: {len(bank.oracle)} questions, dollars a thousand", flush=True)
    costs = {}
    for member, ways in itertools.product(range(len(bank.names) - 1), ("ours", "BARGAIN")):
        if ways == "BARGAIN" and not peers:
            continue
        way = two_models if ways == "ours" else by_bargain
        few = [way(bank, member, level, seed) for seed in range(min(runs, 40))]
        what = f"{bank.names[member]}, {ways}"
        costs[what] = line(what, few, level)
    best = min(costs, key=lambda what: costs[what])
    print(f"  the best two models: {best}", flush=True)
    pairs = itertools.combinations(range(len(bank.names) - 1), 2)
    one = min(nothing_certified(bank, level, (m,)) for m in range(len(bank.names) - 1))
    two = min(nothing_certified(bank, level, pair) for pair in pairs)
    print(f"  nothing certified: one member {one:.4f}, two {two:.4f} USD: {two / one:.3f} of it")
    line("in hindsight", hindsight(bank, level, range(min(runs, 40))), level, costs[best])
    learned = [ours(bank, level, seed) for seed in range(runs)]
    line("a chain that is learned", learned, level, costs[best])
    chains: dict[str, int] = {}
    for run in learned:
        chains[run.chain] = chains.get(run.chain, 0) + 1
    for chain, n in sorted(chains.items(), key=lambda pair: -pair[1])[:5]:
        print(f"    {n:>3} times {chain}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--levels", type=float, nargs="*", default=[0.9, 0.95])
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--messages", action="store_true", help="prices of messages")
    parser.add_argument("--one-price", action="store_true", help="ours does not know the prices")
    parser.add_argument("--no-peers", action="store_true", help="without BARGAIN")
    given = parser.parse_args()
    bank = replace(read(), one_price=given.one_price).times(given.times)
    if given.messages:
        bank = bank.messages()
    for level in given.levels:
        compare(bank, level, given.runs, not given.no_peers)


if __name__ == "__main__":
    main()
