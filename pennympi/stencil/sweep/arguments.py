"""The arguments of ``Grid.plan_sweep``, checked before any PE sends anything."""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

from ...annotations import EngineName
from ...arrays.array_view import ArrayView
from ...arrays.dtypes import positive
from ...compile.digest import keyed
from ...compile.mistakes import check_formula
from ...errors import Unsupported
from ...kernels.in_kernel.exact import MAX_TOTAL
from ...kernels.sweep.formula import Stencil
from ...kernels.sweep.norm import MOST_GROUP_POINTS
from ..grid.decomposition import Decomposition
from .problem import Norms, halo_why_not

DTYPES = ("float32", "float64")
NORMS: dict[Any, Norms] = {False: "none", True: "last", "every": "every"}


class SweepArguments(NamedTuple):
    """The checked arguments of a plan of sweeps.

    numbers: the numbers of ``args``;  depth: number of sweeps between two exchanges; None: the engine chooses
    """

    stencil: Stencil
    numbers: tuple[float, ...]
    sweeps: int
    norms: Norms
    engine: str
    depth: int | None

    @property
    def text(self) -> str:
        """A description of the plan, the same on every PE."""
        stencil = self.stencil
        arguments = f", numbers {self.numbers}" if self.numbers else ""
        arguments += ", a coefficient" if stencil.has_coefficient else ""
        engine = f"engine {self.engine}, depth {self.depth}"
        head = f"{self.sweeps} sweeps of {stencil.formula.__name__} in {stencil.dtype}"
        return f"{head}{arguments}, norms {self.norms}, {engine}"


def checked(
    parts: Decomposition,
    formula: Callable[..., Any],
    views: Sequence[ArrayView],
    args: Any,
    sweeps: Any,
    norm: Any,
    engine: Any,
    depth: Any,
) -> SweepArguments:
    """The checked arguments.  views: u, v and the coefficients.  Raises TypeError, ValueError, Unsupported."""
    n_dims, names = len(parts.shape), ("u", "v", "fields[0]")
    if len(views) > len(names):
        raise ValueError(f"fields has {len(views) - 2} arrays: a sweep takes one field of coefficients")
    if len({view.address for view in views}) < len(views):
        raise ValueError("two of u, v and the field of coefficients are the same array: give different arrays")
    dtype = views[0].dtype
    if dtype.name not in DTYPES:
        raise Unsupported(f"a sweep takes fields of float32 or float64, not {dtype.name}")
    for name, view in zip(names, views, strict=False):
        if view.dtype is not dtype:
            raise ValueError(f"{name} has dtype {view.dtype.name} and u has {dtype.name}: give fields of one dtype")
    if not all(parts.halo):
        raise ValueError(
            f"the grid has halo {parts.halo}, and a sweep reads neighbours in each dimension: use halo=1 or more"
        )
    numbers = _numbers(args)
    _check_formula(formula, n_dims, len(numbers), len(views) - 2)
    sweeps = positive("sweeps", sweeps)
    if not (isinstance(norm, bool) or norm == "every"):
        raise ValueError(f"norm must be False, True or 'every', got {norm!r}")
    if engine not in get_args(EngineName):
        raise ValueError(f"engine must be one of {', '.join(get_args(EngineName))}, got {engine!r}")
    _check_depth(depth, engine, parts)
    if norm and math.prod(parts.shape) > MAX_TOTAL:
        raise ValueError(
            f"a norm is exact for at most {MAX_TOTAL} points, and the grid has {math.prod(parts.shape)}: use norm=False"
        )
    if norm and parts.cuts_groups:
        raise ValueError(
            f"a norm needs parts that begin at multiples of {MOST_GROUP_POINTS} points along the last dimension, in "
            f"which the grid of {parts.shape} points over {parts.dims} PEs has too few: "
            "cut another dimension by dims=..., use fewer PEs, or norm=False"
        )
    stencil = Stencil(keyed(formula), n_dims, dtype.name, len(numbers), len(views) == len(names))
    return SweepArguments(stencil, numbers, sweeps, NORMS[norm], engine, depth)


def _numbers(args: Any) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in args)
    except (TypeError, ValueError):
        raise TypeError(f"args must be a sequence of numbers, got {args!r}") from None


def _check_formula(formula: Any, n_dims: int, n_args: int, n_fields: int) -> None:
    """Raise unless the formula is a plain function of the right number of parameters, without mistakes."""
    if not inspect.isfunction(formula):
        raise TypeError(f"a formula must be a plain Python function, got {type(formula).__name__}")
    parameters = inspect.signature(formula).parameters.values()
    wanted = 1 + 2 * n_dims + n_args + n_fields
    if len(parameters) != wanted or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        parts = ["the point", f"its {2 * n_dims} neighbours"]
        parts += [f"{n_args} numbers of args"] * (n_args > 0) + ["the coefficient"] * n_fields
        signature = f"{formula.__name__}{inspect.signature(formula)}"
        raise TypeError(f"the formula {signature} must take {wanted} parameters: {', '.join(parts)}")
    check_formula(formula)


def _check_depth(depth: Any, engine: str, parts: Decomposition) -> None:
    """Raise TypeError or ValueError for a depth that is not an int, or that the halos do not allow."""
    if depth is None:
        return
    depth = positive("depth", depth)
    if engine == "plain" and depth > 1:
        raise ValueError(f"the plain engine does one sweep a pass: leave out depth={depth}, or use engine='blocked'")
    reason = halo_why_not(parts, depth)
    if engine != "resident" and reason:
        raise ValueError(reason)
