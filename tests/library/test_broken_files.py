"""Broken tuned tables and other broken files of the library: one error with file, line and remedy."""

import errno
import os
import re
import time
from pathlib import Path

import pytest

from pennympi import TopologyError
from pennympi.files import LARGEST_BYTES, FileError, read_toml, why_unwritable, write_whole
from pennympi.kernels.algorithm import Topology
from pennympi.selection import find
from pennympi.selection.table import Series, Tuned, read, write
from pennympi.topology import lay

TABLE = """note = "n"

[[measured]]
collective = "allreduce"
dtype = "float32"
bytes = [1024, 4096]
[measured.us]
ring = [9.0, 8]
one_shot = [nan, 3.5]
"""
# (part of the good table, its replacement, the message)
TABLES = [
    (TABLE, "", "measured is missing"),
    ('"n"', '"n', "is not TOML that can be read: .*line 1"),
    ('"n"', f"1{'0' * 5000}", "not TOML that can be read"),
    ('note = "n"\n', "", "note is missing"),
    ('dtype = "float32"\n', "", "dtype is missing"),
    ('"float32"', '"float33"', "dtype 'float33' is unknown"),
    ("[1024, 4096]", "[4096, 1024]", "do not rise"),
    ("[1024, 4096]", "[nan, 4096]", "not a table"),
    ("[9.0, 8]", "[9.0]", "'ring' = .9.0. is not a time in us, or nan, for each size"),
    ("[9.0, 8]", "[9.0, inf]", "is not a time in us"),
    ("[9.0, 8]", '[9.0, "8"]', "not a table"),
    ("one_shot =", "ring =", "is not TOML that can be read: Cannot overwrite.*line 9"),
    (TABLE, "a = " + "[" * 200000, "not TOML that can be read"),
]


@pytest.mark.parametrize(("good", "bad", "printed"), TABLES, ids=range(len(TABLES)))
def test_a_broken_table(tmp_path, good, bad, printed):
    path = tmp_path / "table.toml"
    assert good in TABLE
    path.write_text(TABLE.replace(good, bad))
    with pytest.raises(FileError) as error:
        read(path)
    text = str(error.value)
    assert str(path) in text and re.search(printed, text) and len(text) < 600, text
    assert "run `python -m pennympi tune` again" in str(error.value)


def no_file(tmp_path):
    """{name: path} of objects in place of a file."""
    found = {name: tmp_path / name for name in ("missing", "folder", "pipe", "link", "loop", "large", "latin", "utf16")}
    found["folder"].mkdir()
    os.mkfifo(found["pipe"])
    found["link"].symlink_to(tmp_path / "nowhere")
    found["loop"].symlink_to(found["loop"])
    with found["large"].open("w") as file:
        file.truncate(1 << 30)
    found["latin"].write_bytes(b"[[node]]\npes = 4 # \xe9")
    found["utf16"].write_bytes(TABLE.encode("utf-16"))
    return found | {"zero": "/dev/zero", "long": "x" * 5000, "nul": "a\0b", "below a file": found["latin"] / "table"}


def test_what_is_no_file(tmp_path):
    begin = time.monotonic()
    for name, path in no_file(tmp_path).items():
        with pytest.raises(FileError) as error:
            read_toml(Path(path))
        assert re.search("cannot be read: |is not TOML that can be read: ", str(error.value)), (name, error.value)
        with pytest.raises(TopologyError, match="is neither a known name nor a file that can be read"):
            lay(str(path), 4)
    assert time.monotonic() - begin < 5
    assert f"more than {LARGEST_BYTES} bytes" in str(pytest.raises(FileError, read_toml, tmp_path / "large").value)
    assert "can't decode byte 0xe9" in str(pytest.raises(FileError, read_toml, tmp_path / "latin").value)


def test_a_broken_table_is_a_warning(tmp_path, monkeypatch):
    topology = Topology((0, 0))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("PENNYMPI_TUNED", raising=False)
    usual = find.users_path("NVIDIA H200", topology)
    usual.parent.mkdir(parents=True)
    usual.write_text("pes = ")
    with pytest.warns(UserWarning, match="is not TOML that can be read: Invalid value") as caught:
        assert find.find("NVIDIA H200", topology).source == str(find.SHIPPED / usual.name)
    assert len(caught) == 1 and str(usual) in str(caught[0].message)
    usual.unlink()
    usual.symlink_to(tmp_path / "nowhere")
    with pytest.warns(UserWarning, match="no such file"):
        assert find.find("NVIDIA H200", topology)
    usual.unlink()
    table = Tuned('one "a"\ntwo\t\x01é😀', (Series("float32", (8,), {"ring": (1.0,)}),), str(usual))
    write(table, usual)
    assert find.find("NVIDIA H200", topology) == table
    monkeypatch.setenv("PENNYMPI_TUNED", "none")
    assert find.find("NVIDIA H200", topology) is None


def test_files_are_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a" / "b.txt"
    write_whole(path, "one")
    write_whole(path, b"two")
    assert path.read_text() == "two" and [one.name for one in path.parent.iterdir()] == ["b.txt"]
    link = tmp_path / "link"
    link.symlink_to(path)
    write_whole(link, "three")
    assert link.is_symlink() and path.read_text() == "three"
    long = tmp_path / ("x" * 255)
    write_whole(long, "four")
    assert long.read_text() == "four"
    for wrong, printed in (
        (tmp_path, "it is a folder"), ("/dev/null", "it is not a regular file"), (path / "c", "not a directory"),
        (tmp_path / ("x" * 256), "file name too long"), ("/proc/x", "no such file"), ("a\0b", "null"),
    ):  # fmt: skip
        assert printed in why_unwritable(Path(wrong)), wrong
        with pytest.raises(FileError, match=f"cannot be written: .*{printed}"):
            write_whole(Path(wrong), "x")


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, monkeypatch):
    """A file is also replaced if it is a mount point, which can't be renamed, and through a link."""
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path)
    write_whole(path, "one")

    def busy(*names):
        raise OSError(errno.EBUSY, "Device or resource busy")

    for mode in (0o600, 0o664):
        for name, rename in ((path, os.replace), (link, os.replace), (path, busy)):
            monkeypatch.setattr(os, "replace", rename)
            path.chmod(mode)
            write_whole(name, f"{mode} {name}")
            assert path.stat().st_mode & 0o777 == mode and path.read_text() == f"{mode} {name}"
        assert {one.name for one in tmp_path.iterdir()} == {"file", "link"} and link.is_symlink()
