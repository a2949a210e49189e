"""Every kernel text compiled to PTX without a GPU: the PTX has the instructions that make it fast and keep its order."""

import re
from importlib.metadata import version

import pytest
from collective_cases import CASES
from gpu_code import AMPERE, HOPPER, ptx_of

from apps.jacobi import chunk_kernels
from apps.jacobi import kernels as jacobi_kernels
from apps.poisson import kernels as poisson_kernels
from apps.poisson import sums as poisson_sums
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.collectives.base import constants
from pennympi.collectives.by_counts import ByCounts
from pennympi.collectives.calls import ALL
from pennympi.compile.bind import annotated_kinds
from pennympi.compile.unroll import specialised
from pennympi.cuda.compiler import compile as backend
from pennympi.cuda.streams import condition
from pennympi.kernels import rma
from pennympi.kernels.algorithm import SWITCH_ADDS, Topology
from pennympi.kernels.allreduce import PLANNED
from pennympi.kernels.allreduce import TABLE as ALGORITHMS
from pennympi.kernels.block import load
from pennympi.kernels.exchange import TABLE as FORMS
from pennympi.kernels.halo.exchange import exchange_halos
from pennympi.kernels.in_kernel import add_to_bins, add_to_words, no_bins

CUDA_12 = version("cuda-bindings").startswith("12.")
N_PES = 4
TWO_NODES = Topology((0, 0, 1, 1), ll128_safe=False, stores=False)
# Loads, ops and stores are alike in all algorithms: the dtypes and ops take turns, so that each pair is compiled.
OPS = ("sum", "prod", "min", "max", "avg")
OTHERS = [(name, row) for name, case in CASES.items() if name != "allreduce" for row in case.table]
EVERY = [name for name in ALGORITHMS if name != "nvls"]
REDUCING = [("allreduce", name) for name in EVERY if not ALGORITHMS[name].residual]
REDUCING += [call for call in OTHERS if CASES[call[0]].reduces]
FAR = [name for name, row in ALGORITHMS.items() if not row.why_not(TWO_NODES, "float32", "sum")]
VECTOR = {"load": re.compile(r"\bld\.global(\.nc)?\.v[24]\."), "store": re.compile(r"\bst\.global\.v[24]\.")}
ACCESS = re.compile(r"\b(?:ld|st)\.global(?:\.nc)?\.v([24])\.[a-z]+(\d+)")
ACQUIRE, RELEASE = "ld.acquire.sys.global.u64", "st.release.sys.global.u64"


def ptx(kernel, name, cc=HOPPER, remote=False, **options):
    """The PTX of a kernel, after the checks that hold for every kernel."""
    code = ptx_of(kernel, name, cc, remote, **options)
    lines = [line.strip() for line in code.splitlines()]
    assert f".target sm_{cc[0]}{cc[1]}" in code
    assert sum(".entry" in line for line in lines) == 1
    assert remote or not [line for line in lines if re.search(r"\bcall\b", line)], "a function was not inlined"
    assert ("griddepcontrol.wait" in code) == backend.Target(cc).overlap == (cc == HOPPER)
    return code


def in_turn(call):
    """Name of a dtype, and an op."""
    turn = REDUCING.index(call)
    return [*DTYPES][turn % len(DTYPES)], OPS[turn % len(OPS)]


def allreduce(algorithm, name, op="sum", cc=HOPPER, n_pes=N_PES, open_params=(), **options):
    """The PTX of an algorithm's kernel."""
    text, dtype = {**ALGORITHMS, **PLANNED}[algorithm].kernel, DTYPES[name].reductions[op][1]
    fixed = constants(text, dtype, n_pes, open_params)
    given = {"reduction": (dtype, op), "constants": fixed, "aligned": True} | options
    return ptx(text, f"allreduce ({algorithm})", cc, **given)


