"""Check a built site: every link leads to a file and an anchor that is there, and nothing is loaded from elsewhere.

python tools/docs_site/check.py site        prints what is wrong; status 1 if anything is
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}
IMPORTED = re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]+)")
NEVER_LOADED = {"canonical", "edit"}  # relations of <link> that name a page only


class Page(HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = {key: value for key, value in attributes if value}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        for key, value in given.items():
            if (tag, key) in LOADED and given.get("rel") not in NEVER_LOADED:
                self.loaded.append(value)
            elif (tag, key) == ("a", "href"):
                self.links.append(value)
            elif key == "style":
                self.loaded += IMPORTED.findall(value)


def wrong(folder):
    """What is wrong in the site, a line each."""
    folder = Path(folder).resolve()
    pages = {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    found = [] if pages else [f"{folder}: no page"]
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        name = path.relative_to(folder)
        found += [f"{name}: loads {one}" for one in page.loaded if urlsplit(one).netloc]
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.is_relative_to(folder) or not to.exists():
                found.append(f"{name}: {link} leads nowhere")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors:
                found.append(f"{name}: {link} names no anchor")
    for path in sorted(folder.rglob("*.css")):
        found += [f"{path.relative_to(folder)}: loads {one}" for one in IMPORTED.findall(path.read_text())]
    return found


def main(argv):
    problems = wrong(argv[0])
    print("\n".join(problems) or f"{argv[0]}: every link leads somewhere, and nothing is loaded from elsewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
