"""``python -m torch_tpu cache``: compiled programs on disk."""

import contextlib
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypedDict

import typer
from rich.console import Console
from rich.table import Column, Table

from torch_tpu import _C

app = typer.Typer(help="Compiled programs that are kept on disk.", no_args_is_help=True)
_out = Console()
if not _out.is_terminal:
    _out.width = 240  # a file or a pipe is not 80 columns wide
_err = Console(stderr=True)

Folder = Annotated[
    Path | None,
    typer.Option("--dir", help="The folder; else as TORCH_TPU_CACHE_DIR and XDG_CACHE_HOME say."),
]


class Entry(TypedDict, total=False):
    """A file of the cache. The last three keys are there where it is a good record of a program."""

    name: str
    bytes: int
    last_use: float
    problem: str
    program: str
    compile_seconds: float
    executable: str


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Shows what went wrong in one line and ends with exit status 1."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, tarfile.TarError) as error:
        _err.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None


def _folder(folder: Path | None) -> str:
    return str(folder) if folder is not None else _C.cache_folder()


def _entries(folder: str) -> list[Entry]:
    return _C.cache_entries(folder) if Path(folder).exists() else []


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


@app.command()
def info(folder: Folder = None) -> None:
    """Where the cache lies, what it holds and whether it can be used."""
    with _errors():
        where = _folder(folder)
        exists = Path(where).exists()
        problem = _C.cache_why_not_trusted(where) if exists else ""
        entries = _entries(where) if not problem else []
        records = [entry for entry in entries if "program" in entry]
        limit = _C.cache_limit()
        state = "used" if exists else "not made yet"
        rows = {
            "folder": where,
            "state": f"not used: {problem}" if problem else state,
            "programs": len(records),
            "size": _size(sum(entry["bytes"] for entry in entries)),
            "limit": _size(limit) if limit else "none",
            "compiled in": f"{sum(entry['compile_seconds'] for entry in records):.1f} s",
        }
        if bad := sum(bool(entry["problem"]) for entry in entries):
            rows["bad files"] = f"{bad} (see verify)"
    for name, value in rows.items():
        _out.print(f"{name:<12} {value}", markup=False, highlight=False, soft_wrap=True)


@app.command(name="list")
def list_(
    folder: Folder = None,
    limit: Annotated[int, typer.Option(help="How many programs to show; 0 shows all.")] = 50,
) -> None:
    """The programs, those used last first."""
    with _errors():
        entries = _entries(_folder(folder))
    sizes = {entry["name"]: entry["bytes"] for entry in entries}
    records = [entry for entry in reversed(entries) if "program" in entry]
    table = Table(Column("program", no_wrap=True), "size", "compiled in", "last use")
    for entry in records[: limit or None]:
        table.add_row(
            entry["program"].replace("[", r"\["),
            _size(sizes.get(entry["executable"], 0)),
            f"{entry['compile_seconds']:.2f} s",
            f"{datetime.fromtimestamp(entry['last_use']):%Y-%m-%d %H:%M}",
        )
    _out.print(table)
    if limit and len(records) > limit:
        _out.print(f"{len(records) - limit} more; --limit 0 shows all")


@app.command()
def clear(folder: Folder = None) -> None:
    """Removes everything. Running processes go on and compile again what they need."""
    with _errors():
        where = _folder(folder)
        count = _C.cache_clear(where) if Path(where).exists() else 0
    _out.print(f"removed {count} files from {where}", soft_wrap=True)


@app.command()
def verify(
    folder: Folder = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the bad files.")] = False,
) -> None:
    """Checks every file; exit status 1 if one is bad and not removed."""
    with _errors():
        where = _folder(folder)
        entries = _entries(where)
        bad = [entry for entry in entries if entry["problem"]]
        for entry in bad:
            _out.print(f"{entry['name']}: {entry['problem']}", markup=False, soft_wrap=True)
            if remove:
                _C.cache_remove(where, entry["name"])
    _out.print(f"{len(entries)} files, {len(bad)} bad" + (", removed" if bad and remove else ""))
    if bad and not remove:
        raise typer.Exit(1)


@app.command()
def export(
    archive: Annotated[Path, typer.Argument(help="The tar file to write.")], folder: Folder = None
) -> None:
    """Writes the whole cache to a tar file, for machines with the same plugin and processor."""
    with _errors():
        where = _folder(folder)
        entries = [entry for entry in _entries(where) if not entry["problem"]]
        with tempfile.NamedTemporaryFile(dir=archive.parent, delete=False) as file:
            try:
                with tarfile.open(fileobj=file, mode="w") as tar:
                    for entry in entries:
                        _add(tar, entry, _C.cache_export(where, entry["name"]))
                os.replace(file.name, archive)
            except BaseException:
                os.unlink(file.name)
                raise
    _out.print(f"exported {len(entries)} files to {archive}", soft_wrap=True)


def _add(tar: tarfile.TarFile, entry: Entry, contents: bytes) -> None:
    member = tarfile.TarInfo(entry["name"])
    member.size, member.mtime, member.mode = len(contents), int(entry["last_use"]), 0o600
    tar.addfile(member, io.BytesIO(contents))


@app.command(name="import")
def import_(
    archive: Annotated[Path, typer.Argument(help="A tar file that `export` wrote.")],
    folder: Folder = None,
) -> None:
    """Adds what `export` wrote. It is code: import only what you would run."""
    with _errors():
        where = _folder(folder)
        if problem := _C.cache_why_not_trusted(str(archive)):
            raise ValueError(
                f"{archive}: expected a file that only you or root can write to, got one where "
                f"{problem}. Copy it, if you know whose it is"
            )
        count = 0
        with tarfile.open(archive) as tar:
            for member in tar:
                contents = tar.extractfile(member) if member.isfile() else None
                if contents is None:
                    raise ValueError(f"{member.name}: expected a plain file, got something else")
                if not _C.cache_import(where, member.name, contents.read()):
                    raise OSError(f"{where}: expected room for {member.name}, got none")
                count += 1
    _out.print(f"imported {count} files into {where}", soft_wrap=True)