def check_messages(code, by_packets):
    """The kernel keeps all in registers, and has the instructions that carry messages."""
    assert ".local" not in code, "spills, or an array that is not in registers"
    if by_packets:  # the PE reads and writes the 120 bytes of a packet's data word by word in its own memory
        assert "st.relaxed.sys.global.v2" in code and "ld.relaxed.sys.global.v2" in code
    else:
        assert VECTOR["load"].search(code) and VECTOR["store"].search(code), "no vector accesses"
        assert ACQUIRE in code and RELEASE in code


@pytest.mark.parametrize("algorithm", EVERY)
def test_allreduce(algorithm):
    """A product and the sum of a residual after it are rounded one by one, as on a CPU."""
    if ALGORITHMS[algorithm].residual:
        name, op = ("float32", "prod") if algorithm == "one_shot" else ("bfloat16", "sum")
        code = allreduce(algorithm, name, op, open_params=("residual",))
        assert "fma.rn.f" not in code and "add.rn.f32" in code
    else:
        code = allreduce(algorithm, *in_turn(("allreduce", algorithm)), (HOPPER, AMPERE)[EVERY.index(algorithm) % 3 == 2])
    check_messages(code, "packets" in algorithm)
    assert "multimem" not in code


@pytest.mark.parametrize("name", ["int64", "uint64"])
def test_averages_of_64_bits(name):
    """Sums of 128 bits need no function call and no memory."""
    check_messages(allreduce("two_shot", name, "avg"), False)


@pytest.mark.parametrize(("name", "op"), [(name, ops[-1]) for name, ops in SWITCH_ADDS.items()])
def test_nvls(name, op):
    code = allreduce("nvls", name, op)
    check_messages(code, False)
    adds = {"float32": "add.v4.f32", "float16": "add.acc::f32.v4.f16x2", "bfloat16": "add.acc::f32.v4.bf16x2"}
    assert f"multimem.ld_reduce.relaxed.sys.global.{adds[name]} " in code
    assert "multimem.st.relaxed.sys.global.v4.f32 " in code
    assert "multimem.ld_reduce.acquire.sys.global.min.s64 " in code, "no min-polling"
    assert "fence.proxy.alias" in code
    assert len(backend._assembled(code, HOPPER)) > 0  # nvJitLink knows these instructions


@pytest.mark.parametrize(
    ("algorithm", "name", "op", "cc"),
    [
        ("two_shot", "bfloat16", "sum", HOPPER),
        ("two_shot_direct", "bfloat16", "avg", AMPERE),
        ("one_shot", "bfloat16", "max", HOPPER),
        ("two_shot_packets", "bfloat16", "sum", AMPERE),
        ("two_shot_copied", "float16", "sum", HOPPER),
        ("one_shot", "int8", "sum", HOPPER),
    ],
)
def test_small_elements(algorithm, name, op, cc):
    """An access takes as many bytes as for float32, and one instruction rounds two results, without integer
    arithmetic."""
    code = allreduce(algorithm, name, op, cc, n_pes=2)
    assert "packets" in algorithm or len(ACCESS.findall(code)) >= 4
    assert {int(lanes) * int(bits) for lanes, bits in ACCESS.findall(code)} <= {128}, "a vector in parts"
    packed = {"bfloat16": "cvt.rn.bf16x2.f32", "float16": "cvt.rn.f16x2.f32"}.get(name, "no float")
    assert (packed in code) == (name == "float16" or (name == "bfloat16" and op != "max"))
    assert "32767" not in code, "rounded by integers"
    # float32 needs 80, and a kernel of more is compiled again, for 64: so is this one by CUDA 13, which takes 92.
    if algorithm == "two_shot" and CUDA_12:
        assert backend.registers(backend._assembled(code, cc)) <= backend.MOST_REGISTERS


@pytest.mark.parametrize("algorithm", ["ring", "one_shot_packets"])
def test_allreduce_of_any_alignment(algorithm):
    """The kernel moves whole vectors inside, single elements at the ends, and bytes where an array starts at an odd
    byte."""
    code = allreduce(algorithm, "float16", aligned=False)
    assert ".local" not in code
    assert all(len(re.findall(rf"\b{move}\.global\.[bu]8\b", code)) > 10 for move in ("ld", "st"))


