"""Files that only their owner may write: folders and files of others, links, and what lies in their place."""

import os
import resource
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from mpi4py import MPI

from pennympi.compile import private_files
from pennympi.compile.private_files import Untrusted, opened_folder

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests need one process", allow_module_level=True)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
SOMEBODY = 65534


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@contextmanager
def somebody():
    """The effective user is not root, whom no permission stops."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(SOMEBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def planted(path, kind):
    """What may lie in a file's place."""
    if kind == "link":
        victim = path.parent.parent / "victim"
        victim.write_bytes(b"of the victim")
        path.symlink_to(victim)
    elif kind == "folder":
        path.mkdir()
        (path / "inside").write_text("something")
    elif kind == "fifo":
        os.mkfifo(path, 0o600)
    elif kind == "of others":
        path.write_bytes(b"planted")
        path.chmod(0o666)
    elif kind == "of another":
        path.write_bytes(b"planted")
        os.chown(path, SOMEBODY, -1)


KINDS = ["link", "folder", "fifo", "of others", pytest.param("of another", marks=as_root)]


def test_what_is_made_is_private_whatever_the_umask(tmp_path, umask):
    root = tmp_path / "root"
    with opened_folder(root, "kernels", make=True) as folder:
        private_files.write(folder, "one", b"data")
        os.close(private_files.opened_to_lock(folder, "lock"))
        assert private_files.read(folder, "one") == b"data"
    assert not [path for path in tmp_path.rglob("*") if mode(path) & 0o077]
    assert mode(root / "kernels") == 0o700 and mode(root / "kernels" / "one") == 0o600


def test_a_folder_above_that_is_missing_is_private_too(tmp_path):
    before = os.umask(0)
    with opened_folder(tmp_path / "home" / ".cache" / "root", "kernels", make=True):
        assert not [path for path in tmp_path.rglob("*") if mode(path) != 0o700]
    os.umask(before)


@pytest.mark.parametrize("which", ["root", "root/kernels"])
@pytest.mark.parametrize("kind", ["of others", "of a group", "link", pytest.param("of another", marks=as_root)])
def test_a_folder_of_others_is_refused_by_name(tmp_path, which, kind):
    (tmp_path / "root" / "kernels").mkdir(parents=True)
    (tmp_path / "root").chmod(0o700)
    bad = tmp_path / which
    if kind == "link":
        bad.rename(tmp_path / "target")
        bad.symlink_to(tmp_path / "target")
    elif kind == "of another":
        os.chown(bad, SOMEBODY, -1)
    else:
        bad.chmod(0o702 if kind == "of others" else 0o720)
    with pytest.raises(Untrusted, match=which.split("/")[-1]), opened_folder(tmp_path / "root", "kernels", make=True):
        pass
    if kind == "link":
        target = tmp_path / "target"
        assert [path.name for path in target.iterdir()] == (["kernels"] if which == "root" else [])


@as_root
def test_the_folder_of_another_is_read_where_only_that_one_may_write(tmp_path):
    with opened_folder(tmp_path / "root", "kernels", make=True) as folder:
        for name in ("of the owner", "of another"):
            private_files.write(folder, name, b"data")
    for name in ("root", "root/kernels", "root/kernels/of the owner"):
        os.chown(tmp_path / name, SOMEBODY, -1)
    with opened_folder(tmp_path / "root", "kernels") as folder:
        assert private_files.read(folder, "of the owner") == b"data"
        assert private_files.read(folder, "of another") is None
    (tmp_path / "root" / "kernels").chmod(0o777)
    with pytest.raises(Untrusted, match="other users may write"), opened_folder(tmp_path / "root", "kernels"):
        pass


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_of_ours_is_not_read_but_replaced(tmp_path, kind):
    with opened_folder(tmp_path / "root", "kernels", make=True) as folder:
        place = tmp_path / "root" / "kernels" / "one"
        planted(place, kind)
        assert private_files.read(folder, "one") is None
        private_files.write(folder, "one", b"data")
        assert private_files.read(folder, "one") == b"data"
    assert place.is_file() and not place.is_symlink() and mode(place) == 0o600
    assert [path.name for path in place.parent.iterdir()] == ["one"]
    if kind == "link":
        assert (tmp_path / "root" / "victim").read_bytes() == b"of the victim"


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_lock_follows_no_link(tmp_path, kind):
    with opened_folder(tmp_path / "root", "kernels", make=True) as folder:
        planted(tmp_path / "root" / "kernels" / "lock", kind)
        with pytest.raises(OSError):
            private_files.opened_to_lock(folder, "lock")
    if kind == "link":
        assert (tmp_path / "root" / "victim").read_bytes() == b"of the victim"


def test_where_nothing_can_be_made(tmp_path):
    tmp_path.chmod(0o555)
    for root in (tmp_path / "root", tmp_path / "above" / "root", Path("/proc/none/root")):
        with somebody(), pytest.raises(OSError), opened_folder(root, "kernels", make=True):
            pass


def test_a_folder_that_is_only_readable():
    with tempfile.TemporaryDirectory() as above:  # pytest's own folders let nobody else in
        os.chmod(above, 0o755)
        only_readable(Path(above) / "root")


def only_readable(root):
    with opened_folder(root, "kernels", make=True) as folder:
        private_files.write(folder, "one", b"data")
    for path, bits in ((root / "kernels" / "one", 0o400), (root / "kernels", 0o500), (root, 0o500)):
        path.chmod(bits)
        if os.geteuid() == 0:
            os.chown(path, SOMEBODY, -1)
    with somebody(), opened_folder(root, "kernels", make=True) as folder:
        assert private_files.read(folder, "one") == b"data"
        with pytest.raises(PermissionError):
            private_files.write(folder, "two", b"data")


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    """The limit of a file's size stands for the disk: a part is written, and then no more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened_folder(tmp_path / "root", "kernels", make=True) as folder:
        private_files.write(folder, "one", b"old")
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                private_files.write(folder, "one", bytes(1_000_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert private_files.read(folder, "one") == b"old"
    assert [path.name for path in (tmp_path / "root" / "kernels").iterdir()] == ["one"]
