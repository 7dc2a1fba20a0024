"""``python -m thrifty.testing.simulator --histories 100000``: the long run, with its figures."""

from __future__ import annotations

import argparse
import sys
import time

from thrifty.testing.simulator.simulate import simulate_many

__all__ = ["main"]


def main() -> int:
    """Run seeds until there were enough, or the time is up; print what happened and was found."""
    parser = argparse.ArgumentParser(prog="python -m thrifty.testing.simulator")
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most")
    given = parser.parse_args()
    begun, worked = time.monotonic(), time.process_time()
    done = failed = 0
    while done < given.histories and time.monotonic() - begun < given.seconds:
        some = range(given.first + done, given.first + min(done + 100, given.histories))
        for history in simulate_many(some)[1]:
            failed += 1
            print(f"seed {history.seed}: {history.found[0]}; shortest: {history.plan}")
        done += len(some)
    seconds, cpu = time.monotonic() - begun, time.process_time() - worked
    print(
        f"{done:,} histories, {failed} breaches; {seconds:.0f} s, {cpu:.0f} s of one core: "
        f"{3600 * done / max(cpu, 1e-9):,.0f} histories an hour on a core"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
