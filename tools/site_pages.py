"""A hook of mkdocs: what the pages link to outside docs/ comes into the site, under source/.

A link to a file of the checkout works in an editor and on a forge; here it is turned into one inside the site. A folder
is its README.md; one that has none stays as text.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
DOCS, COPIES = "docs/", "source/"
LINK = re.compile(r"(!?\[[^\]]*\])\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")  # and pictures
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def at_home(uri):
    """The path of a page from the root of the checkout."""
    return uri.removeprefix(COPIES) if uri.startswith(COPIES) else DOCS + uri


def target_of(uri, link):
    """The path of what a link of a page leads to, from the root; None: outside of it, or a folder without a README.md."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(at_home(uri)), link))
    if (ROOT / path).is_dir():
        path += "/README.md"
    return path if (ROOT / path).is_file() else None


def outward(uri, text):
    """The paths outside docs/ that a page links to."""
    found = (target_of(uri, link) for _, link, _ in LINK.findall(FENCE.sub("", text)))
    return {path for path in found if path and not path.startswith(DOCS)}


def on_files(files, config):
    """Add what the pages link to, and what that links to."""
    pages = [(file.src_uri, file.content_string) for file in files.documentation_pages()]
    while pages:
        uri, text = pages.pop()
        for path in sorted(outward(uri, text)):
            copy = COPIES + path
            if files.get_file_from_path(copy) is None:
                files.append(File.generated(config, copy, abs_src_path=str(ROOT / path)))
                if path.endswith(".md"):
                    pages.append((copy, (ROOT / path).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Let each link lead to the site's copy."""
    uri = page.file.src_uri

    def replaced(link):
        text, to, anchor = link.groups()
        path = target_of(uri, to)
        if path is None:
            # A folder that has no page; anything else is left for mkdocs to complain about.
            is_folder = (ROOT / posixpath.dirname(at_home(uri)) / to).is_dir()
            return text[1:-1] if is_folder else link[0]
        inside = path.removeprefix(DOCS) if path.startswith(DOCS) else COPIES + path
        return f"{text}({os.path.relpath(inside, posixpath.dirname(uri) or '.')}{anchor or ''})"

    parts, last = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(replaced, markdown[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, LINK.sub(replaced, markdown[last:])])
