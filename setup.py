"""The description of the package on an index: README.md, whose links must also work there.  All else is in setup.cfg."""

import re
from pathlib import Path

from setuptools import setup

REPOSITORY = "https://github.com/pennympi/pennympi"
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
TARGET = re.compile(r"(!\[[^\]]*)?\]\(([^)\s]+)\)|(<img [^>]*src=)\"([^\"]+)\"")


def absolute(text: str) -> str:
    """Markdown whose links to files of the checkout lead into the repository; links within the page stay."""

    def link(found: re.Match[str]) -> str:
        target = found[2] or found[4]
        if re.match(r"\w+:|#", target):
            return found[0]
        image = found[1] or found[3]
        return found[0].replace(target, f"{REPOSITORY}/{'raw' if image else 'blob'}/main/{target}")

    parts = CODE.split(text)
    return "".join(part if i % 2 else TARGET.sub(link, part) for i, part in enumerate(parts))


if __name__ == "__main__":
    setup(
        long_description=absolute(Path(__file__).with_name("README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
    )
