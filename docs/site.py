"""Hook of mkdocs: links to files outside docs/ are shown as text, because the site does not contain them."""

import re

LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)[^)]+\)")


def on_page_markdown(markdown, page, **_):
    """Return the text of a page without links that leave docs/."""
    depth = page.file.src_uri.count("/")
    return LINK.sub(lambda link: link[0] if link[2].count("../") <= depth else link[1], markdown)
