"""The ways a call can take to the device. A new one is one line here."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Door(NamedTuple):
    """`wrap` makes a function take this way; `settings` are the environment of its processes."""

    wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
    settings: dict[str, str]


DOORS = {
    "strict": Door(lambda f: f, {"TORCH_TPU_EAGER_MODE": "strict"}),
    "blocking": Door(lambda f: f, {"TORCH_TPU_EAGER_MODE": "blocking"}),
}
