"""Every code block of the documentation runs, page by page, in an empty folder.

- ``python`` runs in the page's one namespace; a block of ``>>>`` lines is checked as a doctest.
- ``console``: every line that starts with ``$ `` runs in a shell and must succeed; lines below it
  are what it prints, whatever the figures. ``...`` stands for anything.
- ``text`` right below ``python``, joined by an empty line alone: what that prints, the same way.
- A block with a title, such as ``yaml title="tasks.yaml"``, is written to that file.
- ``text`` elsewhere is not run: commands that are not for a test (``make``, a dashboard).
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thrifty.cli import app

ROOT = Path(__file__).resolve().parents[2]
# docs/research is the record of earlier versions: nothing on it runs, and its names may be gone.
PAGES = [
    page
    for page in sorted(
        [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("examples/*.md")]
    )
    if page.parent.name != "research"
]
_FENCE = re.compile(r"^( *)```(\w+)?([^\n]*)\n(.*?)^\1```$", re.M | re.S)
_QUIET = {"text", "", None, "mermaid", "json", "csv", "yaml", "toml", "bibtex"}


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    code: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        indent, language, rest, code = match.groups()
        title = re.search(r'title="([^"]+)"', rest or "")
        plain = re.sub(rf"^{indent}", "", code, flags=re.M)
        line = text[: match.start()].count("\n") + 2
        found.append(Block(language or "", title.group(1) if title else "", plain, line))
    return found


def run_python(block: Block, page: Path, names: dict) -> None:
    if not block.code.lstrip().startswith(">>>"):
        padded = "\n" * (block.line - 1) + block.code  # tracebacks then name the page's line
        exec(compile(padded, str(page), "exec"), names)
        return
    parser, options = doctest.DocTestParser(), doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = parser.get_doctest(block.code, names, page.name, str(page), block.line - 1)
    runner = doctest.DocTestRunner(optionflags=options)
    runner.run(test, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, f"{page.name}, line {block.line}: the output differs"


def differs(shown: str, printed: str) -> str:
    """The first line of a page that was not printed, figures aside; "" where all were, in turn."""
    lines = [_figures_aside(line) for line in printed.splitlines()]
    for line in filter(None, shown.splitlines()):
        wanted = ".*".join(map(re.escape, _figures_aside(line).split("...")))
        at = next((i for i, one in enumerate(lines) if re.fullmatch(wanted, one)), None)
        if at is None:
            return f"{line!r} is not in what is printed:\n{printed}"
        lines = lines[at + 1 :]
    return ""


def _figures_aside(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\d[\d,]*(\.\d+)?", "#", line)).strip()


def run_console(block: Block, page: Path) -> None:
    """Our own commands run in this process, which has them loaded; others in a shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.code, re.M):
        words = shlex.split(command)
        if words[0] == "thrifty":
            asked = CliRunner().invoke(app, words[1:])
            why = f"{page.name}: {command}\n{asked.output}{asked.exception!r}"
            assert asked.exit_code == 0, why
            assert not differs(shown, asked.output), f"{why}\n{differs(shown, asked.output)}"
            continue
        typed = ["bash", "-euo", "pipefail", "-c", command]
        how = {"capture_output": True, "text": True, "timeout": 120}
        done = subprocess.run(typed, env={**os.environ, "PATH": path}, **how)
        assert done.returncode == 0, f"{page.name}: {command}\n{done.stdout}\n{done.stderr}"
        assert not differs(shown, done.stdout), f"{page.name}: {differs(shown, done.stdout)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    printed, ends = "", 0
    for block in blocks_of(page):
        if block.title:
            Path(block.title).write_text(block.code, encoding="utf-8")
        if block.language == "text" and block.line == ends + 3:
            assert not differs(block.code, printed), f"{page.name}: {differs(block.code, printed)}"
        if block.language in ("python", "pycon"):
            run_python(block, page, names)
        elif block.language in ("console", "bash", "sh", "shell"):
            run_console(block, page)
        else:
            assert block.language in _QUIET, f"{page.name}: what is {block.language!r}?"
        printed = capsys.readouterr().out
        ends = block.line + block.code.count("\n") if block.language == "python" else 0


def test_the_finder_finds_blocks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first = '```python title="x.py"\n1 / 0\n```'
    page.write_text(f"a\n{first}\n\n    ```console\n    $ false\n    ```\n")
    first, second = blocks_of(page)
    assert (first.title, first.line, second.code) == ("x.py", 3, "$ false\n")
    with pytest.raises(ZeroDivisionError):
        run_python(first, page, {})
    with pytest.raises(AssertionError, match="false"):
        run_console(second, page)
    run_console(Block("console", "", "$ echo 12 cells of 3.5 EUR\n7 cells of ...\n", 1), page)
    with pytest.raises(AssertionError, match="rows"):
        run_console(Block("console", "", "$ echo 12 cells\n12 rows\n", 1), page)
    assert not differs("a 1\nb\n", "a 2\nnote\nb") and differs("b\na\n", "a\nb")
