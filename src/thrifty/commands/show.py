"""``thrifty show``: one task, its model and its receipt."""

from __future__ import annotations

from typing import Annotated

import typer

from thrifty.commands.opening import (
    AsJson,
    LifetimeName,
    StorePlace,
    money,
    open_lifetime,
    print_json,
    visible,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def show(
        store: StorePlace,
        task: Annotated[str, typer.Argument(help="The name of the task.")],
        lifetime: LifetimeName = None,
        as_json: AsJson = False,
    ) -> None:
        """Show how a task was learned, what it cost, and its model."""
        life = open_lifetime(store, lifetime)
        model = life[task]
        learned = next(one for one in life.tasks if one.name == task)
        if as_json:
            print_json(
                {
                    **learned.bill_row(),
                    "failure": None if learned.failure is None else learned.failure.message,
                    "receipt": learned.receipt.to_dict(),
                    "model": model.to_dict(),
                }
            )
            return
        receipt = learned.receipt
        typer.echo(visible(f"{task}: {learned.route}"))
        if learned.failure is not None:
            typer.echo(visible(f"the representation was not enough: {learned.failure}"))
        typer.echo(
            f"{receipt.cells} cells for {money(receipt.cost, receipt.currency)}, at most "
            f"{receipt.max_cells_per_example} on one example; {receipt.reused_cells} reused, "
            f"{receipt.avoided_cells} avoided"
        )
        typer.echo(visible(str(model)))
