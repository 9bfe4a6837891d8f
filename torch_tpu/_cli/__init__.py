"""The command line ``python -m torch_tpu``; only this part of the package needs typer and rich."""

import typer

from torch_tpu._cli import cache

app = typer.Typer(
    help="What surrounds the device tpu of PyTorch.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
app.add_typer(cache.app, name="cache")


@app.callback()
def _main() -> None:
    """Keeps the names of the groups where there is only one."""


__all__ = ["app"]
