"""An extension of griffe, which reads the docstrings for the site: it writes the library's docstrings as Markdown.

Such a docstring is a sentence, lines that begin with the names that they explain (``x, out: arrays``), and sentences
on what is raised. The lines become a list, a sentence that begins its line a paragraph.
"""

import re

import griffe

NAMED = re.compile(r"((?:\w+|[\"\w]+_)(?:, \w+)*):\s+(\S.*)")
MORE = re.compile(r"(?:;|(?<=\.))\s{2,}(?=\w+(?:, \w+)*:\s)")  # a name that does not begin its line


def markdown(text):
    """A docstring as Markdown."""
    lines, in_item = [], False
    for line in MORE.sub("\n", text).splitlines():
        found = NAMED.fullmatch(line.strip())
        indented = line.startswith(" ")
        if found and not (indented and not in_item):
            if lines and lines[-1] and not in_item:
                lines.append("")
            lines.append(f"- `{found[1]}`: {found[2]}")
            in_item = True
        elif in_item and indented and line.strip():
            lines.append(f"  {line.strip()}")
        else:
            new = lines and lines[-1].endswith(".") and line[:1].isupper()  # a sentence that begins its line
            if (in_item and line.strip()) or new:
                lines.append("")
            in_item = False
            lines.append(line)
    text = re.sub(r"``(.+?)``", r"`\1`", "\n".join(lines), flags=re.DOTALL)
    return re.sub(r"(?<![\w`])(__\w+__)(?![\w`])", r"`\1`", text)


class PlainDocstrings(griffe.Extension):
    """Rewrites each docstring as it is read."""

    def on_instance(self, *, obj, **kwargs):
        if obj.docstring and not obj.is_alias:
            obj.docstring.value = markdown(obj.docstring.value)
