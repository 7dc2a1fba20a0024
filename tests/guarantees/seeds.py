"""Which seeds the promises are tried with.

`THRIFTY_SEEDS=1000 make guarantees` adds 1000 to every seed: a promise that holds by the luck of
its streams is found by others.
"""

import os

_SHIFT = int(os.environ.get("THRIFTY_SEEDS", "0"))


def shifted(seed: int) -> int:
    """This seed, or the one of another run."""
    return seed + _SHIFT


def seeds(*limits: int) -> range:
    """As ``range``, of seeds."""
    numbers = range(*limits)
    return range(shifted(numbers.start), shifted(numbers.stop))


def seen(first: float, others: float) -> float:
    """What was measured and not proven: tight with the first seeds, or with others what luck asks.

    A change for the worse is noticed by the tight one, which every run of the tests holds.
    """
    return others if _SHIFT else first
