"""torch.tpu and torch.accelerator: devices, properties, modes, counters."""

import dataclasses
import re
import threading

import pytest
import torch


@pytest.fixture(autouse=True)
def first_device():
    torch.tpu.set_device(0)
    yield
    torch.tpu.set_device(0)


def test_devices_are_counted_and_named():
    assert torch.tpu.device_count() == torch.accelerator.device_count() == 2
    assert torch.device("tpu").type == "tpu" and torch.device("tpu").index is None
    assert torch.device(1) == torch.device("tpu:1")
    assert torch.ones(2, device="tpu").device == torch.device("tpu:0")
    assert torch.ones(2).to(1).device == torch.device("tpu:1")
    assert torch.ones(2).to("tpu:1").get_device() == 1


def test_set_device_takes_every_form():
    for device in (1, "tpu:1", torch.device("tpu:1")):
        torch.tpu.set_device(0)
        torch.tpu.set_device(device)
        assert torch.tpu.current_device() == torch.accelerator.current_device_index() == 1
        assert torch.empty(1, device="tpu").device.index == 1
    torch.tpu.set_device("tpu")
    torch.tpu.set_device(-1)
    assert torch.tpu.current_device() == 1
    torch.accelerator.set_device_index(0)
    assert torch.tpu.current_device() == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.tpu.set_device(7),
        lambda: torch.empty(2, device="tpu:7"),
        lambda: torch.ones(2).to("tpu:7"),
        lambda: torch.tpu.synchronize(7),
        lambda: torch.Generator(device="tpu:7"),
        lambda: torch.Stream(device="tpu:7"),
        lambda: torch.tpu.memory_allocated(7),
        lambda: torch.tpu.get_device_properties(7),
        lambda: torch.tpu.get_rng_state(7),
    ],
)
def test_a_device_that_does_not_exist_is_an_error_that_says_how_many_do(use):
    with pytest.raises(RuntimeError, match=r"from 0 to 1, got 7\. There are 2 devices"):
        use()
    assert torch.tpu.current_device() == 0


def test_another_kind_of_device_is_an_error():
    with pytest.raises(ValueError, match="expected a tpu device, got 'cpu'"):
        torch.tpu.set_device("cpu")
    with pytest.raises(TypeError, match="got float"):
        torch.tpu.synchronize(1.5)


def test_device_contexts_restore_what_was():
    with torch.tpu.device(1):
        assert torch.empty(1, device="tpu").device.index == 1
        with torch.tpu.device(None):
            assert torch.tpu.current_device() == 1
        with torch.tpu.device_of(torch.empty(1, device="tpu:0")):
            assert torch.tpu.current_device() == 0
        with torch.tpu.device_of(torch.empty(1)):
            assert torch.tpu.current_device() == 1
    with torch.accelerator.device_index(1):
        assert torch.tpu.current_device() == 1
    with pytest.raises(KeyError), torch.tpu.device("tpu:1"):
        raise KeyError
    assert torch.tpu.current_device() == 0
    with torch.device("tpu:1"):
        assert torch.empty(1).device == torch.device("tpu:1")


def test_threads_start_at_device_0():
    torch.tpu.set_device(1)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.tpu.current_device()))
    thread.start()
    thread.join()
    assert seen == [0] and torch.tpu.current_device() == 1


