"""An extension of griffe: the parameters in a docstring, lines such as "x: an array", become a list in the page."""

import re

from griffe import Extension

PARAMETER = re.compile(r"^(\w+(?:, \w+)*): +(.*(?:\n +.*)*)\n?", re.MULTILINE)  # with the indented lines after it
LIST = re.compile(rf"(?<![^.:\n]\n)(?:{PARAMETER.pattern})+", re.MULTILINE)  # not in the middle of a sentence
SEPARATOR = re.compile(r";  (?=\w+(?:, \w+)*: )")  # between two parameters on a line
DUNDER = re.compile(r"(?<!`)__\w+__")


def as_item(parameter):
    """A parameter, or several with the same text, as an item of a list."""
    names = ", ".join(f"`{name}`" for name in parameter[1].split(", "))
    return f"- {names}: {' '.join(parameter[2].split())}\n"


def as_markdown(text):
    """A docstring in Markdown, with its errors in a separate paragraph."""
    text = SEPARATOR.sub("\n", text)
    text = LIST.sub(lambda parameters: f"\n{PARAMETER.sub(as_item, parameters[0])}\n", text)
    return DUNDER.sub(r"`\g<0>`", text.replace("\nRaises ", "\n\nRaises "))


class ParametersAsList(Extension):
    """Changes each docstring after it has been read."""

    def on_instance(self, *, obj, **_):
        """Change the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
