"""Why did it compile? Records, log lines, and a warning for a line that compiles too often."""

import ast
import threading

import torch


def compiles_of(op):
    return [record for record in torch.tpu.compiles() if record["op"] == op]


def test_a_record_says_what_was_compiled_where_and_why():
    torch.tpu.reset_stats()
    x = torch.ones(17, 3, device="tpu")
    y = torch.ones(19, 3, device="tpu")
    x.sinc()  # sinc 1
    y.sinc()  # sinc 2
    y.t().sinc()
    first, second, third = compiles_of("aten::sinc")
    assert first["program"] == "aten::sinc(float32[17, 3])"
    assert first["difference"] == "the first program of this op"
    assert first["origin"] in ("compiled", "disk") and first["seconds"] > 0
    assert second["difference"] == "argument 0 is float32[19, 3], was float32[17, 3]"
    assert "with strides [1, 3] over float32[19, 3], was float32[19, 3]" in third["difference"]
    path, line = second["call_site"].rsplit(":", 1)
    assert path == __file__
    with open(path, encoding="utf-8") as file:
        assert "# sinc 2" in file.readlines()[int(line) - 1]
    assert torch.tpu.stats()["programs"] == len(torch.tpu.compiles())
    torch.tpu.reset_stats()
    assert torch.tpu.compiles() == []


def test_lines_of_library_code_count_as_those_that_called_them():
    torch.tpu.reset_stats()
    layer = torch.nn.Linear(23, 29).to("tpu")
    torch.nn.Sequential(layer)(torch.ones(31, 23, device="tpu"))
    assert compiles_of("aten::addmm")[0]["call_site"].startswith(__file__)


def test_what_the_backward_pass_compiles_has_no_line():
    torch.tpu.reset_stats()
    x = torch.ones(37, device="tpu", requires_grad=True)
    x.tan().sum().backward()
    assert [record["call_site"] for record in compiles_of("aten::tan")] != [""]
    assert "" in [record["call_site"] for record in torch.tpu.compiles()]


def test_dtypes_flags_and_lists_are_told():
    torch.tpu.reset_stats()
    x = torch.ones(41, 2, device="tpu")
    torch.cat([x, x.to(torch.bfloat16).float()[:3]])
    x.to(torch.float64).cumsum(1, dtype=torch.float32)
    texts = [record["program"] for record in torch.tpu.compiles()]
    assert (
        "aten::cat([float32[41, 2], float32[3, 2] with strides [2, 1] over float32[41, 2]], 0)"
        in texts
    )
    assert any("float64[41, 2], 1, float32" in text for text in texts)


def test_each_compile_can_be_printed(run_python):
    done = run_python(
        """
        import torch
        x = torch.ones(3, device="tpu")
        x.exp()
        """,
        TORCH_TPU_QUIET="1",
        TORCH_TPU_DISK_CACHE="0",
        TORCH_LOGS="+torch_tpu",
    )
    line = next(line for line in done.stderr.splitlines() if "aten::exp" in line)
    assert line.startswith("torch_tpu: compiled in 0.")
    assert line.endswith("s: aten::exp(float32[3]) at <string>:4; the first program of this op")


def test_a_line_that_compiles_again_and_again_is_warned_of_once(run_python, tmp_path):
    script = """
        import torch, warnings
        def grow(sizes):
            for size in sizes:
                torch.ones(size, device="tpu").exp()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            grow(range(1, 20))
        print([str(warning.message) for warning in caught])
    """
    settings = dict(
        TORCH_TPU_QUIET="1",
        TORCH_TPU_CACHE_DIR=str(tmp_path / "cache"),
        TORCH_TPU_RECOMPILE_WARNING="8",
        TORCH_TPU_GROWING_SHAPES="0",
        TORCH_TPU_LOG_COMPILES="1",
    )
    cold = run_python(script, **settings)
    (message,) = [text for text in ast.literal_eval(cold.stdout) if "aten::exp" in text]
    assert "expected at most 8 programs to be compiled for the line <string>:5" in message
    assert "argument 0 is float32[9], was float32[8]" in message
    assert "pad to a few sizes" in message
    assert cold.stderr.count("torch_tpu: compiled in ") >= 19
    # What is loaded costs little.
    warm = run_python(script, **settings)
    assert warm.stdout == "[]\n"
    assert "compiled in" not in warm.stderr and warm.stderr.count("torch_tpu: loaded in ") >= 19


def test_threads_that_compile_while_others_wait_for_the_interpreter():
    def work(index):
        for size in range(50, 56):
            assert torch.ones(size, device="tpu").tanh().shape == (size,)
            sum(range(10000))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)


def test_a_process_can_hold_few_programs(run_python):
    run_python(
        """
        import torch
        from torch_tpu import _C
        for _ in range(3):
            for size in range(1, 12):
                assert torch.ones(size, device="tpu").add_(1).sum().item() == 2 * size
        assert _C.num_programs() <= 8
        assert torch.tpu.stats()["programs"] > 3 * 11
        """,
        TORCH_TPU_QUIET="1",
        TORCH_TPU_MAX_PROGRAMS="8",
    )
