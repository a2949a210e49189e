"""Write the README's table of measurements from the raw results.

python benchmarks/tables.py            reads benchmarks/results/*.json, rewrites README.md between its marks
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def size(nbytes):
    """1024 as "1 KiB"."""
    for unit in ("B", "KiB", "MiB"):
        if nbytes < 1024:
            return f"{nbytes} {unit}"
        nbytes //= 1024
    return f"{nbytes} GiB"


def allreduce(path):
    """Markdown for one result of benchmarks/allreduce.py."""
    result = json.loads(path.read_text())
    facts, rows = result["facts"], result["us"]
    rivals = [key for key in rows[0] if key not in ("bytes", "wrong", "pennympi")]
    lines = [
        f"AllReduce, float32, sum, {facts['PEs']} x {facts['device']}, in a CUDA graph, slowest PE, us a call "
        f"(NCCL {facts['NCCL']}, NVSHMEM {facts['NVSHMEM']}, driver {facts['CUDA driver']}; "
        f"[raw](benchmarks/results/{path.name})):",
        "",
        "| size | pennympi | " + " | ".join(rivals) + " | times faster than the better NCCL |",
        "|---|---|" + "---|" * (len(rivals) + 1),
    ]
    for row in rows:
        best = min(row[key] for key in rivals) if rivals else float("nan")
        others = " | ".join(f"{row[key]:.2f}" for key in rivals)
        lines.append(f"| {size(row['bytes'])} | {row['pennympi']:.2f} | {others} | {best / row['pennympi']:.2f} |")
    note = f" ({result['note']})" if "note" in result else ""
    cost = ", ".join(f"{name} {us:.1f} us" for name, us in result["host_us"].items())
    return "\n".join([*lines, "", f"Host time of a call at 1 KiB: {cost}{note}."])


def main():
    results = sorted((ROOT / "benchmarks" / "results").glob("allreduce-*.json"))
    text = "\n\n".join(allreduce(path) for path in results)
    readme = ROOT / "README.md"
    marks = r"(<!-- measured -->\n).*(<!-- /measured -->)"
    readme.write_text(re.sub(marks, lambda m: m[1] + text + "\n" + m[2], readme.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
