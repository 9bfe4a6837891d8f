"""The devices' default random generators. None of this starts the plugin."""

from collections.abc import Iterable

import torch
from torch.tpu._device import device_index_of

from torch_tpu import _C

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

_Device = torch.device | str | int | None

_generators: tuple[torch.Generator, ...] = ()


def _default_generators() -> tuple[torch.Generator, ...]:
    global _generators
    count = _C.device_count()
    if len(_generators) != count:  # the plugin may show more devices once it runs
        _generators = tuple(_C.default_generator(index) for index in range(count))
    return _generators


def _generator(device: _Device) -> torch.Generator:
    if _C.in_bad_fork():
        _C.start()  # says what is wrong
    index = device_index_of(device)
    _C.check_device(index)
    return _default_generators()[index]


def get_rng_state(device: _Device = "tpu") -> torch.Tensor:
    """The state of a device's generator: 16 bytes, the seed and the offset."""
    return _generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: _Device = "tpu") -> None:
    """Gives a device's generator a state that ``get_rng_state`` returned."""
    _generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """The state of every device's generator."""
    return [get_rng_state(index) for index in range(_C.device_count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Gives each device's generator its state, in the devices' order."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator; nothing where there is no device."""
    if _C.device_count() > 0:
        _generator(None).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds every device's generator. ``torch.manual_seed`` does it, too."""
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise RuntimeError(
            f"torch.tpu.manual_seed_all: expected a seed from -2**63 to 2**64 - 1, got {seed}"
        )
    _C.seed_default_generators(seed % 2**64)


def seed() -> None:
    """Seeds the current device's generator with a number that nobody can tell beforehand."""
    if _C.device_count() > 0:
        _generator(None).seed()


def seed_all() -> None:
    """Seeds every device's generator with one number that nobody can tell beforehand."""
    if _C.device_count() > 0:
        manual_seed_all(_generator(0).seed())


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _generator(None).initial_seed()
