"""The environment variables: read once a call, one clear error, one page."""

from pathlib import Path

import pytest

from pennympi import settings
from pennympi.settings import SETTINGS, SettingError, page, setting


@pytest.fixture(autouse=True)
def no_variable_set(monkeypatch):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


def test_the_page_is_the_table():
    assert (Path(__file__).parents[2] / "docs" / "settings.md").read_text() == page()


def test_every_default_can_be_read():
    assert {name: setting(name) for name in SETTINGS} == {
        "PENNYMPI_BACKEND": "auto",
        "PENNYMPI_TIMEOUT_S": 60.0,
        "PENNYMPI_SYMMETRIC_SIZE": None,
        "PENNYMPI_FORCE_NVSHMEM_PUT": False,
        "PENNYMPI_MULTICAST": True,
        "PENNYMPI_PACKETS": True,
        "PENNYMPI_CACHE_DIR": Path.home() / ".cache" / "pennympi",
        "PENNYMPI_CACHE_SHARED": None,
        "PENNYMPI_TOPOLOGY": "auto",
        "PENNYMPI_COUNT_BYTES": False,
        "PENNYMPI_FIRST_EPOCH": 0,
        "PENNYMPI_ALLREDUCE": "auto",
        "PENNYMPI_TUNED": "auto",
        "PENNYMPI_ALL_GATHER": "auto",
        "PENNYMPI_REDUCE_SCATTER": "auto",
        "PENNYMPI_BROADCAST": "auto",
        "PENNYMPI_REDUCE": "auto",
        "PENNYMPI_ALL_TO_ALL": "auto",
        "PENNYMPI_PUT_KERNEL_MAX_BYTES": 262144,
        "PENNYMPI_DEBUG": False,
    }


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("PENNYMPI_TIMEOUT_S", "0.5", 0.5),
        ("PENNYMPI_SYMMETRIC_SIZE", "512M", 512 << 20),
        ("PENNYMPI_SYMMETRIC_SIZE", "2g", 2 << 30),
        ("PENNYMPI_SYMMETRIC_SIZE", "4096", 4096),
        ("PENNYMPI_FIRST_EPOCH", "0xfffffff0", 2**32 - 16),
        ("PENNYMPI_CACHE_DIR", "~/kernels", Path.home() / "kernels"),
        ("PENNYMPI_ALLREDUCE", "simple_ring", "simple_ring"),
        ("PENNYMPI_DEBUG", "1", True),
        ("PENNYMPI_DEBUG", "", False),
    ],
)
def test_a_value_is_read(monkeypatch, name, text, value):
    monkeypatch.setenv(name, text)
    assert setting(name) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PENNYMPI_BACKEND", "gpu"),
        ("PENNYMPI_TIMEOUT_S", "-1"),
        ("PENNYMPI_TIMEOUT_S", "nan"),
        ("PENNYMPI_TIMEOUT_S", "inf"),
        ("PENNYMPI_SYMMETRIC_SIZE", "1t"),
        ("PENNYMPI_SYMMETRIC_SIZE", "0"),
        ("PENNYMPI_SYMMETRIC_SIZE", "g"),
        ("PENNYMPI_FIRST_EPOCH", "-3"),
        ("PENNYMPI_DEBUG", "yes"),
        ("PENNYMPI_ALLREDUCE", "one shot"),
    ],
)
def test_a_bad_value_names_the_variable_the_value_and_the_remedy(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(SettingError, match=f"{name}='{text}' cannot be used: give .*unset it for the default"):
        setting(name)


def test_the_cache_follows_xdg(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert setting("PENNYMPI_CACHE_DIR") == Path("/somewhere/pennympi")


def test_a_typing_error_gives_one_warning(monkeypatch):
    monkeypatch.setattr(settings, "_warned", False)
    monkeypatch.setenv("PENNYMPI_TIMEOUT", "5")
    with pytest.warns(UserWarning, match=r"PENNYMPI_TIMEOUT \(did you mean PENNYMPI_TIMEOUT_S\?\)") as caught:
        settings.warn_unknown()
        settings.warn_unknown()
    assert len(caught) == 1
