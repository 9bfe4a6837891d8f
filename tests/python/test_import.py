"""How the package gets into PyTorch, and how little that costs."""

import importlib.metadata
import re
from pathlib import Path

import pytest
import torch

from torch_tpu import _autoload

ROOT = Path(__file__).resolve().parents[2]


def test_distribution_and_entry_point_exist():
    assert importlib.metadata.version("torch_tpu")
    points = importlib.metadata.entry_points(group="torch.backends")
    assert "torch_tpu._autoload:load" in {point.value for point in points}


@pytest.mark.parametrize(
    "order",
    [
        "import torch",
        "import torch_tpu, torch",
        "import torch, torch_tpu",
        "from torch_tpu import _autoload; import torch",
        "import torch, torch_tpu; torch_tpu._autoload.load(); torch_tpu._autoload.load()",
    ],
)
def test_every_order_of_imports_works_and_prints_nothing(run_python, order):
    done = run_python(
        f"""
        {order}
        assert torch.tpu.is_available()
        assert torch.accelerator.current_accelerator() == torch.device("tpu")
        assert torch.backends.tpu.is_built() and torch.backends.tpu.is_available()
        assert not torch.tpu.is_initialized()
        """
    )
    assert done.stdout == "" and done.stderr == ""


def test_without_autoload_an_import_of_ours_registers_the_device(run_python):
    run_python(
        """
        import torch
        assert not hasattr(torch, "tpu")
        import torch_tpu
        assert torch.ones(2, device="tpu").sum().item() == 2
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_import_starts_no_plugin_and_costs_little(run_python):
    done = run_python(
        """
        import sys, time, torch
        assert "torch_tpu" not in sys.modules
        start = time.process_time()
        import torch_tpu
        print(time.process_time() - start)
        with open("/proc/self/maps") as maps:
            loaded = maps.read()
        assert "xla_cpu_pjrt.so" not in loaded and "libtpu.so" not in loaded
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert float(done.stdout) < 0.3


def test_questions_about_devices_start_no_plugin(run_python):
    run_python(
        """
        import torch
        torch.manual_seed(3)
        assert torch.tpu.device_count() == 3 and torch.tpu.current_device() == 0
        torch.tpu.set_device(2)
        torch.tpu.get_rng_state_all()
        torch.tpu.synchronize()
        assert torch.tpu.memory_allocated() == 0
        assert torch.accelerator.is_available()
        assert not torch.tpu.is_initialized()
        """,
        TORCH_TPU_NUM_DEVICES="3",
    )


def test_submodules_are_one_module_under_one_name():
    import torch.tpu.memory
    import torch.tpu.streams

    assert torch.tpu.streams.Stream is torch.tpu.Stream
    assert torch.tpu.Stream.__module__ == "torch.tpu.streams"
    assert torch.get_device_module().__name__.split(".")[-1] == "tpu"
    with pytest.raises(ImportError, match="import as torch.tpu"):
        import torch_tpu.tpu  # noqa: F401


def test_names_of_the_device_module_can_be_imported():
    for name in torch.tpu.__all__:
        assert hasattr(torch.tpu, name), name
        assert name in dir(torch.tpu), name


def test_generated_methods_exist():
    x = torch.arange(3.0)
    assert not x.is_tpu and x.tpu().is_tpu and x.tpu(1).device == torch.device("tpu:1")
    assert torch.nn.Linear(2, 2).tpu().weight.is_tpu
    storage = x.untyped_storage()
    assert storage.tpu().is_tpu and not storage.is_tpu
    assert storage.tpu(1).cpu().tolist() == storage.tolist()
    packed = torch.nn.utils.rnn.pack_sequence([x])
    assert packed.tpu().is_tpu and not packed.is_tpu


def test_the_notice_of_the_stand_in_comes_once_and_can_be_silenced(run_python):
    script = "import torch; [torch.ones(2, device='tpu') for _ in range(3)]"
    loud = run_python(script, TORCH_TPU_PLATFORM="cpu")
    assert loud.stderr.count("stands in for a TPU") == 1 and loud.stdout == ""
    assert len(loud.stderr.splitlines()) == 1
    assert run_python(script, TORCH_TPU_PLATFORM="cpu", TORCH_TPU_QUIET="1").stderr == ""


def test_a_missing_tpu_is_an_error_at_the_first_use(run_python):
    done = run_python(
        """
        import torch
        assert not torch.tpu.is_available() and torch.tpu.device_count() == 0
        assert not torch.accelerator.is_available()
        torch.manual_seed(1)
        torch.tpu.manual_seed(1)
        torch.tpu.manual_seed_all(1)
        for attempt in range(2):
            try:
                torch.ones(2, device="tpu")
            except RuntimeError as error:
                assert "TORCH_TPU_PLATFORM=tpu: expected a TPU" in str(error), error
            else:
                raise AssertionError("no error")
        assert torch.ones(2).sum() == 2
        """,
        TORCH_TPU_PLATFORM="tpu",
    )
    assert done.stderr == ""


def test_a_path_that_is_no_plugin_is_an_error_at_the_first_use(run_python, tmp_path):
    library = tmp_path / "plugin.so"
    library.write_text("no library")
    run_python(
        f"""
        import torch
        for path in range(2):
            try:
                torch.ones(2, device="tpu")
            except RuntimeError as error:
                assert {str(library)!r} in str(error), error
            else:
                raise AssertionError("no error")
        """,
        TORCH_TPU_PJRT_PLUGIN=str(library),
    )


def test_another_accelerator_is_left_alone_unless_asked(monkeypatch):
    monkeypatch.delenv("TORCH_TPU_PLATFORM", raising=False)
    monkeypatch.setattr(_autoload, "_has_other_accelerator", lambda: True)
    monkeypatch.setattr(_autoload, "_has_tpu", lambda: False)
    assert not _autoload._is_wanted()
    monkeypatch.setattr(_autoload, "_has_tpu", lambda: True)
    assert _autoload._is_wanted()
    monkeypatch.setattr(_autoload, "_has_tpu", lambda: False)
    monkeypatch.setenv("TORCH_TPU_PLATFORM", "cpu")
    assert _autoload._is_wanted()


def test_tpus_are_found_on_the_pci_bus(tmp_path):
    def add(slot, vendor, kind):
        (tmp_path / slot).mkdir()
        (tmp_path / slot / "vendor").write_text(vendor + "\n")
        (tmp_path / slot / "device").write_text(kind + "\n")

    add("0000:00:01.0", "0x8086", "0x0063")
    add("0000:00:02.0", "0x1ae0", "0x0042")
    assert not _autoload._has_tpu(tmp_path)
    add("0000:00:03.0", "0x1ae0", "0x0063")
    assert _autoload._has_tpu(tmp_path)


def test_both_lists_of_pci_ids_agree():
    text = (ROOT / "csrc" / "pjrt" / "plugin.cc").read_text()
    ids = re.search(r"kTpuDevices = \{([^}]*)\}", text)[1]
    assert {i.strip() for i in ids.split(",")} == _autoload._TPU_DEVICES
    assert f"kGoogleVendor = {_autoload._GOOGLE_VENDOR};" in text


def test_a_place_taken_by_another_backend_is_a_warning(run_python):
    done = run_python(
        """
        import torch
        torch.utils.rename_privateuse1_backend("npu")
        import torch_tpu
        assert not hasattr(torch, "tpu")
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert "got 'npu'" in done.stderr


def test_paths_that_other_libraries_import():
    from torch_tpu._internal.sync import synchronize
    from torch_tpu.api import tpu_device

    x = torch.ones(2, device=tpu_device())
    assert x.device == tpu_device() == torch.device("tpu:0")
    synchronize()
    synchronize(None, wait=True)
    synchronize("tpu", wait=False)
    synchronize([x, torch.ones(1)])
