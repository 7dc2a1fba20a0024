"""Random price lists: orders that overlap, fees, discounts, derived features."""

import random


def random_list(rng: random.Random) -> tuple[list[str], dict]:
    """The parts of a price list over a few features, as a plain dictionary."""
    base = [f"f{i}" for i in range(rng.randint(2, 6))]
    orders = {
        f"o{i}": (rng.randint(0, 20), rng.sample(base, rng.randint(1, len(base))))
        for i in range(rng.randint(0, 4))
    }
    filled = {f for _, members in orders.values() for f in members}
    single = {f: rng.randint(0, 12) for f in base if f not in filled or rng.random() < 0.7}
    fees = {
        f"fee{i}": (rng.randint(0, 10), rng.sample(base, rng.randint(1, len(base))))
        for i in range(rng.randint(0, 2))
    }
    sold = [f for f in base if f in single]
    rng.shuffle(sold)
    discounts = {}
    for g in range(rng.randint(0, 2)):
        some = [sold.pop() for _ in range(min(len(sold), rng.randint(2, 3)))]
        cut = rng.randint(0, 6)
        if some:
            discounts[f"g{g}"] = {
                f: max(0, single[f] - (cut if rng.random() < 0.6 else rng.randint(0, 9)))
                for f in some
            }
    derived = {}
    names = list(base)
    for i in range(rng.randint(0, 2)):
        derived[f"d{i}"] = rng.sample(names, rng.randint(1, min(3, len(names))))
        names.append(f"d{i}")
    return names, {
        "per_feature": single,
        "orders": orders,
        "fees": fees,
        "discounts": discounts,
        "derived": derived,
    }
