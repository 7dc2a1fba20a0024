"""How our pictures look: lines, marks and hatches that differ without colour, light and dark.

Pictures are drawn once, in the light colours. As SVG those colours become CSS variables, so the
same picture follows the reader's light or dark screen.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from thrifty.on_demand import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Grid: TypeAlias = Literal["both", "x", "y"]
#: by series, so that a picture reads in black and white; a hatch for the second of two bars
LINES = ("-", "--", "-.", ":", (0, (8, 2, 1, 2, 1, 2)), (0, (5, 1, 1, 1)))
POINTS = ("o", "s", "^", "D", "v", "P")
HATCH = "///"

#: text and axes, grid, then the series; the pairs are (light, dark)
_COLOURS = {
    "ink": ("#2b2d33", "#e4e6eb"),
    "grid": ("#c9ccd3", "#4a4e57"),
    "one": ("#0b6e8a", "#5fc5e0"),
    "two": ("#b4531f", "#f2a06b"),
    "three": ("#6b4fa0", "#b9a3ea"),
    "four": ("#5f6b3a", "#b7c687"),
    "five": ("#8a2846", "#f08bab"),
}
INK, GRID = _COLOURS["ink"][0], _COLOURS["grid"][0]
SERIES = tuple(_COLOURS[name][0] for name in ("one", "two", "three", "four", "five"))


def figure(width: float = 7.2, height: float = 3.6) -> Figure:
    """An empty figure; says what to install where matplotlib is missing."""
    made: Figure = needed("matplotlib.figure", "drawing", "plots").Figure(
        figsize=(width, height), layout="constrained"
    )
    return made


def frame(axes: Axes, x: str, y: str, *, grid: Grid = "y", counts: bool = False) -> None:
    """Labelled axes, a quiet grid, no box; ``counts`` keeps the horizontal ticks whole numbers."""
    if counts:
        whole_ticks(axes.xaxis)
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    axes.tick_params(colors=INK, which="both")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
    axes.set_facecolor("none")
    axes.set_axisbelow(True)
    axes.grid(True, axis=grid, color=GRID, linewidth=0.6)


def whole_ticks(axis: Axis) -> None:
    """Ticks at whole numbers alone, where the axis chooses them itself."""
    from matplotlib.ticker import MaxNLocator

    locator = axis.get_major_locator()
    if isinstance(locator, MaxNLocator):
        locator.set_params(integer=True)


def legend(axes: Axes) -> None:
    """A legend without a box above the axes, where it covers nothing."""
    handles, _ = axes.get_legend_handles_labels()
    if len(handles) > 1:
        axes.legend(
            frameon=False, labelcolor=INK, fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 1),
            ncols=min(len(handles), 3), borderaxespad=0.2, handlelength=2.2, columnspacing=1.2,
        )  # fmt: skip


def value_axis(axes: Axes, values: Iterable[float], which: str = "y") -> None:
    """From 0 where that shows everything; else a logarithmic axis with ticks enough to read."""
    span = 40.0  # values that differ by more than this factor are shown on a logarithmic axis
    from matplotlib.ticker import Locator, LogLocator, NullLocator, SymmetricalLogLocator

    held = [float(value) for value in values]
    positive = [value for value in held if value > 0]
    axis = getattr(axes, f"{which}axis")
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    if high <= span * low:
        getattr(axes, f"set_{which}lim")(0, 1.08 * high)
    else:
        decades = math.log10(high / low)
        ticks = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0, 3.0) if decades < 4.5 else (1.0,)
        locator: Locator
        if len(positive) < len(held):
            getattr(axes, f"set_{which}scale")("symlog", linthresh=low)
            locator = SymmetricalLogLocator(base=10, linthresh=low, subs=ticks)
        else:
            getattr(axes, f"set_{which}scale")("log")
            locator = LogLocator(base=10, subs=ticks, numticks=20)
        axis.set_major_locator(locator)
        axis.set_minor_locator(NullLocator())
        axes.margins(x=0.1 if which == "x" else None, y=0.1 if which == "y" else None)
    axis.set_major_formatter(lambda x, _: short(x))


def short(number: float) -> str:
    """A number for the tick of an axis.

    >>> short(1500), short(120000), short(1500000), short(0.25), short(2000000000)
    ('1,500', '120,000', '1.5 M', '0.25', '2,000 M')
    """
    if abs(number) >= 1e6:
        return f"{number / 1e6:,.4g} M" if abs(number) < 1e9 else f"{number / 1e6:,.0f} M"
    return f"{number:,.0f}" if number == int(number) else f"{number:.3g}"


def plain_text(name: str, most: int = 28) -> str:
    """A name as it is: matplotlib reads a pair of dollar signs as mathematics."""
    text = name if len(name) <= most else name[: most - 1] + "…"
    return text.replace("$", r"\$")


def save_picture(
    path: Path, draw: Callable[[Axes], None], title: str = "", *, height: float = 3.6
) -> Path:
    """Draw on fresh axes and save as PNG or SVG, by the name; returns where it is."""
    sheet = figure(height=height)
    axes = sheet.subplots()
    draw(axes)
    if title:
        sheet.suptitle(title, color=INK, fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.savefig(path, dpi=140, facecolor="white")
    return path


def svg_of(draw: Callable[[Axes], None], *, width: float = 5.4, height: float = 3.6) -> str:
    """The picture as SVG text that follows the reader's colour scheme.

    Narrow enough that its text can be read where a phone makes it as wide as its screen.
    """
    sheet = figure(width, height)
    draw(sheet.subplots())
    import matplotlib

    # Text stays text: smaller, sharper, and found by a search in the page.
    # matplotlib has a type that names each of its settings
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "thrifty", "font.size": 10}
    out = io.StringIO()
    with matplotlib.rc_context(settings):
        sheet.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return _follow_scheme(out.getvalue())


def _follow_scheme(svg: str) -> str:
    """Put CSS variables for our colours, with their dark values, into the picture."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    for name, (light, _) in _COLOURS.items():
        svg = svg.replace(light, f"var(--{name})")
    svg = re.sub(r"font-family: [^;\"]*", "font-family: system-ui, sans-serif", svg)
    light = "".join(f"--{name}:{pair[0]};" for name, pair in _COLOURS.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in _COLOURS.items())
    style = f"<style>svg{{{light}}}@media(prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    start = svg.index(">") + 1
    return svg[:start] + style + svg[start:]
