"""``python benchmarks/bench.py``: Thrifty against its peers and against the machine, in one run."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from studies.measure import machine, one_thread, table
from thrifty.errors import BadParameter
from thrifty.typing import Fields

__all__ = ["PARTS", "app"]

PARTS = ("scratch", "memory", "thresholds", "kernels", "disk", "metered", "engines")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def bench(
    only: Annotated[
        list[str] | None, typer.Option(help=f"One of {', '.join(PARTS)}; may be repeated.")
    ] = None,
    large: Annotated[
        bool, typer.Option(help="Also 5,000 x 50,000, where the peers take minutes.")
    ] = False,
    small: Annotated[bool, typer.Option(help="Small sizes: a look in seconds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure speed as ratios, with the machine, the versions and the noise."""
    unknown = sorted(set(only or ()) - set(PARTS))
    if unknown:
        raise BadParameter(f"--only must be one of {list(PARTS)}; got {unknown[0]!r}.")
    one_thread()
    told: Fields = {"machine": machine()}
    if not as_json:
        typer.echo("\n".join(f"{key}: {value}" for key, value in told["machine"].items()))
    for part in only or PARTS:
        told[part] = run_part(part, large=large, small=small)
        if not as_json:
            typer.echo(f"\n{part}\n{table(told[part])}")
    if as_json:
        typer.echo(json.dumps(told))


def run_part(part: str, *, large: bool, small: bool) -> list[Fields]:
    """The rows of one part."""
    from speed import disk, engines, kernels, metered, scratch, thresholds

    wide = (5_000, 50_000) if large else (2_000, 10_000)
    if part == "scratch":
        if small:
            return scratch.measure(500, 1_000, repeats=3, peers=1)
        rows = scratch.measure(*scratch.DEFAULT, repeats=9, peers=3)
        return rows + scratch.measure(*scratch.LARGE) if large else rows
    if part == "memory":
        return [scratch.memory(2_000, 5_000) if small else scratch.memory()]
    if part == "thresholds":
        return thresholds.measure(300, 120, 1) if small else thresholds.measure()
    if part == "kernels":
        return kernels.measure(*((500, 2_000) if small else wide))
    if part == "disk":
        return disk.measure(*((500, 2_000) if small else wide))
    if part == "metered":
        return metered.measure(200 if small else 2_000)
    return engines.measure(6, 500) if small else engines.measure()


if __name__ == "__main__":
    app()
