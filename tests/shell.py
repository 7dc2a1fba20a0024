"""Commands as somebody types them, in this process; programs in one of their own; scripts."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from thrifty.cli import app


def run(*typed: object, ok: bool = True, answers: str | None = None) -> Result:
    """What a command said; it ends well, or must not where ``ok=False``."""
    asked = CliRunner().invoke(app, [str(word) for word in typed], input=answers)
    assert (asked.exit_code == 0) == ok, f"{asked.output}{asked.exception!r}"
    return asked


def python(code: str, *arguments: object, **how: Any) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own; how it ended, and what it said."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    how = {"capture_output": True, "text": True, "timeout": 300, **how}
    return subprocess.run(command, check=False, **how)


def load(script: Path) -> ModuleType:
    """A script as a module of its own name."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    sys.modules[script.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
