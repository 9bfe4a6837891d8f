"""``python -m torch_tpu``."""

from torch_tpu._cli import app

app(prog_name="python -m torch_tpu")
