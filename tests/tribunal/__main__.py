"""``python -m tests.tribunal``: the long run, with its figures.

With ``--results FILE`` a run is a line of that file, and what is printed is the sum of all of
them: a long run may be made in parts (``--seconds``, each with another ``--seed``).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tests.postgres import postgres_server
from tests.tribunal.history import Judgement
from tests.tribunal.rooms import MODELS, MONEY, PROVIDERS
from tests.tribunal.tribunal import Tribunal


def main() -> int:
    """Run it and print what was injected and found."""
    parser = argparse.ArgumentParser(prog="python -m tests.tribunal")
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--pauses", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--predictions", type=int, default=200)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--examples", type=int, default=60, help="in a room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stores", choices=("both", "sqlite"), default="both")
    parser.add_argument("--provider", choices=(*PROVIDERS, *MODELS), help="rooms of one kind alone")
    parser.add_argument("--money", choices=MONEY, help="rooms with one kind of prices alone")
    parser.add_argument("--says", choices=("no", "below", "above"), help="what is really billed")
    parser.add_argument(
        "--wards",
        action="store_true",
        default=None,
        help="rooms alone with learners that share a priced table, labels, answers and updates",
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most, about")
    parser.add_argument("--results", type=Path, help="a file with a line for each run")
    given = parser.parse_args()
    earlier = given.results.read_text() if given.results and given.results.exists() else ""
    before = sum((Judgement(**json.loads(x)) for x in earlier.splitlines()), Judgement())
    begun = time.monotonic()
    kind = {name: getattr(given, name) for name in ("provider", "money", "says", "wards")}
    chosen = {name: value for name, value in kind.items() if value is not None}
    if given.wards:
        chosen = {"provider": "plain", "gentle": True, **chosen}

    def progress(verdict: Judgement) -> None:
        if given.results is not None:  # after each room: a run that is cut short counts as well
            given.results.write_text(earlier + json.dumps(vars(verdict)) + "\n")
        print(
            f"{time.monotonic() - begun:6.0f} s  {verdict.kills} kills  {verdict.pauses} pauses  "
            f"{verdict.tasks} tasks  {verdict.predictions} predictions  "
            f"{'sound' if verdict.sound else 'NOT SOUND: ' + str(verdict.findings[-1:])}",
            file=sys.stderr,
            flush=True,
        )

    def run(**options: object) -> Judgement:
        return Tribunal(
            given.kills - before.kills,
            given.pauses - before.pauses,
            tasks=given.tasks - before.tasks,
            predictions=given.predictions - before.predictions,
            seconds=given.seconds,
            workers=given.workers,
            n_examples=given.examples,
            seed=given.seed,
            progress=progress,
            **chosen,
            **options,  # type: ignore[arg-type]
        ).run()

    if given.stores == "sqlite":
        verdict = run()
    else:
        with postgres_server() as server:
            verdict = run(
                new_database=server.new_database, restart=lambda: server.restart(crash=True)
            )
    print(before + verdict)
    print(f"took           {time.monotonic() - begun:.0f} s")
    return 0 if (before + verdict).sound else 1


if __name__ == "__main__":
    sys.exit(main())
