"""The manual: pages of Markdown in ``help``, one a topic, for the window, the command line and whoever browses them.

The first page lists the others in groups, each with a line on its content; that list is the only one.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from msgspec import Struct

FIRST = "start"
_LISTED = re.compile(r"- \[(?P<title>[^\]]+)\]\((?P<name>\w+)\.md\): (?P<about>.+)")
_HEADING = re.compile(r"#{1,6} (.+)")


class Topic(Struct, frozen=True):
    """A page as the first one lists it."""

    name: str  # its file's, and what people type
    title: str
    about: str  # its content, one sentence
    group: str  # the heading that it is listed under; "" for the first page itself


@cache
def topics() -> tuple[Topic, ...]:
    """Every page of the manual, in the order of the first page's list."""
    lines = page(FIRST).splitlines()
    title, about = (line for line in lines[:3] if line)
    found, group = [Topic(FIRST, title.removeprefix("# "), about, "")], ""
    for line in lines:
        if heading := _HEADING.fullmatch(line):
            group = heading[1]
        elif listed := _LISTED.fullmatch(line):
            found.append(Topic(**listed.groupdict(), group=group))
    return tuple(found)


@cache
def page(name: str) -> str:
    """The Markdown of a topic's page; raises ``FileNotFoundError`` for a name that is none."""
    return resources.files("resources").joinpath("help", f"{name}.md").read_text("utf-8")


@cache
def picture(file: str) -> str:
    """A picture that a page shows, as SVG whose ink is ``currentColor``; raises ``FileNotFoundError`` for none."""
    return resources.files("resources").joinpath("pictures", file).read_text("utf-8")


def command(name: str) -> str:
    """The section of a command on the page *Commands*, in Markdown; "" where no command is called so."""
    found = re.search(rf"^### {re.escape(name)}\n.*?(?=^##|\Z)", page("commands"), re.DOTALL | re.MULTILINE)
    return found[0].rstrip("\n") + "\n" if found else ""


def headings(name: str) -> list[str]:
    """The headings of a page, its title first; lines in blocks of code are none."""
    text = re.sub(r"^```.*?^```", "", page(name), flags=re.DOTALL | re.MULTILINE)
    return [found[1] for line in text.splitlines() if (found := _HEADING.fullmatch(line))]


def anchor(heading: str) -> str:
    """The part of a link to a heading behind its ``#``: ``How a write ends`` is ``how-a-write-ends``."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def nearest(word: str, most: int = 3) -> list[Topic]:
    """The topics that somebody may have meant by a word, the likeliest first: none where nothing speaks of it.

    A page that is called almost so comes before one with a heading that is, and that before one that uses the word.
    """
    word = word.lower()
    ranks: dict[Topic, tuple[float, ...]] = {}
    for topic in topics():
        name, heads = _likeness(word, topic.name), _likeness(word, " ".join(headings(topic.name)))
        used = page(topic.name).lower().count(word)
        if name or heads or used:
            ranks[topic] = (name, heads, used)
    return sorted(ranks, key=lambda topic: ranks[topic], reverse=True)[:most]


def _likeness(word: str, text: str) -> float:
    """The likeness of a word to the nearest one in a text; 0 where none is near."""
    others = re.findall(r"\w+", text.lower())
    if len(word) > 2 and any(other.startswith(word[:-1]) for other in others):
        return 1  # layout and layouts, merge and merging
    import difflib

    best = max(difflib.SequenceMatcher(None, word, other).ratio() for other in others)
    return best if best >= 0.75 else 0
