"""What a device holds, and pinned host memory."""

import gc
import threading

import pytest
import torch

MIB = 2**20


@pytest.fixture(autouse=True)
def quiet_device():
    gc.collect()
    torch.tpu.synchronize()
    torch.tpu.reset_peak_memory_stats()


def test_tensors_are_counted_while_they_live():
    before = torch.tpu.memory_allocated()
    x = torch.ones(MIB, device="tpu")
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() - before == 4 * MIB
    assert torch.tpu.memory_allocated() == torch.accelerator.memory_allocated()
    y = x[10:].view(-1)
    assert torch.tpu.memory_allocated() - before == 4 * MIB
    del x, y
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() == before
    assert torch.tpu.max_memory_allocated() - before >= 4 * MIB
    torch.tpu.reset_peak_memory_stats()
    assert torch.tpu.max_memory_allocated() == before


def test_devices_are_counted_apart():
    before = torch.tpu.memory_allocated(0), torch.tpu.memory_allocated("tpu:1")
    x = torch.ones(MIB, device="tpu:1")
    torch.tpu.synchronize(1)
    assert torch.tpu.memory_allocated(0) == before[0]
    assert torch.tpu.memory_allocated(torch.device("tpu:1")) - before[1] == x.nbytes


def test_an_empty_tensor_takes_nothing_before_its_first_use():
    before = torch.tpu.memory_allocated()
    x = torch.empty(64 * MIB, device="tpu")
    assert torch.tpu.memory_allocated() == before
    assert x.numel() == 64 * MIB


def test_reserved_is_allocated_and_nothing_is_cached():
    x = torch.ones(MIB, device="tpu")
    assert torch.tpu.memory_reserved() == torch.tpu.memory_allocated() >= x.nbytes
    assert torch.tpu.max_memory_reserved() == torch.tpu.max_memory_allocated()
    assert torch.tpu.empty_cache() is None and torch.accelerator.empty_cache() is None


def test_free_and_total():
    free, total = torch.tpu.mem_get_info()
    assert total == torch.tpu.get_device_properties().total_memory
    x = torch.ones(MIB, device="tpu")
    torch.tpu.synchronize()
    assert free - torch.tpu.mem_get_info()[0] == x.nbytes
    assert torch.accelerator.get_memory_info() == torch.tpu.mem_get_info("tpu:0")


def test_stats_are_flat_and_ordered():
    torch.ones(MIB, device="tpu")
    stats = torch.tpu.memory_stats()
    assert list(stats) == sorted(stats)
    assert stats["allocated_bytes.all.peak"] == torch.tpu.max_memory_allocated()
    torch.tpu.reset_accumulated_memory_stats()
    assert (
        torch.tpu.memory_stats()["allocated_bytes.all.allocated"]
        <= stats["allocated_bytes.all.allocated"]
    )


def test_the_summary_is_for_people():
    x = torch.ones(MIB, device="tpu")
    text = torch.tpu.memory_summary()
    assert text.startswith("tpu:0 ") and "in use" in text and "MiB" in text
    assert len(torch.tpu.memory_summary(0, abbreviated=True).splitlines()) == 1
    assert torch.tpu._hbm_usage_summary() == torch.tpu.memory_summary(abbreviated=True)
    assert x.is_tpu


def test_sizes_for_people():
    from torch.tpu.memory import _size

    assert [_size(n) for n in (0, 1023, 1024, 3 * MIB // 2, 2**30, 2**41)] == [
        "0 B",
        "1023 B",
        "1.00 KiB",
        "1.50 MiB",
        "1.00 GiB",
        "2.00 TiB",
    ]


def test_out_of_memory_says_how_much_and_leaves_the_rest_alive(run_python):
    run_python(
        """
        import torch
        x = torch.ones(1000, device="tpu")
        try:
            torch.ones(1 << 20, device="tpu")
        except torch.OutOfMemoryError as error:
            for part in ("4.00 MiB", "tpu:0", "TORCH_TPU_MEMORY_LIMIT"):
                assert part in str(error), error
        else:
            raise AssertionError("no error")
        assert (x + 1).sum().item() == 2000
        assert torch.tpu.memory_stats()["num_ooms"] >= 1
        assert torch.tpu.mem_get_info()[1] == 1000000
        """,
        TORCH_TPU_MEMORY_LIMIT="1000000",
    )


def test_pinned_memory_is_known_as_pinned():
    x = torch.arange(1000.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and torch.equal(x, pinned)
    assert pinned[5:].is_pinned() and pinned.pin_memory() is pinned
    assert pinned.data_ptr() % 4096 == 0
    assert not pinned.clone().is_pinned()
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert torch.empty(0).pin_memory().numel() == 0
    assert not torch.ones(2, device="tpu").is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(2, device="tpu").pin_memory()


def test_pinned_memory_moves_both_ways_without_blocking():
    host = torch.arange(100000.0).pin_memory()
    x = host.to("tpu", non_blocking=True)
    host.zero_()  # the copy was made at the call
    back = torch.empty(100000, pin_memory=True)
    back.copy_(x, non_blocking=True)
    torch.tpu.synchronize()
    assert torch.equal(back, torch.arange(100000.0))


def test_pinned_memory_is_given_back():
    address = torch.ones(MIB).pin_memory().data_ptr()
    other = torch.ones(4 * MIB)
    assert not other.is_pinned() and address


def test_pinned_memory_from_many_threads():
    errors = []

    def run():
        try:
            for _ in range(50):
                assert torch.ones(1000).pin_memory().is_pinned()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_loader_pins_its_batches():
    data = torch.utils.data.TensorDataset(torch.arange(12.0))
    batches = list(torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True))
    assert all(batch.is_pinned() for (batch,) in batches)
    assert sum(batch.to("tpu", non_blocking=True).sum().item() for (batch,) in batches) == 66
