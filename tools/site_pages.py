"""A hook of mkdocs: files outside docs/ that the pages link to are copied into the site, under source/, and checked.

A link to a file of the checkout works in an editor and on a forge; here it becomes a link inside the site.  A folder
stands for its README.md; a link to a folder without README.md becomes plain text.  A program becomes a page.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
DOCS, COPIES = "docs/", "source/"
CELL = re.compile(r"<t[dh].*?</t[dh]>", re.DOTALL)  # of a table
BREAK = re.compile(r"(?<=[_./(])(?=[A-Za-z])(?![^<]*>)")  # a place inside a name, not inside a tag
WIDE = "---\nhide: [toc]\n---\n"  # a page without a table of contents, whose code may be wider
LINK = re.compile(r"(!?\[[^\]]*\])\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")  # and pictures


def target_of(uri, link):
    """The path of the target of a page's link, from the root of the checkout."""
    page = uri.removeprefix(COPIES) if uri.startswith(COPIES) else DOCS + uri
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return f"{path}/README.md" if (ROOT / path).is_dir() else path


def copy_of(path):
    """The place in the site of a file outside docs/."""
    return f"{COPIES}{path}.md" if path.endswith(".py") else COPIES + path


def on_files(files, config):
    """Add the files that the pages link to, and the files that those link to."""
    pages = [(file.src_uri, file.content_string) for file in files.documentation_pages()]
    while pages:
        uri, text = pages.pop()
        for path in sorted({target_of(uri, link) for _, link, _ in LINK.findall(text)}):
            copy = copy_of(path)
            if path.startswith(DOCS) or not (ROOT / path).is_file() or files.get_file_from_path(copy):
                continue
            if path.endswith(".py"):
                code = f"{WIDE}# `{path}`\n\n````python\n{(ROOT / path).read_text()}````\n"
                files.append(File.generated(config, copy, content=code))
                continue
            files.append(File.generated(config, copy, abs_src_path=str(ROOT / path)))
            if path.endswith(".md"):
                pages.append((copy, (ROOT / path).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Let each link lead to the site's copy; mkdocs complains about a link without a target."""
    uri = page.file.src_uri

    def replaced(link):
        text, target, anchor = link.groups()
        path = target_of(uri, target)
        if not (ROOT / path).is_file():
            return text[1:-1] if (ROOT / path).parent.is_dir() and path.endswith("/README.md") else link[0]
        inside = path.removeprefix(DOCS) if path.startswith(DOCS) else copy_of(path)
        return f"{text}({os.path.relpath(inside, posixpath.dirname(uri) or '.')}{anchor or ''})"

    return LINK.sub(replaced, markdown)


def on_page_content(html, page, config, files):
    """Let a long name in a table break at its parts; the style sheet allows it on narrow screens."""
    return CELL.sub(lambda cell: BREAK.sub("<wbr>", cell[0]), html)
