"""The environment variables: read at each call, one clear error, one page."""

from pathlib import Path

import platformdirs
import pytest
from refused import bad_init

import pennympi
from pennympi import settings
from pennympi.settings import SETTINGS, SettingError, checked_settings, setting


@pytest.fixture(autouse=True)
def no_variable_set(request, monkeypatch):
    for name in () if "team" in request.fixturenames else SETTINGS:
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_the_page_has_every_setting():
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    rows = [line.split(" | ")[:3] for line in page.splitlines() if line.startswith("| `")]
    assert rows == [[f"| `{name}`", one.default, one.form] for name, one in SETTINGS.items()]
    assert ", ".join(f"`{name}`" for name, one in SETTINGS.items() if not one.alike) + "; of topologies" in page


def test_every_default_can_be_read():
    found = {name: setting(name) for name in SETTINGS}
    assert len(found) <= 16 and found["PENNYMPI_TIMEOUT_S"] == 60 and found["PENNYMPI_ALGORITHM"] == {}
    assert found["PENNYMPI_CACHE_DIR"] == Path.home() / ".cache" / "pennympi"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("PENNYMPI_TIMEOUT_S", "0.5", 0.5),
        ("PENNYMPI_SYMMETRIC_SIZE", "512M", 512 << 20),
        ("PENNYMPI_SYMMETRIC_SIZE", "2g", 2 << 30),
        ("PENNYMPI_SYMMETRIC_SIZE", "4096", 4096),
        ("PENNYMPI_CACHE_DIR", "~/kernels", Path.home() / "kernels"),
        ("PENNYMPI_ALGORITHM", " allreduce:RING, all_gather:direct", {"allreduce": "ring", "all_gather": "direct"}),
        ("PENNYMPI_DEBUG", "1", True),
        ("PENNYMPI_DEBUG", "", False),
    ],
)
def test_a_value_is_read(monkeypatch, name, text, value):
    monkeypatch.setenv(name, text)
    assert setting(name) == value


