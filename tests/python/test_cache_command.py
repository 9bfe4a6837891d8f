"""``python -m torch_tpu cache``."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import textwrap

import pytest

runner = pytest.importorskip("typer.testing").CliRunner()

SCRIPT = """
    import json, torch
    x = torch.arange(6.0, device="tpu")
    x[1:3] += 1
    value, stats = x.exp().sum().item(), torch.tpu.stats()
    print(json.dumps([value, stats["compiles"], stats["programs"]]))
"""


def run_script(folder):
    """Runs SCRIPT in a new process; its value, and how many programs it compiled and needed."""
    out = subprocess.check_output(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        env={**os.environ, "TORCH_TPU_CACHE_DIR": str(folder)},
    )
    return json.loads(out)


@pytest.fixture
def cache(tmp_path):
    """Runs a command of `cache` on tmp_path/cache, or another folder."""
    from torch_tpu._cli import app

    def run(*args, folder=None, check=True):
        args = [*map(str, args), "--dir", str(folder or tmp_path / "cache")]
        done = runner.invoke(app, ["cache", *args], env={"COLUMNS": "200"})
        if check:
            assert done.exit_code == 0, done.output
        return done

    return run


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first") / "cache"
    return run_script(folder), folder


@pytest.fixture
def filled(first_run, tmp_path):
    """Fills tmp_path/cache; gives the number of programs."""
    (_, compiles, programs), folder = first_run
    assert compiles == programs
    shutil.copytree(folder, tmp_path / "cache")
    return programs


def test_it_shows_what_is_there_and_clears_it(cache, first_run, tmp_path):
    assert "not made yet" in cache("info").stdout
    assert "program" in cache("list").stdout
    assert "0 files, 0 bad" in cache("verify").stdout
    assert "removed 0 files" in cache("clear").stdout
    shutil.copytree(first_run[1], tmp_path / "cache")
    programs = first_run[0][2]
    info = cache("info").stdout
    assert str(tmp_path / "cache") in info and "4.0 GiB" in info
    assert f"programs     {programs}" in info
    listing = cache("list").stdout
    assert "aten::exp(float32[6])" in listing
    assert f"{programs - 1} more" in cache("list", "--limit", 1).stdout
    assert f"{2 * programs} files, 0 bad" in cache("verify").stdout
    assert f"removed {2 * programs} files" in cache("clear").stdout
    assert "programs     0" in cache("info").stdout


def test_verify_finds_what_is_damaged(cache, filled, tmp_path):
    damaged = sorted((tmp_path / "cache").glob("*.executable"))[0]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (tmp_path / "cache" / "stranger").write_text("hello")
    done = cache("verify", check=False)
    assert done.exit_code == 1
    assert f"{damaged.name}: its checksum is wrong" in done.stdout
    assert "stranger: it is cut short" in done.stdout
    assert f"{2 * filled + 1} files, 2 bad" in done.stdout
    assert "bad files    2" in cache("info").stdout
    assert "2 bad, removed" in cache("verify", "--remove").stdout
    assert f"{2 * filled - 1} files, 0 bad" in cache("verify").stdout


def test_an_exported_cache_warms_another_folder(cache, filled, first_run, tmp_path):
    archive, other = tmp_path / "warm.tar", tmp_path / "b"
    assert f"exported {2 * filled} files" in cache("export", archive).stdout
    assert f"imported {2 * filled} files" in cache("import", archive, folder=other).stdout
    assert run_script(other) == [first_run[0][0], 0, filled]


def test_what_is_not_an_export_is_refused(cache, filled, tmp_path):
    archive = tmp_path / "warm.tar"
    cache("export", archive)

    def refusal(path):
        done = cache("import", path, folder=tmp_path / "b", check=False)
        assert done.exit_code == 1 and done.stderr.startswith("error: ")
        return done.stderr

    archive.chmod(0o666)
    assert "others may write to it" in refusal(archive)
    archive.chmod(0o600)
    text = tmp_path / "text"
    text.write_text("hello")
    assert "error" in refusal(text)
    assert "No such file" in refusal(tmp_path / "missing.tar")

    def archive_of(name, contents):
        (tmp_path / "file").write_bytes(contents)
        with tarfile.open(tmp_path / "bad.tar", "w") as tar:
            tar.add(tmp_path / "file", arcname=name)
        return tmp_path / "bad.tar"

    good = sorted((tmp_path / "cache").glob("*.executable"))[0]
    assert "expected a file of an exported cache" in refusal(archive_of("../x.executable", b"x"))
    assert "its checksum is wrong" in refusal(archive_of(good.name, good.read_bytes()[:-1]))
    other = "0" * 40 + ".executable"
    assert "its checksum is wrong" in refusal(archive_of(other, good.read_bytes()))
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        link = tarfile.TarInfo(good.name)
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert "expected a plain file" in refusal(tmp_path / "bad.tar")
    assert not list((tmp_path / "b").glob("*.executable"))


def test_a_folder_that_cannot_be_trusted_is_an_error(cache, filled, tmp_path):
    (tmp_path / "cache").chmod(0o777)
    assert "not used: others may write to it" in cache("info").stdout
    for command in (["list"], ["verify"], ["clear"], ["export", tmp_path / "x.tar"]):
        done = cache(*command, check=False)
        assert done.exit_code == 1 and "others may write to it" in done.stderr
    assert not (tmp_path / "x.tar").exists()


def test_it_is_reached_through_the_package():
    done = subprocess.run(
        [sys.executable, "-m", "torch_tpu", "cache", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "python -m torch_tpu cache" in done.stdout


def test_the_package_itself_does_without_typer_and_rich(run_python):
    run_python(
        """
        import sys, torch, torch_tpu
        torch.ones(2, device="tpu")
        assert "typer" not in sys.modules and "rich" not in sys.modules
        """,
        TORCH_TPU_QUIET="1",
    )