def test_backward_runs_on_the_device_of_its_forward():
    x = torch.ones(3, device="tpu:1", requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.device == torch.device("tpu:1")


def test_properties_tell_the_truth():
    properties = torch.tpu.get_device_properties(1)
    assert dataclasses.is_dataclass(properties)
    with pytest.raises(dataclasses.FrozenInstanceError):
        properties.name = "TPU v9"
    assert properties.name == torch.tpu.get_device_name() == torch.tpu.get_device_name("tpu:1")
    assert properties.is_stand_in == (properties.platform == "cpu")
    assert properties.total_memory == torch.tpu.mem_get_info()[1] > 0
    assert properties.multi_processor_count == 1
    if properties.is_stand_in:
        assert "stand-in" in properties.name and "xla_cpu_pjrt" in properties.plugin
        assert torch.tpu.get_device_capability() == (0, 0)


@pytest.mark.parametrize(
    "kind, name, generation",
    [
        ("TPU v4", "TPU v4", 4),
        ("TPU v5 lite", "TPU v5e", 5),
        ("TPU v5", "TPU v5p", 5),
        ("TPU v5p", "TPU v5p", 5),
        ("TPU v6 lite", "TPU v6e", 6),
        ("TPU7x", "TPU v7", 7),
        ("NVIDIA H100", "NVIDIA H100", 0),
    ],
)
def test_names_of_tpus(monkeypatch, kind, name, generation):
    from torch.tpu import _properties

    found = {"kind": kind, "is_stand_in": False}
    monkeypatch.setattr(_properties, "_describe", lambda device: found)
    assert torch.tpu.get_device_name() == name
    assert torch.tpu.get_device_capability() == (generation, 0)


def test_dtypes_that_the_device_knows():
    assert torch.tpu.is_bf16_supported()
    assert torch.bfloat16 in torch.tpu.get_amp_supported_dtype()
    assert torch.get_autocast_dtype("tpu") == torch.bfloat16
    with torch.autocast("tpu"):
        assert torch.is_autocast_enabled("tpu")
    dtypes = torch.accelerator.get_device_capability()["supported_dtypes"]
    assert {torch.float32, torch.bfloat16, torch.int64, torch.complex64} <= set(dtypes)
    assert torch.quint8 not in dtypes


def test_eager_mode_can_be_read_and_written():
    mode = torch.tpu.EagerMode
    assert torch.tpu.eager_mode is mode.DEFER_NEVER and mode.DEFER_NEVER == 1
    torch.tpu.eager_mode = mode.DEFER_NEVER_AND_LAUNCH_BLOCKING
    try:
        assert torch.tpu.eager_mode == 2
        assert (torch.ones(2, device="tpu") + 1).tolist() == [2, 2]
        assert torch.tpu.current_stream().query()
    finally:
        torch.tpu.eager_mode = mode.DEFER_NEVER
    with torch.tpu.set_eager_mode(2):
        assert torch.tpu.eager_mode is mode.DEFER_NEVER_AND_LAUNCH_BLOCKING
    assert torch.tpu.eager_mode is mode.DEFER_NEVER


def test_eager_modes_that_do_not_exist():
    with pytest.raises(ValueError, match="expected to be one of DEFER_AND_FUSE"):
        torch.tpu.eager_mode = 9
    assert torch.tpu.eager_mode is torch.tpu.EagerMode.DEFER_NEVER


def test_blocking_mode_raises_at_the_line_that_failed():
    table, index = torch.ones(3, device="tpu"), torch.tensor([5], device="tpu")
    blocking = torch.tpu.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING
    with torch.tpu.set_eager_mode(blocking), pytest.raises(IndexError):
        torch.index_select(table, 0, index)


def test_an_index_check_surfaces_when_the_device_is_synchronized():
    table, index = torch.ones(3, device="tpu"), torch.tensor([5], device="tpu")
    for wait in (
        torch.tpu.synchronize,
        torch.accelerator.synchronize,
        torch.tpu.current_stream().synchronize,
    ):
        torch.index_select(table, 0, index)
        with pytest.raises(IndexError, match="index_select"):
            wait()
        wait()


def test_precision_is_a_stack_that_follows_the_backward_pass():
    from torch_tpu import _C

    Precision = torch.tpu.Precision
    assert _C.matmul_precision() == Precision.HIGHEST
    seen = []

    class Probe(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            seen.append((_C.matmul_precision(), threading.get_ident()))
            return grad

    with torch.tpu.precision(Precision.HIGH):
        assert _C.matmul_precision() == Precision.HIGH
        with torch.tpu.precision(Precision.DEFAULT):
            assert _C.matmul_precision() == Precision.DEFAULT
            Probe.apply(torch.ones(2, device="tpu", requires_grad=True)).sum().backward()
        assert _C.matmul_precision() == Precision.HIGH
    assert _C.matmul_precision() == Precision.HIGHEST
    assert [precision for precision, _ in seen] == [Precision.DEFAULT]


def test_precision_follows_torchs_own_setting():
    from torch_tpu import _C

    before = torch.get_float32_matmul_precision()
    assert before == "highest"
    try:
        for name, value in (("medium", 0), ("high", 1), ("highest", 2)):
            torch.set_float32_matmul_precision(name)
            assert torch.get_float32_matmul_precision() == name
            assert _C.matmul_precision() == value
    finally:
        torch.set_float32_matmul_precision(before)


def test_precision_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="expected to be one of DEFAULT, HIGH, HIGHEST"):
        torch.tpu.precision("fast")
    with pytest.raises(ValueError, match="got 7"):
        torch.tpu.precision(7)


def test_precision_reaches_the_programs(run_python, tmp_path):
    run_python(
        """
        import torch
        x, w = torch.ones(2, 2, device="tpu"), torch.ones(1, 1, 1, 1, device="tpu")
        for precision in torch.tpu.Precision:
            with torch.tpu.precision(precision):
                assert (x @ x).tolist() == [[2, 2], [2, 2]]
                torch.nn.functional.conv2d(x[None, None], w)
                x + 1
        torch.set_float32_matmul_precision("high")
        compiles = torch.tpu.stats()["programs"]
        x @ x
        assert torch.tpu.stats()["programs"] == compiles
        """,
        TORCH_TPU_DUMP_PROGRAMS=str(tmp_path),
    )
    texts = [path.read_text() for path in sorted(tmp_path.iterdir())]
    for op in ("dot_general", "convolution"):
        found = [
            re.findall(r"precision (\w+)", text) for text in texts if f"stablehlo.{op}" in text
        ]
        assert found == [["DEFAULT"] * 2, ["HIGH"] * 2, ["HIGHEST"] * 2]
    assert sum("aten::add.Tensor" in text for text in texts) == 1


def test_excess_precision_is_off_until_allowed():
    assert torch.tpu.allow_excess_precision is False
    x = torch.ones(3, 3, device="tpu")
    x + 1
    torch.tpu.allow_excess_precision = True
    try:
        assert torch.tpu.allow_excess_precision is True
        torch.tpu.reset_stats()
        assert (x + 1).tolist() == [[2.0] * 3] * 3
        assert torch.tpu.stats()["programs"] == 1  # a program of its own
    finally:
        torch.tpu.allow_excess_precision = False
    torch.tpu.reset_stats()
    x + 1
    assert torch.tpu.stats()["programs"] == 0


def test_stats_count_compiles_launches_and_bytes():
    # Of a rank that no other test adds: sizes that were many become padded programs.
    x = torch.ones(5, 7, 1, 1, 1, 1, 1, device="tpu")
    torch.tpu.reset_stats()
    assert torch.tpu.stats()["launches"] == 0
    first = x + 1
    once = torch.tpu.stats()
    assert once["launches"] == 1 and once["programs"] + once["cache_hits"] == 1
    second = x + 2
    twice = torch.tpu.stats()
    assert twice["launches"] == 2 and twice["programs"] == once["programs"]
    assert twice["cache_hits"] == once["cache_hits"] + 1
    second.cpu()
    torch.ones(11).to("tpu")
    first.to("tpu:1")
    stats = torch.tpu.stats()
    assert stats["bytes_to_host"] == 140 and stats["bytes_between_devices"] == 140
    assert stats["bytes_to_device"] >= 44
    assert stats["fallbacks"] == {} and stats["compile_seconds"] >= 0


def test_the_table_of_ops_can_be_read():
    import torch_tpu
    from torch_tpu.ops_table import registered_ops

    rows = torch_tpu.ops_table()
    assert "aten::add.Tensor" in rows
    forms = dict(registered_ops())
    assert forms["aten::add_.Tensor"] == forms["aten::add.out"] == "aten::add.Tensor"


def test_use_after_fork_is_an_error_and_no_hang(run_python):
    done = run_python(
        """
        import multiprocessing, os, torch

        x = torch.ones(2, device="tpu")

        def child():
            assert torch.tpu._is_in_bad_fork() and not torch.tpu.is_initialized()
            torch.manual_seed(1)  # the CPU's generator still works
            assert torch.ones(2).sum() == 2
            uses = [
                lambda: torch.ones(2, device="tpu"),
                lambda: x + 1,
                lambda: x.cpu(),
                lambda: torch.tpu.synchronize(),
                lambda: torch.accelerator.synchronize(),
                lambda: torch.tpu.manual_seed(1),
                lambda: torch.tpu.get_rng_state(),
                lambda: torch.tpu.current_stream().synchronize(),
            ]
            for i, use in enumerate(uses):
                try:
                    use()
                except RuntimeError as error:
                    assert "in a forked subprocess" in str(error), (i, error)
                else:
                    raise AssertionError(i)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(60)
        assert process.exitcode == 0, process.exitcode
        assert (x + 1).tolist() == [2, 2]
        """,
        TORCH_TPU_QUIET="1",
    )
    assert done.stderr == ""


def test_a_fork_before_the_first_use_is_fine(run_python):
    run_python(
        """
        import multiprocessing, torch

        def child():
            assert torch.ones(2, device="tpu").sum().item() == 2

        torch.manual_seed(1)
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(60)
        assert process.exitcode == 0, process.exitcode
        assert torch.ones(2, device="tpu").sum().item() == 2
        """,
        TORCH_TPU_QUIET="1",
    )


def test_errors_that_nobody_saw_show_at_exit(run_python):
    done = run_python(
        """
        import torch
        table, index = torch.ones(3, device="tpu"), torch.tensor([5], device="tpu")
        torch.index_select(table, 0, index)
        """,
        TORCH_TPU_QUIET="1",
    )
    assert "IndexError" in done.stderr
