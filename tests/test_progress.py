"""The running line, watched where a user sees it: in a terminal, in a pipe, from the commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

SLOW = """
import os, time

def ask(ids, names):
    time.sleep(float(os.environ["PAUSE"]))
    return [[(int(i) + len(name)) % 2 for name in names] for i in ids]
"""
USE = """
import os, sys
import thrifty
from slow import ask

ids, names = [str(i) for i in range(60)], ["a", "bb", "ccc", "dddd", "eeeee"]
for progress, pause in {runs}:
    os.environ["PAUSE"] = str(pause)
    source = thrifty.Source.from_callable(
        ask, name="lab", examples=ids, features=names, max_cells=30,
        prices=thrifty.PriceList(2, currency="EUR"),
    )
    life = thrifty.Lifetime(
        thrifty.Trees(max_depth=2, learner=thrifty.trees.Paper()),
        budget=thrifty.Budget(total="2000 EUR"), progress=progress,
    )
    life.learn("[red] stroke", source, [i % 2 for i in range(60)])
    print("done", flush=True)
    print("---", file=sys.stderr, flush=True)
"""
#: ten calls; the line comes after a second
OFTEN, LONG_ENOUGH = 0.4, 0.25
LINE = re.compile(
    r"stroke: (\d+) of at most 300 cells, ([\d,.]+) EUR, \d+ cells a second, ([\d,.]+) EUR left"
)
#: said once on a new machine
COMPILED = re.compile(r"thrifty: compiling kernels .*\n")
COMMAND = """
store: s.db
family: {name: Lists, max_depth: 2}
prices: {per_feature: 2, currency: EUR}
budget: 2000 EUR
source:
  callable: slow:ask
  name: lab
  examples: [EXAMPLES]
  features: [a, bb, ccc, dddd, eeeee]
  max_cells: 30
tasks:
  - {name: stroke, labels: labels.csv}
""".replace("EXAMPLES", ", ".join(f"'{i}'" for i in range(60)))


def surroundings(folder):
    # the very package that is tested, and the module beside the script
    import thrifty

    path = os.pathsep.join([str(Path(thrifty.__file__).parents[1]), str(folder)])
    pause = str(OFTEN)
    return {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "200", "PAUSE": pause}


def on_a_screen(folder, *command):
    """Start a program whose only screen is a terminal of ours; what it writes comes from there."""
    ours, its = pty.openpty()
    there = {"cwd": folder, "env": surroundings(folder), "start_new_session": True}
    running = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, **there)
    os.close(its)
    return running, ours


def said_there(running, screen):
    said = b""
    while True:
        try:
            more = os.read(screen, 65536)
        except OSError:  # the last one who held it has gone
            break
        if not more:
            break
        said += more
    os.close(screen)
    assert running.wait() == 0, said.decode()
    return said.decode()


def script(folder, *runs):
    place = folder / f"use{len(list(folder.iterdir()))}.py"
    place.write_text(USE.format(runs=runs))
    return [sys.executable, place.name]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each program said: all are started at once, for they mostly wait."""
    folder = tmp_path_factory.mktemp("said")
    (folder / "slow.py").write_text(SLOW)
    (folder / "tasks.yaml").write_text(COMMAND)
    (folder / "labels.csv").write_text("id,stroke\n" + "".join(f"{i},{i % 2}\n" for i in range(60)))
    heard_by = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    piped = script(folder, (None, LONG_ENOUGH), (True, LONG_ENOUGH))
    pipe = subprocess.Popen(piped, cwd=folder, env=surroundings(folder), **heard_by)
    typed = ["-c", "from thrifty.cli import main; main()", "learn", "tasks.yaml"]
    screens = {
        "terminal": on_a_screen(folder, *script(folder, (None, OFTEN), (False, LONG_ENOUGH))),
        "command": on_a_screen(folder, sys.executable, *typed),
    }
    heard = {name: said_there(*started) for name, started in screens.items()}
    out, err = pipe.communicate()
    assert pipe.returncode == 0, err
    return {**heard, "out": out, "err": err}


def test_in_a_terminal_a_line_runs_and_goes(said):
    shown, _, _ = said["terminal"].partition("---")
    seen = [tuple(float(x.replace(",", "")) for x in m) for m in LINE.findall(shown)]
    assert len(seen) > 3 and "[red] stroke" in shown
    cells = [c for c, _, _ in seen]
    assert cells == sorted(cells) and cells[0] < cells[-1] <= 300
    assert all(spent == 2 * c and left == 2000 - spent for c, spent, left in seen)
    last = shown[shown.rindex("\x1b[2K") :]  # the line is wiped, what the program says stays
    assert "stroke" not in last and "done" in last


def test_it_is_quiet_when_told(said):
    _, _, second = said["terminal"].partition("---")
    # where colorama is installed numba has it reset the colours when the program ends
    assert second.replace("\x1b[0m", "").split() == ["done", "---"]


def test_in_a_pipe_nothing_moves(said):
    assert said["out"] == "done\ndone\n"
    by_itself, when_told, rest = COMPILED.sub("", said["err"]).split("---\n")
    assert by_itself == rest == ""
    assert len(LINE.findall(when_told)) == when_told.count("\n") == 1
    assert all(c.isprintable() or c == "\n" for c in when_told)


def test_the_commands_show_it(said):
    line = r"stroke: \d+ of at most 300 cells, [\d,.]+ EUR, \d+ cells a second"
    assert re.search(line, said["command"])
