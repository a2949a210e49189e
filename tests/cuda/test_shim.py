"""NVRTC compiles the functions that call NVSHMEM with the headers of every version of NVSHMEM that may be installed.

The headers come with NVSHMEM's wheels.  Where NVSHMEM is not installed, `make test-all` downloads the wheels and keeps
their headers in build/nvshmem/.  The wheels for CUDA 13 have the same headers.
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed")
from cuda.bindings import nvrtc
from cuda.pathfinder import find_nvidia_header_directory as installed

from pennympi.cuda.device import remote

ROOT = Path(__file__).resolve().parents[2]
MINOR_VERSIONS = "3.5", "3.6", "3.7", "3.8"
INCLUDE = "nvidia/nvshmem/include/"


def test_the_installed_version():
    if not installed("nvshmem"):
        pytest.skip("NVSHMEM is not installed")
    assert_compiles(installed("nvshmem"))


@pytest.mark.parametrize("minor", MINOR_VERSIONS)
def test_each_minor_version(minor, tmp_path):
    kept = ROOT / "build" / "nvshmem" / minor
    if not kept.exists():
        download(minor, tmp_path)
        (wheel,) = tmp_path.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path / "all", [name for name in archive.namelist() if name.startswith(INCLUDE)])
        kept.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "all").rename(kept)
    assert_compiles(str(kept / INCLUDE))


def test_these_are_the_versions_that_setup_cfg_allows():
    bounds = re.findall(r"nvidia-nvshmem-cu1[23]>=(.+),<(.+)", (ROOT / "setup.cfg").read_text())
    last = int(MINOR_VERSIONS[-1].removeprefix("3."))
    assert bounds == 2 * [(MINOR_VERSIONS[0], f"3.{last + 1}")]


def download(minor, folder):
    """Download the newest wheel of a minor version, or skip the test."""
    if not os.environ.get("TEST_DOWNLOADS"):
        pytest.skip(f"make test-all downloads the headers of NVSHMEM {minor}")
    wheel = ["--no-deps", "--only-binary=:all:", "--dest", str(folder), f"nvidia-nvshmem-cu12=={minor}.*"]
    ended = subprocess.run([sys.executable, "-m", "pip", "download", "-q", *wheel], capture_output=True, text=True)
    if ended.returncode != 0:
        pytest.skip(f"no package index has NVSHMEM {minor}: {ended.stderr.strip()[-200:]}")


def assert_compiles(include):
    folders = [include, *filter(None, map(installed, ("cccl", "cudart")))]
    options = ["-arch=sm_90", "-std=c++17", "-rdc=true", *(f"-I{folder}" for folder in folders)]
    _, program = nvrtc.nvrtcCreateProgram(remote.SHIM.encode(), b"shim", 0, [], [])
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    log = bytes(nvrtc.nvrtcGetProgramLogSize(program)[1])
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    code = bytes(nvrtc.nvrtcGetPTXSize(program)[1])
    nvrtc.nvrtcGetPTX(program, code)
    for name in ("put", "get", "put_signal", "signal", "quiet"):
        assert re.search(rf"\.visible \.func.* pennympi_{name}\(", code.decode()), name
