"""Nodes by name and by file, rings in closed form, NICs and links from the system's files, the table."""

import json
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from launch import ROOT, launch
from settled import settled

from pennympi import TopologyError
from pennympi.__main__ import main
from pennympi.kernels.algorithm import Topology
from pennympi.kernels.allreduce import TABLE
from pennympi.kernels.rings import n_rings, no_rings, rings
from pennympi.topology import lay
from pennympi.topology.distance import PciLocation, distance, location_of_bus_id
from pennympi.topology.facts import facts, table
from pennympi.topology.hardware import Hardware, nvlinks
from pennympi.topology.nics import Nic, assign_nics, inter_node_nics, nics
from pennympi.topology.topology import rails_of


def nodes_of(n_nodes, each, rails=()):
    return Topology(tuple(pe // each for pe in range(n_nodes * each)), rail_of=tuple(rails) * n_nodes)


def test_names():
    two = lay("two-nodes-of-eight", 16)
    assert two.node_of == (0,) * 8 + (1,) * 8 and two.rail_of == (*range(8), *range(8))
    assert lay("4-nodes-of-4", 16).node_of == lay("Four-Nodes-of-four", 16).node_of == nodes_of(4, 4).node_of
    assert lay("one-node-of-3", 3).node_of == (0, 0, 0)
    topology = Topology(two.node_of, rail_of=two.rail_of)
    assert topology.nodes == (tuple(range(8)), tuple(range(8, 16))) and topology.rails == Topology(two.node_of).rails


def test_a_file(tmp_path):
    file = tmp_path / "nodes.toml"
    file.write_text("[[node]]\ncount = 2\npes = 2\nrails = [1, 0]\n[[node]]\npes = [6, 1, 3]\nrails = [0, 1, 0]\n")
    layout = lay(str(file), 7)
    assert layout.node_of == (0, 2, 0, 2, 1, 1, 2)  # PEs that no list names get the free numbers
    assert layout.rail_of == (1, 0, 0, 1, 1, 0, 0)  # in order of PE, whatever the order of the list


WRONG_FILES = [  # (text, the message)
    ("", "but it holds no such table"),
    ("nodes = 2", "must hold .*node.* tables and nothing else, but it holds nodes"),
    ("[[node]]\npes = 3", "lays 3 PEs in all, and this team has 4: start 3 ranks, or choose another"),
    ("[[node]]\ncount = 999_999_999_999\npes = 1", "999999999999 PEs in all, and this team has 4"),
    ("[[node]]\npes = 2\n[[node]]\npes = [0, 0]", "PE 0 twice, but each of the PEs 0..3 must be on one node"),
    ("[[node]]\npes = 2\n[[node]]\npes = [3, 4]", "PE 4 and there is no such PE, but each of the PEs 0..3"),
    ("[[node]]\npes = 4\nspeed = 3", "speed = 3: give no other keys than count, pes, rails"),
    ("[[node]]\ncount = 2", "pes is missing: give a number of PEs from 1, or a list of PEs"),
    ("[[node]]\npes = [0, -1]", r"pes = \[0, -1\]: give"),
    ("[[node]]\npes = 2\n[[node]]\npes = 2\ncount = -1", "count = -1: give a number of nodes from 1"),
    ("[[node]]\npes = [0, 1]\ncount = 2", "several nodes can't have the same PEs"),
    ("[[node]]\npes = 4\nrails = [0, 1, 2]", "give 4 numbers of NICs from 0 to 3, one for each PE of the node"),
]


@pytest.mark.parametrize(("text", "printed"), WRONG_FILES, ids=range(len(WRONG_FILES)))
def test_a_wrong_file(tmp_path, text, printed):
    """The sentence names the file, the table if there is one, and the mistake; it is not a page."""
    file = tmp_path / "nodes.toml"
    file.write_text(text)
    with pytest.raises(TopologyError, match=printed) as error:
        lay(str(file), 4)
    result = str(error.value)
    assert str(file) in result and len(result) < 600, result


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("two-nodes-of-eight", "lays 16 PEs in all, and this team has 4: start 16 ranks"),
        ("two-nodes-of-many", "'many' is neither one to sixteen nor 1 to 15 digits"),
        ("0-nodes-of-4", "'0' is neither one"),
        ("two-nodes", "is neither a known name nor a file that can be read .*give auto, N-nodes-of-M"),
    ],
)
def test_a_wrong_name(name, printed):
    with pytest.raises(TopologyError, match=printed) as error:
        lay(name, 4)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("n_nodes", "each", "rails", "turned"),
    # turned: crossings that change rails; with two rails an odd number of nodes needs them
    [(2, 2, (), 0), (2, 8, (), 0), (4, 4, (), 0), (8, 2, (), 0), (3, 4, (), 0), (2, 3, (), 0), (5, 3, (), 0),
     (16, 1, (), 0), (3, 2, (), 2), (2, 8, (0, 0, 1, 1, 2, 2, 3, 3), 0), (3, 4, (3, 1, 1, 3), 2), (2, 4, (5,) * 4, 0)],
)  # fmt: skip
def test_rings_over_nodes(n_nodes, each, rails, turned):
    """Each ring visits every PE once and each node once, and every rail carries a ring out and a ring in."""
    topology = nodes_of(n_nodes, each, rails)
    found = rings(topology)
    assert len(found) == n_rings(topology) == len(set(topology.rails)) and not no_rings(topology)
    out, into, changed = Counter(), Counter(), 0
    for ring in found:
        assert sorted(ring) == list(range(topology.n_pes))
        for pe, after in zip(ring, ring[1:] + ring[:1], strict=True):
            if topology.node_of[pe] != topology.node_of[after]:
                out[topology.node_of[pe], topology.rails[pe]] += 1
                into[topology.node_of[after], topology.rails[after]] += 1
                changed += topology.rails[pe] != topology.rails[after]
    every = {(node, rail): 1 for node in range(n_nodes) for rail in set(topology.rails)}
    assert out == into == every and changed == turned


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 15, 16])
def test_rings_of_one_node(n):
    """No link is used twice in a direction; for an even number of PEs the links of one matching are idle."""
    found = rings(nodes_of(1, n))
    links = Counter(link for ring in found for link in zip(ring, ring[1:] + ring[:1], strict=True))
    assert all(sorted(ring) == list(range(n)) for ring in found) and set(links.values()) == {1}
    assert len(found) == n_rings(nodes_of(1, n)) == {1: 1, 2: 1}.get(n, (n - 1) // 2 * 2)


def test_refusals():
    unequal, one = Topology((0, 0, 0, 1, 1)), nodes_of(1, 4)
    assert "the rails of the nodes differ" in TABLE["multi_ring"].why_not(unequal, "float32", "sum")
    assert not TABLE["multi_ring"].why_not(Topology((0, 0, 0, 1, 1), rail_of=(0, 1, 1, 1, 0)), "float32", "sum")
    why_not = TABLE["hierarchical"].why_not
    assert "the nodes have 2 and 3" in why_not(unequal, "float32", "sum")
    assert "on one node, where this algorithm would be two_shot" in why_not(one, "float32", "sum")
    assert "every node has one PE" in why_not(nodes_of(4, 1), "float32", "sum")
    assert not why_not(nodes_of(2, 2), "float32", "sum") and not why_not(Topology((1, 0, 0, 1)), "float32", "sum")


def device_at(root, *path, numa=0):
    """A device in a pretended sysfs, and its link in bus/pci."""
    folder = root.joinpath("devices", *path)
    folder.mkdir(parents=True)
    (folder / "numa_node").write_text(f"{numa}\n")
    buses = root / "bus" / "pci" / "devices"
    buses.mkdir(parents=True, exist_ok=True)
    (buses / path[-1]).symlink_to(folder)
    return folder


def nic_at(root, kind, name, device, **files):
    folder = root / "class" / kind / name
    folder.mkdir(parents=True)
    (folder / "device").symlink_to(device)
    for path, text in files.items():
        file = folder / path.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


def test_nics_and_distances(tmp_path):
    """Two NUMA nodes; a switch with a GPU and two NICs."""
    switch = ("pci0000:10", "0000:10:01.0", "0000:11:00.0")
    gpu = device_at(tmp_path, *switch, "0000:12:00.0", "0000:13:00.0")
    near = device_at(tmp_path, *switch, "0000:12:01.0", "0000:14:00.0")
    far = device_at(tmp_path, *switch, "0000:12:02.0", "0000:15:00.0", "0000:16:00.0", "0000:17:00.0")
    bridge = device_at(tmp_path, "pci0000:10", "0000:10:02.0", "0000:18:00.0")
    node = device_at(tmp_path, "pci0000:30", "0000:30:01.0", "0000:31:00.0")
    other = device_at(tmp_path, "pci0000:80", "0000:80:01.0", "0000:81:00.0", numa=1)
    ports = {"ports__1__state": "4: ACTIVE", "ports__1__rate": "400 Gb/sec (4X NDR)"}
    nic_at(tmp_path, "infiniband", "mlx5_10", near, ports__1__link_layer="Ethernet", **ports)
    nic_at(tmp_path, "infiniband", "mlx5_2", far, ports__1__link_layer="InfiniBand", **ports)
    nic_at(tmp_path, "infiniband", "mlx5_3", node, ports__1__state="1: DOWN", ports__1__rate="800 Gb/sec")
    nic_at(tmp_path, "infiniband", "mlx5_4", other, ports__1__state="4: ACTIVE", ports__1__rate="100 Gb/sec")
    (bridge / "virtio2").mkdir()
    nic_at(tmp_path, "infiniband", "rxe0", bridge / "virtio2", ports__1__link_layer="Ethernet")
    found = nics(tmp_path)
    assert [(nic.name, nic.kind, nic.gbit_s, nic.up) for nic in found] == [
        ("rxe0", "RoCE", 0, False),
        ("mlx5_2", "InfiniBand", 400, True),
        ("mlx5_3", "InfiniBand", 800, False),
        ("mlx5_4", "InfiniBand", 100, True),
        ("mlx5_10", "RoCE", 400, True),
    ]
    location = location_of_bus_id("0000:13:00.0", tmp_path)
    assert location.path[-1] == gpu.name and location.numa == 0
    assert [distance(location, nic.location) for nic in found] == ["PHB", "PXB", "NODE", "SYS", "PIX"]
    assert distance(location, location) == "X"
    assert distance(location, location_of_bus_id("0000:99:00.0", tmp_path)) == "?"
    serving = inter_node_nics(found)
    assert [nic.name for nic in serving] == ["mlx5_2", "mlx5_10"]  # as fast as any NIC that is up
    assert assign_nics([location, location], serving) == [1, 1]
    assert assign_nics([PciLocation()] * 3, serving) == [0, 1, 0]


def test_nvlinks(monkeypatch):
    """Links 0 to 3 lead to a GPU, a switch, a switch and nowhere; there are no further links."""
    fake = SimpleNamespace(
        init_v2=lambda: None,
        device_get_handle_by_pci_bus_id_v2=lambda bus_id: bus_id,
        device_get_nvlink_state=lambda device, link: [1, 1, 1, 0][link],
        device_get_nvlink_remote_device_type=lambda device, link: [0, 2, 2, 0][link],
        device_get_nvlink_remote_pci_info_v2=lambda device, link: SimpleNamespace(bus_id="00000000:3B:00.0"),
    )
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvml", fake)
    assert nvlinks("0000:19:00.0") == {"0000:3b:00.0": 1, "switch": 2}
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvml", None)
    assert nvlinks("0000:19:00.0") is None


TABLE_OF_TWO_NODES = """\
4 PEs on 2 nodes
node  host  PE  device  PCI           NUMA  links  rail  NIC     Gb/s  away
0     a     0   H200    0000:03:00.0  0     NV18   0     mlx5_0  400   PIX
0     a     1   H200    0000:04:00.0  0     NV18   1     mlx5_1  400   PIX
1     b     2   H200    0000:03:00.0  0     NV18   0     mlx5_0  400   PIX
1     b     3   H200    0000:04:00.0  0     NV18   1     mlx5_1  400   PIX
multi_ring: 2 rings"""


def test_the_table():
    def location(port, device):
        return PciLocation(("pci0000:00", f"0000:00:0{port}.0", f"0000:0{device}:00.0"), 0)

    serving = tuple(Nic(f"mlx5_{k}", "InfiniBand", 400.0, True, location(k, 8 + k)) for k in range(2))
    hardware = [
        Hardware(host, "H200", f"0000:0{3 + k}:00.0", location(k, 3 + k), serving, {"switch": 18})
        for host in "ab"
        for k in range(2)
    ]
    topology = nodes_of(2, 2)
    topology = Topology(topology.node_of, rail_of=rails_of(topology, hardware))
    assert table(facts(topology, None, hardware)) == TABLE_OF_TWO_NODES
    assert TABLE_OF_TWO_NODES in (ROOT / "docs" / "guides" / "hosts.md").read_text()


def test_the_command(tmp_path):
    file = tmp_path / "uneven.toml"
    file.write_text("[[node]]\npes = 2\nrails = [1, 0]\n[[node]]\npes = 1\n")
    ended = launch(3, "-m", "pennympi", "topology", env=settled(3, PENNYMPI_TOPOLOGY=str(file)), limit_s=100)
    assert ended.rc == 0, ended.output
    assert f"3 PEs on 2 nodes, laid by {file}" in ended.output
    assert "multi_ring can't run: its rings need the same rails" in ended.output
    assert [line.split()[-1] for line in ended.output.splitlines() if line[:1] in ("0", "1")] == ["1", "0", "0"], "rails"


def test_json(capsys):
    assert main(["topology", "--json", "--topology", "one-node-of-one"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["rings"] == [[0]] and printed["laid_by"] == "one-node-of-one"
    assert printed["nodes"][0]["pes"][0]["rail"] == 0
