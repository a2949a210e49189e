"""What the kernels compute at one point, and where its row lies."""

from pennympi.kernels.block import load, product, real

from .records import Directions, Part


def quotient(a, b):
    """a // b, for 0 <= a < 2**50: a / b is at least 1 / (2 b) from what would round to another number.

    On a GPU a division of 64-bit integers is dozens of instructions, and a range with a step has one.
    """
    return int((a + 0.5) * (1.0 / b))


def width(part: Part):
    """Elements of a row, in pairs: from one before the halo on, so that own points begin with a pair, to its end."""
    return (part.nz & -2) + 4


def row_at(part: Part, row):
    """The first own point of row number ``row`` of the own rows, in elements from the start of a field."""
    x = quotient(row, part.ny)
    return part.first + x * part.plane + (row - x * part.ny) * part.row


def stencil(part: Part, here, x, y, z):
    """-laplace at a point, times the scale.  x, y, z: the sums of its two neighbours along each dimension"""
    twice = here + here
    along_x, along_y = product(real(part.wx), twice - x), product(real(part.wy), twice - y)
    return (along_x + along_y) + product(real(part.wz), twice - z)


def applied(part: Part, u, at):
    """``stencil`` of a field."""
    x = load(u, at - part.plane) + load(u, at + part.plane)
    y = load(u, at - part.row) + load(u, at + part.row)
    return stencil(part, load(u, at), x, y, load(u, at - 1) + load(u, at + 1))


def direction(d: Directions, beta, at):
    """The new direction at a point."""
    return load(d.r, at) + product(real(beta), load(d.old, at))
