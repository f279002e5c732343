"""Hooks of `make site`.

Links to files outside docs/ are shown as text, because the site does not contain them. Parameters that share one
description in a docstring have a row each, with the type and the default of their own in the signature.
"""

import re

from griffe import Extension

LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)[^)]+\)")
SHARED = re.compile(r"^(\w+(?:, \w+)+)( : .+)?\n((?: {4}.*\n?)+)", re.MULTILINE)  # name, name : type, description
CHOICES = re.compile(r"^(\w+ : )\{([^{}:]+)\}", re.MULTILINE)  # the first would be read as the default


def on_page_markdown(markdown, page, **_):
    """Return the text of a page without links that leave docs/."""
    depth = page.file.src_uri.count("/")
    return LINK.sub(lambda link: link[0] if link[2].count("../") <= depth else link[1], markdown)


class Parameters(Extension):
    """Docstrings in the form that leaves types and defaults to the signature."""

    def on_object(self, *, obj, **_):
        """Rewrite the docstring of an object, where it has one."""
        if obj.docstring is not None:
            text = SHARED.sub(repeat_description, obj.docstring.value + "\n")
            obj.docstring.value = CHOICES.sub(lambda item: item[1] + item[2].replace(", ", " | "), text)


def repeat_description(item):
    """Return an item for each of the names."""
    names, kind, description = item.groups(default="")
    return "".join(f"{name}{kind}\n{description}" for name in names.split(", "))
