"""Every kernel text compiled to PTX without a GPU: the instructions that its speed and its order rest on are there."""

import re
from types import SimpleNamespace

import pytest
from mpi4py import MPI

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("one process compiles for all: run these tests without mpirun", allow_module_level=True)

from numba.cuda import dispatcher

from apps.jacobi import chebyshev, sweep
from pennympi.bind import parameters
from pennympi.cuda import compile as backend
from pennympi.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE as ALGORITHMS
from pennympi.kernels.exchange import TABLE as FORMS
from pennympi.kernels.rma import on_stream

HOPPER, AMPERE = (9, 0), (8, 0)
N_PES = 4
# The op is one instruction inside a kernel, and test_allreduce.py runs them all: here each is compiled somewhere,
# and so is each dtype, two with every algorithm and the others in turn.
ALWAYS = ("float32", "bfloat16")
IN_TURN = [name for name in DTYPES if name not in ALWAYS]
OPS = ("prod", "min", "max", "avg")


def of_hopper(algorithm):
    """The (dtype, op) pairs of one algorithm."""
    turn = list(ALGORITHMS).index(algorithm)
    some = [IN_TURN[(2 * turn + k) % len(IN_TURN)] for k in range(2)]
    return [*((name, "sum") for name in (*ALWAYS, *some)), ("float32", OPS[turn % len(OPS)])]


OF_AMPERE = [("bfloat16", "avg")]
VECTOR = {"load": re.compile(r"\bld\.global(\.nc)?\.v[24]\."), "store": re.compile(r"\bst\.global\.v[24]\.")}
ACQUIRE, RELEASE = "ld.acquire.sys.global.u64", "st.release.sys.global.u64"


@pytest.fixture
def ptx(monkeypatch):
    """(text, name, cc, ...) -> its PTX, with what holds for every kernel asserted."""

    def compiled(text, name, cc, kinds=None, elements=None, reduction=None, constants=None, aligned=False):
        monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=cc))
        kinds = kinds or "i" * (len(parameters(text)) - 1)
        overlap = cc >= backend.OVERLAP_CC
        function, signature = backend.entry(
            text, name, kinds, elements, reduction, constants or {}, False, aligned, overlap
        )
        code = backend.ptx(function, signature, cc)
        lines = [line.strip() for line in code.splitlines()]
        assert f".target sm_{cc[0]}{cc[1]}" in code
        assert sum(".entry" in line for line in lines) == 1
        assert not [line for line in lines if re.search(r"\bcall\b", line)], "a function was not inlined"
        assert ("griddepcontrol.wait" in code) == overlap
        return code

    return compiled


