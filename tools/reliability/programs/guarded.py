"""Row 21, CPUs: arrays between pages that may not be touched, in every algorithm: a byte beyond them crashes."""

import ctypes
import mmap

import numpy as np
from collective_cases import CASES, TABLES, Call, right
from counting import Count, options
from on_device import same
from reductions import expected, own

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)


def fenced(values, at_end):
    """A copy of the values that ends right before a page without access, or begins right behind one."""
    nbytes = values.nbytes
    pages = -(-max(nbytes, 1) // PAGE)
    region = mmap.mmap(-1, (pages + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(region))
    for fence in (start, start + (pages + 1) * PAGE):
        if libc.mprotect(ctypes.c_void_p(fence), PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = PAGE + (pages * PAGE - nbytes if at_end else 0)
    array = np.frombuffer(region, values.dtype, values.size, offset)
    array[:] = values
    return array


given = options(__doc__).parse_args()
with pennympi.init() as team:
    count, n, me = Count(team.comm), team.n_pes, team.me
    sizes = (1, 3, 15, 17, 255, 1023, 4097, 20_001)
    for number, name in enumerate(DTYPES):
        for row in TABLE:
            for size in sizes:
                if (number + size) % given.times or TABLE[row].refuse(team.place, name, "sum"):
                    continue
                for at_end in (True, False):
                    x = fenced(own(name, "sum", n, me, size), at_end)
                    out = fenced(np.zeros(size, DTYPES[name].numpy), at_end)
                    team.allreduce(x, out, "sum", row)
                    team.synchronize()
                    count.right(same(out, expected(name, "sum", n, size)), f"{row} {name} {size}")
        for collective, case in CASES.items():
            for row in TABLES[collective]:
                call = Call(name, "max", n, me, number % n, sizes[number % len(sizes)])
                if TABLES[collective][row].refuse(team.place, name, "max"):
                    continue
                x, out = case.fresh(lambda values: fenced(values, True), call)
                before = out.copy()
                case.run(team, call, x, out, algorithm=row)
                team.synchronize()
                count.right(right(case, call, out, before), f"{collective} {row} {name}")
    count.tell()
