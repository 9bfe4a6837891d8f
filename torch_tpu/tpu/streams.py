"""Streams and events.

PJRT runs programs in the order in which they need each other's results, so streams neither order
nor delay anything on the device. What they tell is what to wait for: ``Stream.synchronize`` waits
for what was launched while the stream was current, and for what the stream was told to wait for.
"""

import enum
from types import TracebackType
from typing import Any

import torch
from torch.tpu._device import device_index_of

from torch_tpu import _C

__all__ = [
    "CorePinningMode",
    "Event",
    "Stream",
    "StreamContext",
    "TpuEvent",
    "TpuStream",
    "current_stream",
    "default_stream",
    "set_stream",
    "stream",
]

_Device = torch.device | str | int | None


class CorePinningMode(enum.Enum):
    """Which of a TPU's cores a stream's work is to run on."""

    NONE = "none"
    TENSORCORE = "tensorcore"
    SPARSECORE = "sparsecore"


class TpuStream(torch.Stream):
    """A stream of a device. ``priority`` is accepted and has no effect."""

    def __new__(
        cls,
        device: _Device = None,
        priority: int = 0,
        *,
        pinned: CorePinningMode | str | None = None,
        **kwargs: Any,
    ) -> "TpuStream":
        if pinned is not None and CorePinningMode(pinned) is CorePinningMode.SPARSECORE:
            raise NotImplementedError(
                "torch.tpu.Stream: expected pinned to be none or tensorcore, got sparsecore, "
                "which is not offered yet"
            )
        if "stream_id" in kwargs:
            return super().__new__(cls, priority=priority, **kwargs)
        device = torch.device("tpu", device_index_of(device))
        return super().__new__(cls, device, priority=priority, **kwargs)

    @property
    def is_sparse(self) -> bool:
        """Whether it is pinned to SparseCores."""
        return False

    @property
    def is_dense(self) -> bool:
        """Whether it runs on TensorCores."""
        return True

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority: there is one only."""
        return (0, 0)

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Records an event, a new one where none is given."""
        if event is None:
            event = TpuEvent()
        event.record(self)
        return event

    def __repr__(self) -> str:
        return f"torch.tpu.Stream(device=tpu:{self.device_index}, stream_id={self.stream_id})"


class TpuEvent(torch.Event):
    """A point in a stream's work. ``blocking`` and ``external`` are accepted and have no effect."""

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
        device: _Device = None,
    ) -> "TpuEvent":
        if interprocess:
            raise NotImplementedError(
                "torch.tpu.Event: expected interprocess=False, got True, which is not offered"
            )
        device = torch.device("tpu", device_index_of(device))
        return super().__new__(cls, device, enable_timing=enable_timing, blocking=blocking)

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Milliseconds from the completion of what this event recorded to that of another's."""
        return _C.elapsed_time(self, end_event)

    def __repr__(self) -> str:
        return f"torch.tpu.Event(device={self.device}, event_id={self.event_id:#x})"


Stream = TpuStream
Event = TpuEvent


def _wrap(stream: torch.Stream) -> TpuStream:
    return TpuStream(
        stream_id=stream.stream_id,
        device_index=stream.device_index,
        device_type=stream.device_type,
    )


def current_stream(device: _Device = None) -> TpuStream:
    """This thread's current stream of a device."""
    return _wrap(torch.accelerator.current_stream(device_index_of(device)))


def default_stream(device: _Device = None) -> TpuStream:
    """The stream that each thread starts with."""
    index = device_index_of(device)
    _C.check_device(index)
    device_type = torch._C._autograd.DeviceType.PrivateUse1.value
    return TpuStream(stream_id=0, device_index=index, device_type=device_type)


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream current, and its device too. ``None`` changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: a stream, and its device, are current inside. ``None`` changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._before: tuple[int, TpuStream] | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self._before = _C.current_device(), current_stream(self.stream.device)
        set_stream(self.stream)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is None:
            return
        device, stream = self._before
        self._before = None
        set_stream(stream)
        _C.set_device(device)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Context manager: a stream is current inside. ``None`` changes nothing."""
    return StreamContext(stream)