@pytest.mark.parametrize("algorithm", FAR)
def test_beyond_a_pointer(algorithm):
    """Every body of ``cuda/device/remote.py`` compiles, and the code calls NVSHMEM for puts, signals and their
    completion."""
    code = allreduce(algorithm, "float32", remote=True, aligned=False)
    calls = {"two_shot": ("put", "signal", "quiet"), "ring": ("put_signal", "signal", "quiet")}.get(algorithm, ("put",))
    assert all(f"pennympi_{call}" in code for call in calls)
    assert ("packets" in algorithm) == ("st.relaxed.sys.global.v2" in code), "packets stay inside the nodes"


@pytest.mark.parametrize("call", OTHERS, ids="-".join)
def test_collectives(call):
    """A dtype and an op for each text, in turn; what only moves data has none."""
    collective, algorithm = call
    case = CASES[collective]
    dtype, reduction = DTYPES["uint8"], None
    if case.reduces:
        name, op = in_turn(call)
        dtype = DTYPES[name].reductions[op][1]
        reduction = dtype, op
    text = case.table[algorithm].kernel
    fixed = constants(text, dtype, N_PES)
    code = ptx(text, f"{collective} ({algorithm})", reduction=reduction, constants=fixed, aligned=True)
    check_messages(code, algorithm == "packets")


@pytest.mark.parametrize("collective", [one for one in ALL if issubclass(one, ByCounts)])
def test_collectives_by_counts(collective):
    """These kernels know no alignment; a count that they refuse goes to the record."""
    reduces = collective.name.startswith("reduce")
    dtype = DTYPES["bfloat16" if reduces else "uint8"]
    reduction = (dtype, "sum") if reduces else None
    for name, row in collective.table.items():
        fixed = constants(row.kernel, dtype, N_PES)
        cc, remote = (AMPERE, True) if name == "pairwise" and not reduces else (HOPPER, False)
        code = ptx(row.kernel, f"{collective.name} ({name})", cc, remote, reduction=reduction, constants=fixed)
        check_messages(code, name == "packets")
        assert "atom.global.cas.b64" in code, "no record"


@pytest.mark.parametrize(("form", "cc"), [*((form, HOPPER) for form in FORMS), ("put_signal", AMPERE)])
def test_exchange(form, cc):
    check_messages(ptx(FORMS[form].kernel, f"exchange ({form})", cc, constants={"n_pes": N_PES}), form == "packets")


@pytest.mark.parametrize(
    ("name", "cc", "moves", "signals", "waits"),
    [
        ("put_bytes", HOPPER, True, False, False),
        ("get_bytes", HOPPER, True, False, False),
        ("put_bytes_signal", AMPERE, True, True, False),
        ("wait_signal", HOPPER, False, False, True),
        ("barrier", AMPERE, False, True, True),
    ],
)
def test_one_sided(name, cc, moves, signals, waits):
    code = ptx(getattr(rma, name), name, cc, constants={"n_pes": N_PES} if name == "barrier" else {})
    assert not moves or (VECTOR["load"].search(code) and VECTOR["store"].search(code))
    assert (RELEASE in code) == signals and (ACQUIRE in code) == waits


@pytest.mark.parametrize(("cc", "remote"), [(HOPPER, False), (AMPERE, True)])
def test_halos(cc, remote):
    """Faces travel in units of 16, 8, 4 and 1 bytes, whatever the dtype."""
    code = ptx(exchange_halos, "halo exchange", cc, remote)
    for move in (r"st\.global\.v[24]\.", r"st\.global\.[bu]64", r"st\.global\.[bu]32", r"st\.global\.[bu]8"):
        assert re.search(move, code), move
    assert ACQUIRE in code and RELEASE in code


