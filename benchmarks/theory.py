"""Two figures of docs/research/reproduction.md that no stream is needed for.

    python benchmarks/theory.py gap      bounds from above as multiples of the one from below
    python benchmarks/theory.py lists    lists from scratch in the hardest order a search finds

``gap`` draws m, N, K and r at random. ``lists`` looks for K short lists over few features, and an
order of tasks, such that as many as possible are learned from scratch: the paper allows K + 2 K^2.
"""

from __future__ import annotations

import argparse
import random
import time

from thrifty import bounds

List = tuple[int, ...]


def gap(draws: int) -> None:
    """The largest ratio of each rule's bound to the larger of the two lower bounds."""
    chance = random.Random(0)
    rules = {"Balanced": bounds.balanced, "Doubling": bounds.doubling}
    worst = dict.fromkeys(rules, 0.0)
    done = 0
    while done < draws:
        m = chance.randint(30, chance.choice((200, 5000)))
        n, k = chance.randint(20, 2000), chance.randint(2, 15)
        r = chance.randint(0, chance.choice((500, 50_000)))
        if k > n / 4:
            continue
        done += 1
        letters = {"n_tasks": m, "n_features": n, "n_metafeatures": k}
        low = max(bounds.lower(**letters, n_unrelated=r), bounds.lower_realizable(**letters))
        for name, rule in rules.items():
            worst[name] = max(worst[name], rule(**letters, n_unrelated=r, n_examples=1) / low)
    for name, ratio in worst.items():
        print(f"{name}: at most {ratio:.1f} times the lower bound, {draws:,} draws")


def fails_at(target: List, known: set[List]) -> int | None:
    """Where UseRep goes wrong: no stored suffix, laid anywhere above, has the next test."""
    carried: list[tuple[List, int]] = []
    for i, feature in enumerate(target):
        laid = [*carried, *((stored, 0) for stored in known)]
        carried = [(s, at + 1) for s, at in laid if at < len(s) and s[at] == feature]
        if not carried:
            return i
    return None


def concatenations(family: list[List], most: int) -> list[List]:
    """Every list of at most ``most`` tests that is made of these, no feature asked twice."""
    found: set[List] = set()
    open_ones: list[List] = [()]
    while open_ones:
        head = open_ones.pop()
        for piece in family:
            longer = head + piece
            if len(longer) <= most and len(set(longer)) == len(longer) and longer not in found:
                found.add(longer)
                open_ones.append(longer)
    return sorted(found)


def failures(family: list[List], most: int, chance: random.Random, tries: int) -> int:
    """Tasks from scratch in the best of several orders; short suffixes are preferred."""
    targets, best = concatenations(family, most), 0
    for _ in range(tries):
        known: set[List] = set()
        while wrong := [(g, v) for g in targets if (v := fails_at(g, known)) is not None]:
            if chance.random() < 0.7:
                shortest = min(len(g) - v for g, v in wrong)
                wrong = [(g, v) for g, v in wrong if len(g) - v == shortest]
            target, at = chance.choice(wrong)
            known.add(target[at:])
        best = max(best, len(known))
    return best


def hardest(k: int, seconds: float, longest: int = 4, features: int = 9) -> int:
    """Hill climbing over families of k lists."""
    chance, best, until = random.Random(k), 0, time.monotonic() + seconds

    def piece() -> List:
        return tuple(chance.sample(range(features), chance.randint(1, longest)))

    while time.monotonic() < until:
        family = [piece() for _ in range(k)]
        at = failures(family, features, chance, 6)
        for _ in range(60):
            other = list(family)
            other[chance.randrange(k)] = piece()
            found = failures(other, features, chance, 6) if len(set(other)) == k else 0
            if found >= at:
                family, at = other, found
            if time.monotonic() > until:
                break
        best = max(best, at)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["gap", "lists"])
    parser.add_argument("--draws", type=int, default=300_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="of searching, for each K")
    args = parser.parse_args()
    if args.what == "gap":
        gap(args.draws)
        return
    for k in (2, 3, 4, 5, 6):
        found = hardest(k, args.seconds)
        allowed = bounds.lists_scratch(n_metafeatures=k, max_depth=9)
        share = f"{found / k:.2f} K"
        print(f"K = {k}: {found} from scratch, {share}; the bound is {allowed}", flush=True)


if __name__ == "__main__":
    main()
