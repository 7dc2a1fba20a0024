"""Commands as somebody types them, in this process."""

from click.testing import Result
from typer.testing import CliRunner

from thrifty.cli import app


def run(*typed: object, ok: bool = True, answers: str | None = None) -> Result:
    """What a command said; it ends well, or must not where ``ok=False``."""
    asked = CliRunner().invoke(app, [str(word) for word in typed], input=answers)
    assert (asked.exit_code == 0) == ok, f"{asked.output}{asked.exception!r}"
    return asked
