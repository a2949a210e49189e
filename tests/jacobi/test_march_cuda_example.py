"""The printed example of a generated warp kernel, apps/jacobi/sweep/march_cuda_example.txt, is what is generated."""

from pathlib import Path

from apps.jacobi.sweep import march_cuda_source

EXAMPLE = Path(march_cuda_source.__file__).with_name("march_cuda_example.txt")
HEADER, _, SOURCE = EXAMPLE.read_text().partition("\n\n")


def generated():
    return march_cuda_source.source(1, "last", "float32", 7, "march")


def test_the_example_is_what_is_generated():
    assert SOURCE == generated(), "write the example anew: python -m tests.jacobi.test_march_cuda_example"


if __name__ == "__main__":
    EXAMPLE.write_text(f"{HEADER}\n\n{generated()}")
