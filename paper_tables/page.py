"""One page that explains each row, and says where the theory holds and where it bends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from paper_tables.from_runs import Record, against_bounds, beside_paper, forms, growth
from paper_tables.placements import contests
from paper_tables.point import LETTERS, Grid
from paper_tables.row import Row
from paper_tables.verdicts import Verdict
from thrifty.typing import JsonLike

__all__ = ["page"]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem;
       color: #222 }
h1, h2 { line-height: 1.2 } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1rem }
table { border-collapse: collapse; font-size: 13px; margin: 0.8rem 0 }
th, td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; border-bottom: 1px solid #eee;
         vertical-align: top }
td.n { text-align: right; font-variant-numeric: tabular-nums }
.no { color: #b00020; font-weight: 600 } .yes { color: #1a7f37 }
img { max-width: 100% } code { background: #f5f5f5; padding: 0 0.2rem }
"""
_PARTS = {
    "cells": "the bill",
    "scratch_cells": "its part from scratch",
    "reused_cells": "its reused part",
}


def page(
    records: Sequence[Record],
    rows: Sequence[tuple[Row, Grid]],
    verdicts: Sequence[Verdict],
    pictures: Mapping[str, str],
    command: str,
) -> str:
    """The page as HTML; ``pictures`` are paths by row, and "placements"."""
    only = [row for row, _ in rows]
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>The paper's tables, measured</title><style>{_STYLE}</style>",
        _opening(records, verdicts, command),
        *(_row_section(records, row, grid, pictures) for row, grid in rows),
        _placement_section(records, pictures),
        "<h2>Every learner beside the paper's protocol</h2>",
        "<p>Bills as multiples of the paper's learner of the row (for the second table: Expansion) "
        "on the same stream, geometric mean over all points and seeds, with the range.</p>",
        _table(beside_paper(records, only)),
    ]
    return "\n".join(part for part in parts if part) + "</html>\n"


def _opening(records: Sequence[Record], verdicts: Sequence[Verdict], command: str) -> str:
    broken = [v for v in verdicts if not v.holds]
    return "\n".join(
        [
            "<h1>The paper's two tables, measured</h1>",
            f"<p>{len(records):,} runs, all in <a href='runs.csv'>runs.csv</a>; made by "
            f"<code>{escape(command)}</code>. A cell is one feature on one example; bills are of "
            "good tasks. m tasks, N features, K metafeatures, S examples, depth or degree d, "
            "r unrelated tasks, t terms.</p>",
            "<p>Learners: <b>paper</b> is the row's own protocol, every candidate bought on every "
            "row. <b>default</b> is Thrifty's: the same with racing, or lattice decoding for "
            "monomials and polynomials; in the second table with Doubling. <b>naive</b> compares "
            "all features seen. In the second table Expansion, Restart, Balanced and Doubling are "
            "the paper's protocol with a rule for unrelated tasks.</p>",
            f"<p>{len(verdicts) - len(broken)} of {len(verdicts)} claims hold. "
            + ("Those that do not come first, each with the reason.</p>" if broken else "</p>"),
            _verdict_table([*broken, *(v for v in verdicts if v.holds)]),
        ]
    )


def _verdict_table(verdicts: Sequence[Verdict]) -> str:
    lines = []
    for v in verdicts:
        mark = "<span class='yes'>holds</span>" if v.holds else "<span class='no'>does not</span>"
        why = f"<br><i>{escape(v.why)}</i>" if v.why else ""
        cells = [escape(v.row), escape(v.claim), escape(v.wanted), escape(v.measured) + why, mark]
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("row", "claim", "wanted", "measured", ""))
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _row_section(
    records: Sequence[Record], row: Row, grid: Grid, pictures: Mapping[str, str]
) -> str:
    bounds = [{k: v for k, v in x.items() if k != "row"} for x in against_bounds(records, [row])]
    parts = [
        f"<h2 id='{row.key}'>Table {row.table}: {escape(row.title)}</h2>",
        f"<p><code>{escape(row.theory)}</code></p><p>{escape(row.says)}</p>",
        _table(bounds),
        _forms(records, row),
        _growth(records, row, grid),
    ]
    if row.key in pictures:
        parts.append(f"<img src='{pictures[row.key]}' alt='bills along the axes of {row.key}'>")
    return "\n".join(part for part in parts if part)


def _forms(records: Sequence[Record], row: Row) -> str:
    lines = []
    fits = [(form, *fit) for form in row.forms for fit in forms(records, row, form).items()]
    for form, name, fit in fits:
        constants = "; ".join(f"{term}: {value}" for term, value in fit.coefficients.items())
        lines.append(
            {
                "learner": form.learner,
                "form": f"{name}: " + " + ".join(fit.coefficients),
                "constants, with intervals of 95 %": constants,
                "R^2": f"{fit.r_squared:.4f}",
                "points": fit.n,
            }
        )
    return _table(lines) if lines else ""


def _growth(records: Sequence[Record], row: Row, grid: Grid) -> str:
    lines = [
        {
            "grows": f"{_PARTS[g.part]} ({g.learner})",
            "with": LETTERS[g.axis],
            "slope on log axes": str(g.slope),
            "theory, same points": f"{g.theory:.3g}",
        }
        for g in growth(records, row, grid)
    ]
    return _table(lines) if lines else ""


def _placement_section(records: Sequence[Record], pictures: Mapping[str, str]) -> str:
    found = contests(records)
    if not found:
        return ""
    lines = [
        {
            "m": c.n_tasks,
            "r": c.n_unrelated,
            "m / (K N)": f"{c.m_over_kn:g}",
            **{rule: f"{cells:,.0f}" for rule, cells in c.worst.items()},
            "balanced / better": f"{c.times_better('balanced'):.2f}",
            "doubling / better": f"{c.times_better('doubling'):.2f}",
            "doubling / balanced": f"{c.worst['doubling'] / c.worst['balanced']:.2f}",
        }
        for c in found
    ]
    picture = pictures.get("placements")
    return "\n".join(
        [
            "<h2 id='placements'>Which rule is ahead</h2>",
            "<p>Each rule's bill on the placement that hurts it more. Doubling knows neither K nor "
            "r nor m and is ours, not the paper's: it forgets nothing and tries the metafeature "
            "used last, the last two, four, and so on.</p>",
            _table(lines),
            f"<img src='{picture}' alt='rules along m'>" if picture else "",
        ]
    )


def _table(lines: Iterable[JsonLike]) -> str:
    lines = list(lines)
    if not lines:
        return ""
    head = "".join(f"<th>{escape(str(name).replace('_', ' '))}</th>" for name in lines[0])
    body = "".join("<tr>" + "".join(map(_cell, line.values())) + "</tr>" for line in lines)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, float):
        return f"<td class='n'>{value:,.3f}</td>"
    if isinstance(value, int):
        return f"<td class='n'>{value:,}</td>"
    return f"<td>{escape(str(value))}</td>"
