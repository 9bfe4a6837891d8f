"""The environment of a slice's ranks. What libtpu makes of it is not run here: that takes TPUs."""

import os
import subprocess
import sys

import pytest
import torch
from torch.tpu.distributed._launch_env import launch_env, rank_env

TWO_HOSTS = {"TPU_WORKER_HOSTNAMES": "a,b", "TPU_WORKER_ID": "1", "TPU_TOPOLOGY": "2x4"}


@pytest.mark.parametrize(
    ("chips", "topology"), [(1, "1,1,1"), (2, "2,1,1"), (4, "2,2,1"), (8, "2,4,1")]
)
def test_one_host(chips, topology):
    assert launch_env({}, nproc_per_node=chips) == {
        "WORLD_SIZE": str(chips),
        "TORCH_TPU_TOPOLOGY": topology,
        "TORCH_TPU_SLICEBUILDER_ADDRESSES": ",".join(f"localhost:{8476 + i}" for i in range(chips)),
    }


def test_several_hosts():
    made = launch_env(TWO_HOSTS, nproc_per_node=4)
    assert made["TORCH_TPU_TOPOLOGY"] == "2,4,1"
    assert made["TORCH_TPU_SLICEBUILDER_ADDRESSES"] == (
        "a:8476,a:8477,a:8478,a:8479,b:8476,b:8477,b:8478,b:8479"
    )
    assert {name: made[name] for name in ("WORLD_SIZE", "NNODES", "NODE_RANK")} == {
        "WORLD_SIZE": "8",
        "NNODES": "2",
        "NODE_RANK": "1",
    }
    assert (made["MASTER_ADDR"], made["MASTER_PORT"]) == ("a", "29500")


def test_job_index_says_which_host():
    env = {"TPU_WORKER_HOSTNAMES": "a,b", "JOB_COMPLETION_INDEX": "0"}
    assert launch_env(env, nproc_per_node=4)["NODE_RANK"] == "0"


def test_nothing_is_overwritten():
    env = TWO_HOSTS | {"MASTER_PORT": "1234", "NODE_RANK": "0", "TORCH_TPU_TOPOLOGY": "4,2,1"}
    made = launch_env(env, nproc_per_node=4)
    assert not made.keys() & env.keys()
    assert "MASTER_ADDR" in made


def test_each_rank_takes_its_own_chip():
    launcher = TWO_HOSTS | launch_env(TWO_HOSTS, nproc_per_node=4)
    ranks = [
        rank_env(launcher | {"RANK": str(r), "LOCAL_RANK": str(r % 4), "LOCAL_WORLD_SIZE": "4"})
        for r in range(8)
    ]
    addresses = launcher["TORCH_TPU_SLICEBUILDER_ADDRESSES"]
    for r, made in enumerate(ranks):
        assert made == {
            "TPU_VISIBLE_DEVICES": str(r % 4),
            "TPU_PROCESS_BOUNDS": "2,4,1",
            "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
            "TPU_PROCESS_ADDRESSES": addresses,
            "TPU_PROCESS_PORT": str(8476 + r % 4),
            "CLOUD_TPU_TASK_ID": str(r),
        }


@pytest.mark.parametrize(
    ("env", "kwargs", "message"),
    [
        ({"TPU_WORKER_HOSTNAMES": "a,b"}, {}, "expected TPU_WORKER_ID or JOB_COMPLETION_INDEX"),
        (TWO_HOSTS, {"nnodes": 3}, "expected 3 host names in TPU_WORKER_HOSTNAMES, got 2: a,b"),
        (TWO_HOSTS | {"TPU_WORKER_ID": "2"}, {}, "expected TPU_WORKER_ID below 2"),
        ({"TPU_TOPOLOGY": "4x4"}, {}, "expected TPU_TOPOLOGY of 4 chips, one for each rank"),
        ({"TPU_TOPOLOGY": "2by2"}, {}, "expected TPU_TOPOLOGY to be up to three numbers"),
        ({"TORCH_TPU_BASE_PORT": "x"}, {}, "expected TORCH_TPU_BASE_PORT to be an integer"),
        ({}, {"nnodes": 0}, "expected at least one host"),
    ],
)
def test_contradictions_are_named(env, kwargs, message):
    with pytest.raises(ValueError, match=message):
        launch_env(env, nproc_per_node=4, **kwargs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"WORLD_SIZE": "3"}, "expected WORLD_SIZE to be 4"),
        ({"RANK": "4"}, "expected RANK below 4"),
        ({"RANK": ""}, "expected RANK to be an integer of at least 0, got ''"),
        ({"LOCAL_RANK": "4"}, "LOCAL_RANK below 4"),
        ({"TORCH_TPU_SLICEBUILDER_ADDRESSES": "a,b,c,d"}, "expected host:port"),
    ],
)
def test_ranks_that_do_not_fit_are_named(change, message):
    env = launch_env({}, nproc_per_node=4)
    env |= {"RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "4"} | change
    with pytest.raises(ValueError, match=message):
        rank_env(env)


def _run(*command, **env):
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NNODES")
    }
    return subprocess.run(
        [sys.executable, *command], env=clean | env, capture_output=True, text=True, check=False
    )


def test_command_prints_assignments():
    done = _run("-m", "torch.tpu.distributed", "--nproc-per-node", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "WORLD_SIZE=2",
        "TORCH_TPU_TOPOLOGY=2,1,1",
        "TORCH_TPU_SLICEBUILDER_ADDRESSES=localhost:8476,localhost:8477",
    ]


def test_command_says_what_is_wrong():
    done = _run("-m", "torch.tpu.distributed", "--nnodes", "2")
    assert done.returncode == 1
    assert "expected 2 host names" in done.stderr
    assert done.stdout == ""


def test_rank_sets_its_own_environment_before_the_device_starts():
    code = """
import os, torch
torch.tpu.distributed.set_tpu_launch_env()
assert not torch.tpu.is_initialized()
print(os.environ["TPU_VISIBLE_DEVICES"], os.environ["TPU_PROCESS_PORT"], os.environ["WORLD_SIZE"])
torch.ones(1, device="tpu")
try:
    torch.tpu.distributed.set_tpu_launch_env()
except RuntimeError as error:
    print(error)
"""
    rank = {"RANK": "1", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2"}
    done = _run("-c", code, **rank)
    first, second = done.stdout.splitlines()
    assert first == "1 8477 2"
    assert "expected the device to be unused so far" in second


def test_public_name():
    assert torch.tpu.distributed.__all__ == ["set_tpu_launch_env"]
