"""Row 22: ways to start a job."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

from .case import Case, Row
from .stage import PROGRAMS, ROOT, Stage, whole

EXAMPLE = r"<!-- example -->\s*```python\n(.*?)```"


def launchers(stage: Stage) -> Iterator[Case]:
    found = re.search(EXAMPLE, (ROOT / "README.md").read_text(), re.DOTALL)
    program = stage.folder / "example.py"
    program.write_text(found[1] if found else "raise SystemExit('no example')")
    for n in (0, 1, *stage.ranks(2, 4, 16)):
        ended = stage.job(n, program, limit_s=100, timeout_s=60)
        failure = whole(ended, 100) or (f"took {ended.seconds:.0f} s" if ended.seconds > 60 and stage.scale >= 1 else "")
        yield Case(f"the README's example on {n} PEs" if n else "without mpirun", 1, failure)
    line = ("-m", "apps.jacobi", "--nx", "60", "--ny", "80", "--niter", "50", "--verify", "--no-serial")
    for n in (0, *stage.ranks(3, 16)):
        yield Case(f"the solver, {n} PEs" if n else "the solver without mpirun", 1, whole(stage.job(n, *line), 100))
    for module in ("pennympi", "pennympi topology", "pennympi explain 64K"):
        yield Case(f"python -m {module}", 1, whole(stage.job(stage.ranks(2)[0], "-m", *module.split()), 100))
    away = stage.job(2, PROGRAMS / "misuse.py", "finalized_twice", around=["sh", "-c", 'cd / && exec "$@"', "sh"])
    yield Case("from another folder", 1, whole(away, 100))
    if not shutil.which("srun"):
        yield Case("srun", 1, not_run="Slurm is not installed")


ROWS = [
    Row("22", "mpirun, without mpirun, 16 PEs on few cores, another folder, the commands",
        "all run; 16 PEs end in less than 60 s", 60, launchers, gpu_s=80),
]  # fmt: skip
