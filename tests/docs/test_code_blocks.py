"""Every code block of the documentation runs, page by page, in an empty folder.

- ``python`` runs in the page's one namespace; a block of ``>>>`` lines is checked as a doctest.
- ``console``: every line that starts with ``$ `` runs in a shell and must succeed.
- A block with a title, such as ``yaml title="tasks.yaml"``, is written to that file.
- ``text`` is not run: output, and commands that are not for a test (``make``, a dashboard).
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


def run_console(block: Block, page: Path) -> None:
    """Our own commands run in this process, which has them loaded; others in a shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in re.findall(r"^\$ (.+)$", block.code, re.M):
        words = shlex.split(command)
        if words[0] == "thrifty":
            asked = CliRunner().invoke(app, words[1:])
            why = f"{page.name}: {command}\n{asked.output}{asked.exception!r}"
            assert asked.exit_code == 0, why
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path},
            timeout=120,
        )
        assert done.returncode == 0, f"{page.name}: {command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.title:
            Path(block.title).write_text(block.code, encoding="utf-8")
        if block.language in ("python", "pycon"):
            run_python(block, page, names)
        elif block.language in ("console", "bash", "sh", "shell"):
            run_console(block, page)
        else:
            assert block.language in _QUIET, f"{page.name}: what is {block.language!r}?"


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
