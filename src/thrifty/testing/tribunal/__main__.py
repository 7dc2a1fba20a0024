"""``python -m thrifty.testing.tribunal``: the long run, with its figures."""

from __future__ import annotations

import argparse
import sys
import time

from thrifty.testing.postgres import postgres_server
from thrifty.testing.tribunal.history import Judgement
from thrifty.testing.tribunal.tribunal import Tribunal

__all__ = ["main"]


def main() -> int:
    """Run it and print what was injected and found."""
    parser = argparse.ArgumentParser(prog="python -m thrifty.testing.tribunal")
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--pauses", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stores", choices=("both", "sqlite"), default="both")
    given = parser.parse_args()
    begun = time.monotonic()

    def progress(verdict: Judgement) -> None:
        print(
            f"{time.monotonic() - begun:6.0f} s  {verdict.kills} kills  {verdict.pauses} pauses  "
            f"{'sound' if verdict.sound else 'NOT SOUND'}",
            file=sys.stderr,
            flush=True,
        )

    def run(**options: object) -> Judgement:
        return Tribunal(
            given.kills,
            given.pauses,
            workers=given.workers,
            seed=given.seed,
            progress=progress,
            **options,  # type: ignore[arg-type]
        ).run()

    if given.stores == "sqlite":
        verdict = run()
    else:
        with postgres_server() as server:
            verdict = run(
                new_database=server.new_database, restart=lambda: server.restart(crash=True)
            )
    print(verdict)
    print(f"took           {time.monotonic() - begun:.0f} s")
    return 0 if verdict.sound else 1


if __name__ == "__main__":
    sys.exit(main())
