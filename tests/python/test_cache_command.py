"""``python -m torch_tpu cache``."""

import os
import subprocess
import sys
import tarfile

import pytest

SCRIPT = """
    import torch
    x = torch.arange(6.0, device="tpu")
    x[1:3] += 1
    print(x.exp().sum().item(), torch.tpu.stats()["compiles"], torch.tpu.stats()["programs"])
"""


@pytest.fixture
def cache(tmp_path):
    """Runs a command of `cache` on tmp_path/cache; the folder can be replaced by --dir."""

    def run(*args, check=True):
        done = subprocess.run(
            [sys.executable, "-m", "torch_tpu", "cache", *map(str, args)],
            env={**os.environ, "TORCH_TPU_CACHE_DIR": str(tmp_path / "cache"), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def filled(run_python, tmp_path):
    def run(folder="cache"):
        done = run_python(SCRIPT, TORCH_TPU_QUIET="1", TORCH_TPU_CACHE_DIR=str(tmp_path / folder))
        value, compiles, programs = done.stdout.split()
        return value, int(compiles), int(programs)

    return run


def test_it_shows_what_is_there_and_clears_it(cache, filled, tmp_path):
    assert "not made yet" in cache("info").stdout
    assert "program" in cache("list").stdout
    assert "0 files, 0 bad" in cache("verify").stdout
    programs = filled()[2]
    info = cache("info").stdout
    assert str(tmp_path / "cache") in info and "4.0 GiB" in info
    assert f"programs     {programs}" in info
    listing = cache("list").stdout
    assert "aten::exp(float32[6])" in listing
    assert f"{programs - 1} more" in cache("list", "--limit", 1).stdout
    assert f"{2 * programs} files, 0 bad" in cache("verify").stdout
    assert f"removed {2 * programs} files" in cache("clear").stdout
    assert "programs     0" in cache("info").stdout
    assert filled()[1] == programs


def test_verify_finds_what_is_damaged(cache, filled, tmp_path):
    value, _, programs = filled()
    damaged = sorted((tmp_path / "cache").glob("*.executable"))[0]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (tmp_path / "cache" / "stranger").write_text("hello")
    done = cache("verify", check=False)
    assert done.returncode == 1
    assert f"{damaged.name}: its checksum is wrong" in done.stdout
    assert "stranger: it is cut short" in done.stdout
    assert f"{2 * programs + 1} files, 2 bad" in done.stdout
    assert "bad files    2" in cache("info").stdout
    assert "2 bad, removed" in cache("verify", "--remove").stdout
    assert f"{2 * programs - 1} files, 0 bad" in cache("verify").stdout
    assert filled()[:2] == (value, 1)


def test_an_exported_cache_warms_another_folder(cache, filled, tmp_path):
    value, compiles, programs = filled()
    assert compiles == programs
    archive = tmp_path / "warm.tar"
    assert f"exported {2 * programs} files" in cache("export", archive).stdout
    assert (
        f"imported {2 * programs} files" in cache("import", archive, "--dir", tmp_path / "b").stdout
    )
    assert filled("b") == (value, 0, programs)


def test_what_is_not_an_export_is_refused(cache, filled, tmp_path):
    filled()
    archive = tmp_path / "warm.tar"
    cache("export", archive)

    def refusal(path):
        done = cache("import", path, "--dir", tmp_path / "b", check=False)
        assert done.returncode == 1 and done.stderr.startswith("error: ")
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
    filled()
    (tmp_path / "cache").chmod(0o777)
    assert "not used: others may write to it" in cache("info").stdout
    for command in (["list"], ["verify"], ["clear"], ["export", tmp_path / "x.tar"]):
        done = cache(*command, check=False)
        assert done.returncode == 1 and "others may write to it" in done.stderr
    assert not (tmp_path / "x.tar").exists()


def test_the_package_itself_does_without_typer_and_rich(run_python):
    run_python(
        """
        import sys, torch, torch_tpu
        torch.ones(2, device="tpu")
        assert "typer" not in sys.modules and "rich" not in sys.modules
        """,
        TORCH_TPU_QUIET="1",
    )
