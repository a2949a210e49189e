"""The parts of the packaging that setup.cfg can't express: README.md's links must also work on a package index, and a
source archive keeps the links pennympi/kernels and pennympi/apps, since the tests read the files where they are.
"""

import os
import re
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

REPOSITORY = "https://github.com/pennympi/pennympi"
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
TARGET = re.compile(r"(!\[[^\]]*)?\]\(([^)\s]+)\)|(<img [^>]*src=)\"([^\"]+)\"")


def absolute(text: str) -> str:
    """Markdown whose links to files of the checkout lead to the repository; links within the page stay."""

    def link(match: re.Match[str]) -> str:
        target = match[2] or match[4]
        if re.match(r"\w+:|#", target):
            return match[0]
        image = match[1] or match[3]
        return match[0].replace(target, f"{REPOSITORY}/{'raw' if image else 'blob'}/main/{target}")

    parts = CODE.split(text)
    return "".join(part if i % 2 else TARGET.sub(link, part) for i, part in enumerate(parts))


class WithLinks(sdist):
    """The source archive, which contains each file once."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        links = [Path("pennympi", name) for name in ("kernels", "apps")]
        super().make_release_tree(base_dir, [file for file in files if not set(links) & set(Path(file).parents)])
        for link in links:
            os.symlink(Path("..", link.name), Path(base_dir, link))


if __name__ == "__main__":
    setup(
        cmdclass={"sdist": WithLinks},
        long_description=absolute(Path(__file__).with_name("README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
    )
