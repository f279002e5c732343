"""Hook of mkdocs: links to files outside docs/ are shown as text, because the site does not contain them."""

import re

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


def on_page_markdown(markdown, **_):
    """Return the text of a page without links that leave docs/."""
    return OUTSIDE.sub(r"\1", markdown)
