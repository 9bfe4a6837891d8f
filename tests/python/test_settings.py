"""Settings: what they accept, and that the page about them is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_about_settings_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "gen_docs.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "name, value, accepts",
    [
        ("TORCH_TPU_PLATFORM", "gpu", "one of auto|tpu|cpu"),
        ("TORCH_TPU_NUM_DEVICES", "two", "a non-negative integer"),
        ("TORCH_TPU_NUM_DEVICES", "-1", "a non-negative integer"),
        ("TORCH_TPU_EAGER_MODE", "lazy", "one of strict|blocking"),
        ("TORCH_TPU_MEMORY_LIMIT", "1GB", "a non-negative integer"),
        ("TORCH_TPU_CHECK_INDICES", "yes", "one of 0|1"),
    ],
)
def test_a_value_that_is_not_accepted_is_an_error_at_the_first_use(
    run_python, name, value, accepts
):
    done = run_python(
        f"""
        import torch
        for use in (torch.tpu.is_available, lambda: torch.ones(2, device="tpu")):
            try:
                use()
            except ValueError as error:
                text = str(error)
                assert {name!r} in text and {accepts!r} in text and {value!r} in text, text
            else:
                raise AssertionError("no error")
        assert torch.ones(2).sum() == 2
        """,
        **{name: value},
    )
    assert done.stderr == ""


def test_devices_come_in_the_number_asked_for(run_python):
    run_python(
        """
        import torch
        assert torch.tpu.device_count() == 4
        assert torch.ones(2, device="tpu:3").device.index == 3
        assert torch.tpu.device_count() == 4
        """,
        TORCH_TPU_NUM_DEVICES="4",
    )
    run_python(
        "import torch; torch.ones(2, device='tpu'); assert torch.tpu.device_count() == 1",
    )


@pytest.mark.parametrize(
    "name, value", [("TORCH_TPU_EAGER_MODE", "blocking"), ("TORCH_TPU_LAUNCH_BLOCKING", "1")]
)
def test_blocking_mode_can_be_set_from_outside(run_python, name, value):
    run_python(
        """
        import torch
        assert torch.tpu.eager_mode is torch.tpu.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING
        """,
        **{name: value},
    )


def test_index_checks_can_be_turned_off(run_python):
    run_python(
        """
        import torch
        torch.index_select(torch.ones(3, device="tpu"), 0, torch.tensor([5], device="tpu"))
        torch.tpu.synchronize()
        """,
        TORCH_TPU_CHECK_INDICES="0",
    )


def test_a_fallback_can_be_an_error(run_python):
    run_python(
        """
        import torch
        from torch_tpu.ops_table import registered_ops
        assert "aten::linalg_eig" not in dict(registered_ops())
        try:
            torch.linalg.eig(torch.eye(2, device="tpu"))
        except NotImplementedError as error:
            assert "aten::linalg_eig" in str(error)
        else:
            raise AssertionError("no error")
        assert torch.tpu.stats()["fallbacks"] == {"aten::linalg_eig": 1}
        """,
        TORCH_TPU_FALLBACK="error",
    )
