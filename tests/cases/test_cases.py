"""Runs every case of this folder on the device, each in a process of its own.

A case is a short script after a public bug report, kept as it was written: it asserts the right
values and names its source in its docstring. `python tests/cases/NAME.py tpu` runs one by hand.
"""

import contextlib
import multiprocessing
import os
import runpy
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TIMEOUT_S = 300

NEEDS_COMPILE = "needs the compile backend, which does not exist yet"
NEEDS_PROCESS_GROUP = "needs the process group tpu_dist, which does not exist yet"

LEFT_OUT = {
    "013_median_mode_kthvalue_conventions": NEEDS_COMPILE,
    "016_no_inverse_pair_folding": NEEDS_COMPILE,
    "023_compiled_softmax_with_scale_is_finite": NEEDS_COMPILE,
    "040_rotary_stack_of_strided_halves": NEEDS_COMPILE,
    "043_resize_on_view_of_intermediate_compiled": NEEDS_COMPILE,
    "047_compiled_mutation_of_nonleaf_view_input": NEEDS_COMPILE,
    "049_compiled_python_float_not_stale": NEEDS_COMPILE,
    "050_sampler_flags_not_frozen_and_topk_topp": NEEDS_COMPILE,
    "052_masked_batchnorm_and_dynamic_outputs": NEEDS_COMPILE,
    "053_dynamic_batch_recompiles_are_bounded": NEEDS_COMPILE,
    "055_cond_gradients_per_branch": NEEDS_COMPILE,
    "056_scan_gradient_buffers_not_shared": NEEDS_COMPILE,
    "058_eval_batchnorm_groupnorm_folding": NEEDS_COMPILE,
    "059_batchnorm_running_statistics": NEEDS_COMPILE,
    "061_export_keeps_argument_order_and_mutation": NEEDS_COMPILE,
    "062_bf16_python_scalar_keeps_dtype": NEEDS_COMPILE,
    "064_zero_size_indexing_and_strides": NEEDS_COMPILE,
    "073_scatter_reduce_include_self_and_ties": NEEDS_COMPILE,
    "080_sdpa_fully_masked_rows_are_zero": NEEDS_COMPILE,
    "088_compiled_loss_with_two_slices_of_one_batch": NEEDS_COMPILE,
    "091_autocast_inside_compile_and_custom_function": NEEDS_COMPILE,
    "092_optimizer_variants_agree": NEEDS_COMPILE,
    "100_ddp_and_fsdp2_single_process_match_plain": NEEDS_PROCESS_GROUP,
    "101_dtensor_mean_of_uneven_shards": NEEDS_PROCESS_GROUP,
}


def _cases() -> list:
    names = sorted(path.stem for path in FOLDER.glob("[0-9]*.py"))
    unknown = LEFT_OUT.keys() - set(names)
    assert not unknown, f"left out, but not in the folder: {sorted(unknown)}"
    return [
        pytest.param(name, marks=pytest.mark.skip(reason=LEFT_OUT[name]))
        if name in LEFT_OUT
        else name
        for name in names
    ]


def _run(path: str, output: str, status: Connection) -> None:
    """Runs the script as `python PATH tpu` does, its output and traceback going into a file."""
    with open(output, "w", buffering=1) as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        sys.stdout = sys.stderr = stream
        sys.argv = [path, "tpu"]
        try:
            runpy.run_path(path, run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
            code = 1
        status.send(code)


@pytest.fixture(scope="session")
def forks():
    """Processes that have imported torch, and have started no plugin: a case costs no import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch_tpu", "numpy"])
    return context


@pytest.mark.parametrize("name", _cases())
def test_case(name: str, forks, tmp_path: Path):
    output = tmp_path / "output.txt"
    ours, theirs = forks.Pipe(duplex=False)
    process = forks.Process(target=_run, args=(str(FOLDER / f"{name}.py"), str(output), theirs))
    process.start()
    theirs.close()
    process.join(TIMEOUT_S)
    if process.is_alive():
        process.kill()
        process.join()
    code = None
    with contextlib.suppress(EOFError):
        code = ours.recv() if ours.poll() else None
    text = output.read_text() if output.exists() else ""
    assert (code, process.exitcode) == (0, 0), (
        f"status {code}, process exit {process.exitcode}\n{text[-6000:]}"
    )
    assert text.splitlines()[-1:] == ["PASS"], text
