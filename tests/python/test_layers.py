"""The layer check: this tree keeps to the rooms, and each kind of violation is seen."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check_layers.py"


def run_check(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOL), str(root)], capture_output=True, text=True, check=False
    )


def make_tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / "csrc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_this_tree_keeps_to_the_layers():
    result = run_check(ROOT)
    assert result.returncode == 0, result.stdout


def test_allowed_includes_pass(tmp_path):
    make_tree(
        tmp_path,
        {
            "base/shape.h": "#include <vector>\n#include <c10/util/SmallVector.h>\n",
            "pjrt/api.h": '#include "base/shape.h"\n#include <pjrt_c_api.h>\n',
            "hlo/builder.cc": '#include "hlo/builder.h"\n#include "base/shape.h"\n',
            "exec/launch.cc": '#include "pjrt/api.h"\n#include "lowering/op_call.h"\n',
            "eager/copy.cc": '#include <ATen/ATen.h>\n#include "exec/launch.h"\n',
            "python/module.cc": "#include <torch/extension.h>\n#include <pybind11/stl.h>\n",
        },
    )
    result = run_check(tmp_path)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("name", "include", "said"),
    [
        ("base/log.h", '"pjrt/api.h"', "only rooms up to base"),
        ("pjrt/client.cc", '"exec/launch.h"', "only rooms up to pjrt"),
        ("exec/launch.cc", '"eager/storage.h"', "only rooms up to exec"),
        ("hlo/builder.h", '"pjrt/api.h"', "no header of pjrt in hlo"),
        ("lowering/view.cc", '"pjrt/buffer.h"', "no header of pjrt in lowering"),
        ("hlo/printer.cc", '"pjrt_c_api.h"', "the PJRT header only in"),
        ("base/log.cc", "<xla/pjrt/c/pjrt_c_api.h>", "the PJRT header only in"),
        ("lowering/reduce.cc", "<ATen/core/Tensor.h>", "ATen and torch only in"),
        ("exec/program.h", "<torch/library.h>", "ATen and torch only in"),
        ("eager/hooks.cc", "<pybind11/pybind11.h>", "pybind11 and the Python API only in python"),
        ("compile/graph.cc", "<torch/extension.h>", "pybind11 and the Python API only in python"),
        ("eager/copy.cc", '"storage.h"', "path that starts with a room"),
        ("eager/copy.cc", "<eager/storage.h>", "quotes around a header of this project"),
    ],
)
def test_violation_is_seen(tmp_path, name, include, said):
    make_tree(tmp_path, {name: f"// A file.\n  #  include {include}\n"})
    result = run_check(tmp_path)
    assert result.returncode == 1
    assert said in result.stdout
    assert f"csrc/{name}:2:" in result.stdout


def test_unknown_room_is_seen(tmp_path):
    make_tree(tmp_path, {"attic/old.cc": "", "stray.cc": ""})
    result = run_check(tmp_path)
    assert result.returncode == 1
    assert result.stdout.count("expected a file in one of the rooms") == 2


def test_a_comment_is_not_an_include(tmp_path):
    make_tree(tmp_path, {"base/log.h": '// #include "eager/copy.h"\n'})
    assert run_check(tmp_path).returncode == 0


def test_a_tree_without_csrc_is_an_error(tmp_path):
    result = run_check(tmp_path)
    assert result.returncode == 2
    assert "expected a folder csrc" in result.stderr
