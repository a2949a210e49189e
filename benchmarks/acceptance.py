"""What jobscripts/acceptance.sbatch measures beside the library's commands, and the table that it prints.

python benchmarks/acceptance.py nics OUT LABEL      on each host: write down what its NICs have sent so far
python benchmarks/acceptance.py table OUT           print the table of the results in the folder OUT
"""

import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from pennympi.bench.columns import comparison, tail
from pennympi.bench.result import read
from pennympi.units import size_text

INFINIBAND, NET = Path("/sys/class/infiniband"), Path("/sys/class/net")
WORD_BYTES = 4  # in which InfiniBand's counters count


def counters() -> dict[str, list[int]]:
    """{NIC: [bytes sent, bytes received]} of this host's NICs, since they were started."""
    found = {}
    for port in sorted(INFINIBAND.glob("*/ports/*")):
        files = [port / "counters" / f"port_{way}_data" for way in ("xmit", "rcv")]
        found[f"{port.parts[-3]}:{port.name}"] = [WORD_BYTES * _number(path) for path in files]
    for nic in sorted(path.parent for path in NET.glob("*/device")):
        found[nic.name] = [_number(nic / "statistics" / f"{way}_bytes") for way in ("tx", "rx")]
    return found


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def loads(out: Path) -> Iterator[str]:
    """What each NIC sent and received between the files of ``before-X`` and ``after-X``, for each X and host."""
    for after in sorted(out.glob("nics.after-*.json")):
        before = out / after.name.replace("nics.after-", "nics.before-")
        _, label, host = after.name.removesuffix(".json").split(".", 2)
        then, now = (json.loads(path.read_text()) for path in (before, after))
        moved = {nic: [now[nic][way] - then.get(nic, (0, 0))[way] for way in (0, 1)] for nic in now}
        used = [f"{nic} {size_text(a)} out, {size_text(b)} in" for nic, (a, b) in moved.items() if a + b > 1 << 20]
        yield f"{label.removeprefix('after-'):16} {host}: {'; '.join(used) or 'no NIC moved a MiB'}"


def table(out: Path) -> int:
    """Print the table.  Returns the number of failures."""
    failed = 0
    for step in (out / "steps.txt").read_text().splitlines():
        name, status = step.rsplit(" ", 1)
        failed += status != "0"
        print(f"step {name:30} {'done' if status == '0' else f'FAILED, status {status}: see {name}.txt'}")
    report = out / "report.txt"
    wanted = ("pennympi", "device", "NVSHMEM", "CUDA driver", "heap", "links", "nodes")
    print("\nREPORT")
    for line in report.read_text(errors="replace").splitlines() if report.exists() else ():
        if line.startswith(wanted):
            print(line)
    print("\nALGORITHMS: median us of a call on the slowest PE, checked element by element")
    for path in sorted(out.glob("bench-*.json")):
        result = read(path)
        failed += not result.rows or any(row.wrong for row in result.rows)
        print(result.options["case"], *comparison(result), *tail(result), "", sep="\n")
    print("SOLVER")
    for path in sorted(out.glob("solver-*.txt")):
        lines = [line for line in path.read_text(errors="replace").splitlines() if line.startswith(("PASS", "FAIL"))]
        failed += not lines or any(line.startswith("FAIL") for line in lines)
        print(f"{path.stem.removeprefix('solver-'):18}{'; '.join(lines) or 'FAIL: no verdict'}")
    print("\nBYTES A NIC")
    print(*loads(out), sep="\n")
    print(f"\n{'PASS' if not failed else f'FAIL: {failed} of the above'}")
    print(f"Please send us the folder {out}: it holds what is printed here and each step's output,")
    print("with the names of your hosts and the variables of NVSHMEM, NCCL and UCX.")
    return failed


def main() -> int:
    match sys.argv[1:]:
        case ["nics", out, label]:
            (Path(out) / f"nics.{label}.{platform.node()}.json").write_text(json.dumps(counters()))
            return 0
        case ["table", out]:
            return min(1, table(Path(out)))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
