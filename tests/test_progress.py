"""The running line, watched where a user sees it: in a terminal, in a pipe, from the commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

SLOW = """
import time

def ask(ids, names):
    time.sleep(0.4)
    return [[(int(i) + len(name)) % 2 for name in names] for i in ids]
"""
USE = """
import sys
import thrifty
from slow import ask

ids, names = [str(i) for i in range(60)], ["a", "bb", "ccc", "dddd", "eeeee"]
source = thrifty.Source.from_callable(
    ask, name="lab", examples=ids, features=names, max_cells=30,
    prices=thrifty.PriceList(2, currency="EUR"),
)
life = thrifty.Lifetime(
    thrifty.Trees(max_depth=2, learner=thrifty.Paper()),
    budget=thrifty.Budget(total="2000 EUR"), progress={progress},
)
life.learn("[red] stroke", source, [i % 2 for i in range(60)])
print("done")
"""
LINE = re.compile(
    r"stroke: (\d+) of at most 300 cells, ([\d,.]+) EUR, \d+ cells a second, ([\d,.]+) EUR left"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


def surroundings(folder):
    # the very package that is tested, and the module beside the script
    import thrifty

    path = os.pathsep.join([str(Path(thrifty.__file__).parents[1]), str(folder)])
    return {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "200"}


def in_a_terminal(folder, *command):
    """What a program writes to a terminal that is its only screen."""
    ours, its = pty.openpty()
    running = subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, cwd=folder, env=surroundings(folder),
        start_new_session=True,
    )  # fmt: skip
    os.close(its)
    said = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # the last one who held it has gone
            break
        if not more:
            break
        said += more
    os.close(ours)
    assert running.wait() == 0, said.decode()
    return said.decode()


def script(folder, progress):
    (folder / "use.py").write_text(USE.format(progress=progress))
    return [sys.executable, "use.py"]


def test_in_a_terminal_a_line_runs_and_goes(folder):
    said = in_a_terminal(folder, *script(folder, "None"))
    seen = [tuple(float(x.replace(",", "")) for x in m) for m in LINE.findall(said)]
    assert len(seen) > 3 and "[red] stroke" in said
    cells = [c for c, _, _ in seen]
    assert cells == sorted(cells) and cells[0] < cells[-1] <= 300
    assert all(spent == 2 * c and left == 2000 - spent for c, spent, left in seen)
    last = said[said.rindex("\x1b[2K") :]  # the line is wiped, what the program says stays
    assert "stroke" not in last and "done" in last


def test_it_is_quiet_when_told(folder):
    said = in_a_terminal(folder, *script(folder, "False"))
    assert said.startswith("done") and "stroke" not in said


@pytest.mark.parametrize(("progress", "lines"), [("None", 0), ("True", 1)])
def test_in_a_pipe_nothing_moves(folder, progress, lines):
    asked = subprocess.run(
        script(folder, progress), cwd=folder, env=surroundings(folder), capture_output=True,
        check=True,
    )  # fmt: skip
    assert asked.stdout.decode() == "done\n"
    said = asked.stderr.decode()
    assert len(LINE.findall(said)) == said.count("\n") == lines
    assert all(c.isprintable() or c == "\n" for c in said)


def test_the_commands_show_it(folder):
    (folder / "tasks.yaml").write_text(
        textwrap.dedent(
            """
            store: s.db
            family: {name: Lists, max_depth: 2}
            prices: {per_feature: 2, currency: EUR}
            source:
              callable: slow:ask
              name: lab
              examples: [EXAMPLES]
              features: [a, bb, ccc, dddd, eeeee]
              max_cells: 30
            tasks:
              - {name: stroke, labels: labels.csv}
            """
        ).replace("EXAMPLES", ", ".join(f"'{i}'" for i in range(60)))
    )
    (folder / "labels.csv").write_text(
        "id,stroke\n" + "".join(f"{i},{i % 2}\n" for i in range(60))
    )
    command = [sys.executable, "-c", "from thrifty.cli import main; main()"]
    said = in_a_terminal(folder, *command, "learn", "tasks.yaml")
    assert re.search(r"stroke: \d+ of at most 300 cells, [\d,.]+ EUR, \d+ cells a second", said)
