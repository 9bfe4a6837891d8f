"""Streams and events: what they wait for, and what they measure."""

import threading
import time

import pytest
import torch


def work(stream=None, size=700, rounds=8):
    """Something that takes a while; returns its result, not waited for."""
    with torch.tpu.stream(stream):
        x = torch.ones(size, size, device="tpu")
        for _ in range(rounds):
            x = x @ x * (1.0 / size)
    return x


@pytest.fixture(scope="module", autouse=True)
def compiled():
    work()
    torch.tpu.synchronize()


def test_kinds_and_names():
    stream, event = torch.tpu.Stream(), torch.tpu.Event()
    assert isinstance(stream, torch.Stream) and type(stream).__name__ == "TpuStream"
    assert isinstance(event, torch.Event) and type(event).__name__ == "TpuEvent"
    assert "tpu:0" in repr(stream) and "torch.tpu.Event" in repr(event)
    assert stream.device == torch.device("tpu:0") and stream.is_dense and not stream.is_sparse
    assert stream.priority_range() == (0, 0)
    assert torch.tpu.Stream(device=1).device == torch.device("tpu:1")
    assert torch.tpu.Stream("tpu:1", priority=-1).device.index == 1
    assert torch.Stream(device="tpu").device.type == "tpu"
    with pytest.raises(NotImplementedError, match="sparsecore"):
        torch.tpu.Stream(pinned="sparsecore")
    with pytest.raises(NotImplementedError, match="interprocess"):
        torch.tpu.Event(interprocess=True)


def test_streams_compare_by_identity_and_can_be_keys():
    stream = torch.tpu.Stream()
    assert stream != torch.tpu.Stream() and stream != torch.tpu.default_stream()
    with torch.tpu.stream(stream):
        assert torch.tpu.current_stream() == stream and torch.accelerator.current_stream() == stream
        assert {stream: 1}[torch.tpu.current_stream()] == 1
    assert torch.tpu.current_stream() == torch.tpu.default_stream()


def test_a_stream_context_sets_the_device_and_restores_both():
    other = torch.tpu.Stream(device=1)
    with torch.tpu.stream(other):
        assert torch.tpu.current_device() == 1 and torch.tpu.current_stream() == other
        assert torch.tpu.current_stream(0) == torch.tpu.default_stream(0)
        with torch.tpu.stream(None):
            assert torch.tpu.current_stream() == other
    assert torch.tpu.current_device() == 0
    assert torch.tpu.current_stream(1) == torch.tpu.default_stream(1)
    with other:
        assert torch.accelerator.current_stream() == other
    torch.tpu.set_stream(other)
    assert torch.tpu.current_device() == 1
    torch.tpu.set_stream(torch.tpu.default_stream(1))
    torch.tpu.set_stream(torch.tpu.default_stream(0))
    torch.tpu.set_stream(None)
    assert torch.tpu.current_device() == 0


def test_the_current_stream_is_of_the_thread():
    seen = []
    with torch.tpu.stream(torch.tpu.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.tpu.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch.tpu.default_stream()]


def test_a_stream_waits_for_its_own_work():
    a, b = torch.tpu.Stream(), torch.tpu.Stream()
    x = work(a)
    assert b.query()
    a.synchronize()
    assert a.query()
    assert x[0, 0].item() == pytest.approx(1, rel=1e-3)


def test_wait_stream_and_wait_event_carry_work_over():
    a, b, c = (torch.tpu.Stream() for _ in range(3))
    work(a)
    pending = not a.query()
    b.wait_stream(a)
    event = a.record_event()
    assert isinstance(event, torch.tpu.Event)
    c.wait_event(event)
    if pending and not a.query():
        assert not b.query() and not c.query()
    c.synchronize()
    assert a.query() and event.query()
    b.synchronize()
    event.wait(b)
    assert b.query()


def test_an_event_covers_what_was_launched_before_it():
    event = torch.tpu.Event()
    assert event.query()  # never recorded
    event.synchronize()
    work()
    event.record()
    event.synchronize()
    assert event.query() and torch.tpu.current_stream().query()


def test_elapsed_time_is_that_of_the_work():
    start, end = (torch.tpu.Event(enable_timing=True) for _ in range(2))
    torch.tpu.synchronize()
    begin = time.perf_counter()
    start.record()
    x = work(rounds=12)
    end.record()
    end.synchronize()
    passed = (time.perf_counter() - begin) * 1e3
    elapsed = start.elapsed_time(end)
    assert 0 < elapsed <= passed
    assert x.isfinite().all().item()
    # Later work is not part of it.
    work()
    torch.tpu.synchronize()
    assert start.elapsed_time(end) == elapsed


def test_elapsed_time_covers_most_of_what_the_host_sees():
    start, end = (torch.Event(device="tpu", enable_timing=True) for _ in range(2))
    start.record()
    begin = time.perf_counter()
    work(rounds=30)
    end.record()
    end.synchronize()
    passed = (time.perf_counter() - begin) * 1e3
    assert start.elapsed_time(end) > passed * 0.5


def test_elapsed_time_needs_two_recorded_and_timed_events():
    timed, plain = torch.tpu.Event(enable_timing=True), torch.tpu.Event()
    with pytest.raises(ValueError, match="recorded"):
        timed.elapsed_time(torch.tpu.Event(enable_timing=True))
    plain.record()
    timed.record()
    with pytest.raises(ValueError, match="enable_timing"):
        timed.elapsed_time(plain)
    start, end = (torch.tpu.Event(enable_timing=True) for _ in range(2))
    start.record()
    work(rounds=60)
    end.record()
    if not end.query():
        with pytest.raises(RuntimeError, match="completed"):
            start.elapsed_time(end)
    torch.tpu.synchronize()


def test_an_event_can_be_recorded_again_on_its_device_only():
    event = torch.tpu.Event(enable_timing=True)
    event.record()
    work()
    event.record()
    event.synchronize()
    assert torch.tpu.current_stream().query()
    with pytest.raises(RuntimeError, match="recorded first"):
        event.record(torch.tpu.Stream(device=1))


def test_events_order_across_devices():
    other = torch.tpu.default_stream(1)
    work()
    event = torch.tpu.current_stream().record_event()
    other.wait_event(event)
    other.synchronize()
    assert event.query()


def test_record_stream_is_accepted():
    x = torch.ones(3, device="tpu")
    x.record_stream(torch.tpu.Stream())
    y = x + 1
    del x
    assert y.tolist() == [2, 2, 2]


def test_many_threads_record_and_wait():
    errors = []

    def run():
        try:
            stream = torch.tpu.Stream()
            for _ in range(10):
                x = work(stream, size=50)
                event = stream.record_event()
                event.synchronize()
                assert x[0, 0].item() == pytest.approx(1, rel=1e-3)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
