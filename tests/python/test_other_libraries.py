"""What Transformers, diffusers, accelerate and PyTorch's own helpers ask of a device module."""

import importlib.util

import pytest
import torch


def needs(name):
    found = importlib.util.find_spec(name) is not None
    return pytest.mark.skipif(not found, reason=f"{name} is not installed")


@needs("transformers")
def test_transformers_finds_the_device(run_python):
    run_python(
        """
        import torch
        from transformers import TrainingArguments, set_seed
        from transformers.utils import import_utils
        import tempfile

        assert import_utils.is_torch_tpu_available()
        assert import_utils.is_torch_bf16_available_on_device("tpu")
        with tempfile.TemporaryDirectory() as folder:
            assert TrainingArguments(folder, report_to=[]).device == torch.device("tpu:0")
        set_seed(11)
        assert torch.tpu.initial_seed() == 11
        """
    )


@needs("diffusers")
def test_diffusers_finds_the_device(run_python):
    run_python(
        """
        import torch
        from diffusers.utils.import_utils import is_torch_tpu_available
        from diffusers.utils.torch_utils import get_device, randn_tensor

        assert is_torch_tpu_available() and get_device() == "tpu"
        cpu = randn_tensor((3,), generator=torch.Generator().manual_seed(1), device="tpu")
        assert cpu.is_tpu
        own = [
            randn_tensor((3,), generator=torch.Generator("tpu").manual_seed(1), device="tpu")
            for _ in range(2)
        ]
        assert torch.equal(*own)
        """
    )


@needs("accelerate")
def test_accelerate_takes_the_device_that_it_is_told(run_python):
    run_python(
        """
        import torch
        from accelerate import Accelerator

        accelerator = Accelerator(mixed_precision="bf16")
        assert accelerator.device.type == "tpu"
        model = torch.nn.Linear(2, 1)
        model, optimizer = accelerator.prepare(
            model, torch.optim.SGD(model.parameters(), lr=0.1)
        )
        loss = model(torch.ones(1, 2, device=accelerator.device)).sum()
        accelerator.backward(loss)
        optimizer.step()
        assert model.weight.is_tpu
        """,
        ACCELERATE_TORCH_DEVICE="tpu",
    )


def test_pytorchs_device_tests_can_run_here(run_python):
    """What torch.testing makes of a class of device tests: one for tpu, and it passes."""
    run_python(
        """
        import unittest, torch
        from torch.testing._internal.common_device_type import (
            instantiate_device_type_tests, dtypes, onlyNativeDeviceTypes, deviceCountAtLeast
        )
        from torch.testing._internal.common_utils import TestCase

        class TestOurs(TestCase):
            @dtypes(torch.float32, torch.int64)
            def test_add(self, device, dtype):
                x = torch.ones(3, device=device, dtype=dtype)
                self.assertEqual((x + x).cpu(), torch.full((3,), 2, dtype=dtype))
                self.assertEqual(x.device.type, "tpu")

            @deviceCountAtLeast(2)
            def test_two(self, devices):
                x = torch.ones(3, device=devices[0])
                self.assertEqual(x, x.to(devices[1]).to(devices[0]))

        instantiate_device_type_tests(TestOurs, globals(), only_for=["privateuse1"])
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestOursPRIVATEUSE1)
        assert suite.countTestCases() == 3
        result = unittest.TextTestRunner().run(suite)
        assert result.wasSuccessful() and not result.skipped, result
        """,
        TORCH_TPU_NUM_DEVICES="2",
    )


def test_amp_helpers_know_the_device():
    assert torch.amp.is_autocast_available("tpu")
    scaler = torch.amp.GradScaler("tpu", init_scale=4.0)
    w = torch.ones(2, device="tpu", requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    with torch.autocast("tpu", dtype=torch.bfloat16):
        loss = (w * 2).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0, 0]
    with pytest.warns(UserWarning, match="not supported"):
        torch.autocast("tpu", dtype=torch.float64)


def test_a_loader_with_workers_feeds_the_device():
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    torch.ones(1, device="tpu")  # the plugin runs before the workers are forked
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, pin_memory=True)
    assert sum(batch.to("tpu").sum().item() for (batch,) in loader) == 28


def test_module_hooks_for_memory_and_random_state_exist():
    from torch.utils.checkpoint import get_device_states, set_device_states

    devices, states = get_device_states(torch.ones(1, device="tpu"))
    set_device_states(devices, states, device_type="tpu")
    assert devices == [0] and states[0].shape == (16,)
    assert torch.get_device_module("tpu") is torch.tpu
    assert torch.tpu._get_generator(torch.device("tpu:1")) is torch.tpu.default_generators[1]
