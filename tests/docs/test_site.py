"""The site builds with warnings as errors, and knows every page and every command."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_public_names import BY_MODULE

pytest.importorskip("mkdocs", reason="make docs builds the site and runs these")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_navigation(site: Path) -> None:
    menu = (site / "index.html").read_text(encoding="utf-8")
    there = [p.relative_to(ROOT / "docs").with_suffix(".html") for p in ROOT.glob("docs/**/*.md")]
    assert [str(page) for page in there if f'href="{page}"' not in menu] == []


def test_every_command_is_in_the_reference(site: Path) -> None:
    import typer.main

    from thrifty.cli import app

    page = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    for name in list(group.commands):
        group.load(name)
        command = group.commands[name]
        parts = getattr(command, "commands", {})
        for typed, one in {name: command, **{f"{name} {p}": c for p, c in parts.items()}}.items():
            assert f"thrifty {typed}" in page
            assert one.help, f"thrifty {typed} has no help"
            for option in one.params:
                assert option.name == "help" or option.help, f"thrifty {typed}: {option.name}"


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    import thrifty

    page = (site / "reference" / "python.html").read_text(encoding="utf-8")
    names = {*thrifty.__all__, *" ".join(BY_MODULE.values()).split()}
    missing = [name for name in names if not re.search(rf'id="thrifty\.[\w.]*\b{name}\b', page)]
    assert missing == []
    assert page.count("See Also") > 50


def test_the_site_asks_nobody_else(site: Path) -> None:
    """Fonts and scripts come with the site; links to other places are for people to click."""
    page = (site / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', page)
    assert loaded == []


def test_examples_without_a_heading_are_fenced() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from fenced_examples import fenced

    text = "Sum of :class:`~thrifty.Trees`.\n\n>>> [(1, 2), (3, 4)]\n[(1, 2)]"
    read = fenced(text)
    assert "Sum of `thrifty.Trees`." in read
    see = fenced("One.\n\nSee Also\n--------\nthrifty.Sure : when sure\nthrifty.Worth : by errors")
    assert see.endswith("- `thrifty.Sure`: when sure\n- `thrifty.Worth`: by errors")
    assert "```pycon\n>>> [(1, 2), (3, 4)]\n[(1, 2)]\n```" in read