@pytest.mark.parametrize("cc", [HOPPER, AMPERE], ids=["sm_90", "sm_80"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_allreduce(ptx, algorithm, cc):
    for name, op in of_hopper(algorithm) if cc == HOPPER else OF_AMPERE:
        dtype = DTYPES[name]
        code = ptx(
            ALGORITHMS[algorithm].kernel,
            f"allreduce ({algorithm})",
            cc,
            reduction=(dtype, op),
            constants={"n_pes": N_PES, "item_bytes": dtype.item_bytes, "acc_bytes": dtype.acc_bytes},
            aligned=True,
        )
        what = f"{algorithm} {op} of {name}"
        assert ".local" not in code, f"{what}: spills, or an array that is not in registers"
        if "packets" in algorithm:  # a packet's 120 bytes of data are read and written word by word at home
            assert "st.relaxed.sys.global.v2" in code and "ld.relaxed.sys.global.v2" in code, what
        else:
            assert VECTOR["load"].search(code) and VECTOR["store"].search(code), f"{what}: no vector accesses"
            assert ACQUIRE in code and RELEASE in code, what


@pytest.mark.parametrize("algorithm", ["ring", "one_shot_packets"])
def test_allreduce_of_any_alignment(ptx, algorithm):
    """Whole vectors inside, single elements at the ends."""
    constants = {"n_pes": N_PES, "item_bytes": 2, "acc_bytes": 4}
    code = ptx(
        ALGORITHMS[algorithm].kernel,
        f"allreduce ({algorithm})",
        HOPPER,
        reduction=(DTYPES["float16"], "sum"),
        constants=constants,
    )
    assert ".local" not in code
    assert re.search(r"\bst\.global\.([bu]8|[bu]16)\b", code), "no store of a single element"


@pytest.mark.parametrize("cc", [HOPPER, AMPERE], ids=["sm_90", "sm_80"])
@pytest.mark.parametrize("form", FORMS)
def test_exchange(ptx, form, cc):
    row = FORMS[form]
    code = ptx(row.kernel, f"exchange ({form})", cc, constants={"n_pes": N_PES} if row.collective else {})
    assert VECTOR["load"].search(code) and VECTOR["store"].search(code)
    assert ACQUIRE in code and RELEASE in code


@pytest.mark.parametrize("cc", [HOPPER, AMPERE], ids=["sm_90", "sm_80"])
def test_one_sided(ptx, cc):
    codes = {
        name: ptx(getattr(on_stream, name), name, cc, constants={"n_pes": N_PES} if name == "barrier" else {})
        for name in ("put_bytes", "get_bytes", "put_bytes_signal", "wait_signal", "barrier")
    }
    for name in ("put_bytes", "get_bytes", "put_bytes_signal"):
        assert VECTOR["load"].search(codes[name]) and VECTOR["store"].search(codes[name]), name
    for name, signals, waits in (("put_bytes_signal", 1, 0), ("wait_signal", 0, 1), ("barrier", 1, 1)):
        assert (RELEASE in codes[name]) == signals and (ACQUIRE in codes[name]) == waits, name


SWEEPS = [  # text, dtype, sweeps of a pass, norms
    ("sweeps", "float32", 2, "none", AMPERE),
    ("sweeps", "float64", 1, "last", HOPPER),
    ("exchanging_sweeps", "float32", 4, "all", HOPPER),
    ("persistent_sweeps", "float32", 1, "last", HOPPER),
]


@pytest.mark.parametrize(("text", "name", "sweeps", "norms", "cc"), SWEEPS, ids=lambda x: str(x))
def test_jacobi(ptx, text, name, sweeps, norms, cc):
    """Rows are read and written by whole vectors, kept in registers and passed on by shuffles, and nothing is fused but
    the squares: four of eight columns, or two of four."""
    bodies = (
        [("march", sweeps, norms)] if "persistent" not in text else [("march", 1, "none"), ("summed_march", 1, norms)]
    )
    kernel = sweep.bound(getattr(sweep, text), "cuda", tuple(bodies), name, 1000)
    code = ptx(kernel, text, cc, elements=DTYPES[name])
    letter, width = {"float32": ("f32", 4), "float64": ("f64", 2)}[name]
    loads, stores = (len(re.findall(rf"\b{kind}\.global\.v{width}\.(?:{letter}|b\d\d)\b", code)) for kind in ("ld", "st"))
    rows = 6 * len(bodies)  # three before the loop, three a turn
    assert loads >= 2 * rows and stores >= rows
    assert not re.search(rf"\b(ld|st)\.global\.{letter}\b", code), "a column of its own"
    assert ".local" not in code and "prefetch.global.L2" in code and "shfl.sync" in code
    products = len(re.findall(rf"\bmul\.rn\.{letter}", code))
    summed = {"none": 0, "last": 1, "all": sweeps}[norms]
    squares = width * (3 * summed + (summed - 1 if norms == "all" else 0))
    assert len(re.findall(rf"\bfma\.rn\.{letter}", code)) == squares, "a fused step has other bits"
    assert products >= 2 * width * 3 * sweeps
    assert ("red.global.add.u64" in code) == (norms != "none")
    if text != "sweeps":
        assert ACQUIRE in code and RELEASE in code


@pytest.mark.parametrize(("name", "cc"), [("float32", HOPPER), ("float64", AMPERE)])
def test_chebyshev(ptx, name, cc):
    letter = {"float32": "f32", "float64": "f64"}[name]
    for text in (chebyshev.chebyshev, chebyshev.chebyshev_and_sum):
        kinds = "i" * 7 + "f" + "i" * (len(parameters(text)) - 9)
        code = ptx(text, text.__name__, cc, kinds, elements=DTYPES[name])
        assert re.search(rf"\bld\.global(\.nc)?\.(v[24]\.)?([bu]\d\d|{letter})", code), text
        if text is chebyshev.chebyshev:
            assert not re.search(rf"\bfma\.rn\.{letter}", code), "a fused step has other bits"
        else:
            assert "red.global.add.u64" in code