@pytest.mark.parametrize("kernel", [rma.put_by_staging, rma.get_by_staging])
def test_by_rooms(kernel):
    """A block takes the lock of its room before NVSHMEM reads or writes the room, and frees it by a release."""
    lines = ptx(kernel, kernel.__name__, remote=True).splitlines()
    asked = [i for i, line in enumerate(lines) if re.search(r"pennympi_(put|get)\b", line)]
    held = [i for i, line in enumerate(lines) if "atom.global.cas.b64" in line]
    given = [i for i, line in enumerate(lines) if RELEASE in line]
    assert held and held[0] < asked[-1] < given[-1]


@pytest.mark.parametrize(("name", "cc"), [("float32", AMPERE), pytest.param("float64", HOPPER, marks=pytest.mark.slow)])
def test_jacobi(name, cc):
    """A thread loads its columns of its rows by 16 bytes before it stores any; no product of the formula is fused."""
    kernel = specialised(jacobi_kernels.sweep, DTYPES[name].numpy.itemsize)
    code = ptx(kernel, "sweep", cc, elements=DTYPES[name])
    kind, rows, vector = name.replace("loat", ""), jacobi_kernels.ROWS, jacobi_kernels.VECTOR
    wide = 16 // DTYPES[name].numpy.itemsize
    moves = re.findall(rf"\b(ld|st)\.global\.v{wide}\.{kind}", code)
    sweep = moves[: moves.index("st")]
    assert len(sweep) >= (rows + 2) * vector // wide and moves.count("st") == rows * vector // wide
    assert len(re.findall(rf"\bmul\.rn\.{kind}", code)) >= rows * vector and ".local" not in code
    assert "red.global.add.u64" in code and "bar.sync" in code


def test_the_end_of_a_chunk():
    """All threads have tested their norms before one of them ends the loop, by a float64."""
    kernel = chunk_kernels.end_chunk
    code = ptx(kernel, "end_chunk", kinds=annotated_kinds(kernel), elements=DTYPES["float64"])
    synced = code.index("bar.sync")
    assert "ld.global.f64" in code[:synced] and "st.global.f64" in code[synced:] and ".local" not in code


CONJUGATE = [  # kernel, dtype, sums that it reads, whether it adds
    (poisson_kernels.update_direction, "float64", 0, True),
    (poisson_kernels.update_direction, "float32", 0, True),
    (poisson_kernels.update_solution, "float32", 2, True),
    (poisson_kernels.compute_residual, "float64", 0, True),
    (poisson_sums.end_iteration, "float64", 2, True),
]


@pytest.mark.parametrize(("kernel", "name", "sums", "adds"), CONJUGATE, ids=lambda x: getattr(x, "__name__", str(x)))
def test_poisson(kernel, name, sums, adds):
    """A rounded product is fused with no sum, neither in a sum that is read nor between levels: those sums are exact."""
    code = ptx(kernel, kernel.__name__, kinds=annotated_kinds(kernel), elements=DTYPES[name])
    assert ".local" not in code
    assert len(re.findall(r"\bfma\.rn\.f(32|64)", code)) == 5 * sums
    assert ("red.global.add.u64" in code) == adds


def into_words(ctx, x, words):
    add_to_words(words, add_to_bins(no_bins(), load(x, 0)))


def test_exact_sums():
    """The 11 shuffles pass all 64 bits, and a block whose sum is NaN counts it."""
    code = ptx(into_words, "into_words", elements=DTYPES["float64"])
    assert len(re.findall(r"shfl\.sync\.bfly\.b32", code)) == 2 * 11 and "cvt.rn.f32" not in code
    assert code.count("red.global.add.u64") == 2


@pytest.mark.parametrize("cc", [HOPPER, AMPERE])
def test_a_loops_condition(cc):
    """The driver's function gets the handle, and the kernel loads both words anew."""
    ptx(condition.hold, "loop", cc)
    code = ptx_of(condition.set_condition, "loop", cc)
    assert ".extern .func cudaGraphSetConditional" in code
    assert len(re.findall(r"\bcall\b", code)) == 1
    assert code.count("ld.volatile.global.u64") == 2
