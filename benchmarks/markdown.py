"""Markdown of the tables that results become."""


def table(head, rows):
    """Lines of a table.  head: texts;  rows: of cells"""
    first, *others = ["| " + " | ".join(map(str, one)) + " |" for one in (head, *rows)]
    return "\n".join([first, "|" + "---|" * len(head), *others])