BAD = {
    "PENNYMPI_BACKEND": ("gpu", " ", "host,cuda", "h" * 5000),
    "PENNYMPI_TIMEOUT_S": (*"-1 nan inf 1e12 1e-9 1_000 ٣ 0x10 5,5 yes".split(), "5 s", "  ", "1" * 400),
    "PENNYMPI_SYMMETRIC_SIZE": (*"1t 0 g -1g 99999999g 1.5g 1_000_000 ४०९६ 4095 inf 1gg".split(), "1 g"),
    "PENNYMPI_DEBUG": ("yes", "true", "2", "-1", "01", "１"),
    "PENNYMPI_FORCE_NVSHMEM_PUT": ("no", "auto"),
    "PENNYMPI_MULTICAST": ("1", "never"),
    "PENNYMPI_PACKETS": ("1", "no"),
    "PENNYMPI_EXIT_HOOKS": ("no", "2"),
    "PENNYMPI_CACHE_DIR": (" ", "~no_such_user/cache"),
    "PENNYMPI_TOPOLOGY": ("\t",),
    "PENNYMPI_TUNED": ("  ", "table.toml"),
    "PENNYMPI_ALGORITHM": (
        *"ring allreduce: allreduce:ring, allreduce:ring,allreduce:tree broadcast:two_shot_copied allreduce=ring".split(),
        "allreduce:one shot",
        " ",
    ),
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_bad_value_names_the_variable_the_value_and_the_remedy(monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(SettingError, match=f"^{name}='.* cannot be used: .*unset it for the default") as error:
        checked_settings()
    assert len(str(error.value)) < 600 and (repr(text) in str(error.value) or len(text) > 70)


@pytest.mark.mpi(min_size=2)
def test_init_compares_settings_and_arguments(team, monkeypatch):
    """A setting that is wrong or different on the last PE is an error on every PE, unless it may differ."""
    last, me_last = team.n_pes - 1, team.me == team.n_pes - 1
    pes = ", ".join(f"PE {pe}" for pe in range(last))
    for name, one, other in (
        ("TIMEOUT_S", "60", "5"), ("DEBUG", "", "1"), ("ALGORITHM", "", "allreduce:ring"),
        ("MULTICAST", "", "0"), ("SYMMETRIC_SIZE", "64m", "65m"), ("TUNED", "none", "auto"),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setenv(f"PENNYMPI_{name}", other if me_last else one)
            default = SETTINGS[f"PENNYMPI_{name}"].default
            bad_init(
                team, SettingError, f"{name} is {one or default} on {pes} and {other} on PE {last}: set PENNYMPI_{name} "
            )
    with monkeypatch.context() as patch:
        patch.setenv("PENNYMPI_TIMEOUT_S", "1e12" if me_last else "60")
        bad_init(team, SettingError, f"PE {last}: PENNYMPI_TIMEOUT_S='1e12' cannot be used")
    together, apart = f"one-node-of-{team.n_pes}", f"{team.n_pes}-nodes-of-one"
    for name, one, other in (("heap_bytes", 1 << 20, 2 << 20), ("sms", None, 3), ("topology", together, apart)):
        message = f"{name} is {one} on {pes} and {other} on PE {last}: pass init the same {name} on every PE"
        bad_init(team, ValueError, message, **{name: other if me_last else one})
    for name, bad, error, message in (
        ("heap_bytes", 1e9, TypeError, "heap_bytes must be an int from 4096 to .*, or None, got 1000000000.0"),
        ("heap_bytes", True, TypeError, "heap_bytes must be an int from .*, got True"),
        ("heap_bytes", 10**18, ValueError, "heap_bytes must be an int from .*, got 1000000000000000000"),
        ("sms", "all", TypeError, "sms must be an int from 1 to 65536, or None, got 'all'"),
        ("sms", -3, ValueError, "sms must be an int from .*, got -3"),
        ("backend", 3, ValueError, "backend 3 is unknown: use 'auto', 'host' or 'cuda'"),
        ("topology", b"x", TypeError, "is not a name and not a path: give auto, N-nodes-of-M"),
        ("topology", "", pennympi.TopologyError, "is a folder"),
    ):
        usual = "auto" if name == "backend" else None
        bad_init(team, error, f"PE {last}: .*{message}", **{name: bad if me_last else usual})
    with monkeypatch.context() as patch:
        patch.setenv("PENNYMPI_PACKETS", "0" if me_last else "auto")
        patch.setenv("PENNYMPI_TIMEOUT_S", "6e1" if me_last else "60")  # the same value
        patch.setenv("PENNYMPI_TOPOLOGY", f"one-node-of-{team.n_pes}" if me_last else f"1-nodes-of-{team.n_pes}")
        pennympi.init(team.comm, heap_bytes=16 << 20 if team.backend == "host" else None).finalize()


@pytest.mark.mpi(min_size=2)
def test_init_compares_topologies_and_names_the_variable(team, monkeypatch, tmp_path):
    n, last, me_last = team.n_pes, team.n_pes - 1, team.me == team.n_pes - 1
    pes = ", ".join(f"PE {pe}" for pe in range(last))
    by, apart, together = r"\(PENNYMPI_TOPOLOGY\)", f"{n}-nodes-of-one", f"one-node-of-{n}"
    remedy = "set PENNYMPI_TOPOLOGY to the same value on every rank"
    if me_last:
        monkeypatch.setenv("PENNYMPI_TOPOLOGY", apart)
    else:
        monkeypatch.delenv("PENNYMPI_TOPOLOGY", raising=False)
    bad_init(team, SettingError, f"topology is auto {by} on {pes} and {apart} {by} on PE {last}: {remedy}")
    argument = None if me_last else together
    bad_init(team, SettingError, f"is {together} on {pes} and {apart} {by} on PE {last}: {remedy}", topology=argument)
    monkeypatch.setenv("PENNYMPI_TOPOLOGY", "no such file" if me_last else "auto")
    bad_init(team, pennympi.TopologyError, f"PE {last}: PENNYMPI_TOPOLOGY: topology 'no such file' is neither")
    monkeypatch.chdir(tmp_path)  # each rank has a different folder
    (tmp_path / "nodes.toml").write_text(f"[[node]]\npes = 1\ncount = {n}\n" if me_last else f"[[node]]\npes = {n}\n")
    monkeypatch.setenv("PENNYMPI_TOPOLOGY", "nodes.toml")
    same_name = rf"topology is nodes.toml {by} of \(\(0, 0.* on {pes} and nodes.toml {by} of \(\(0, 1.* on PE {last}: "
    bad_init(team, SettingError, same_name)
    monkeypatch.setenv("PENNYMPI_TOPOLOGY", together if me_last else apart)
    with pennympi.init(team.comm, topology="auto", heap_bytes=16 << 20 if team.backend == "host" else None) as plain:
        assert plain.pe_topology.node_of == team.pe_topology.node_of  # whatever the variable says


def test_the_users_folders_follow_xdg(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    assert setting("PENNYMPI_CACHE_DIR") == Path("/somewhere/pennympi")
    assert settings.users_folder(platformdirs.user_data_path) == Path("/elsewhere/pennympi")


def test_a_typing_error_gives_one_warning(monkeypatch):
    settings.warn_unknown.cache_clear()
    monkeypatch.setenv("PENNYMPI_TIMEOUT", "5")
    with pytest.warns(UserWarning, match=r"PENNYMPI_TIMEOUT \(did you mean PENNYMPI_TIMEOUT_S\?\)") as caught:
        settings.warn_unknown()
        settings.warn_unknown()
    assert len(caught) == 1
