"""The manual, parsed for its tests: blocks of code, commands, tables, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from resources import manual

NAMES = [topic.name for topic in manual.topics()]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")


def blocks(text: str, kind: str) -> list[str]:
    """The blocks of code of one kind."""
    return [found[2] for found in _BLOCK.finditer(text) if found[1] == kind]


def prose(text: str) -> str:
    """A text without its blocks of code."""
    return _BLOCK.sub("", text)


def links(text: str) -> list[str]:
    """Where a text's links lead; pictures are none."""
    return _LINK.findall(prose(text))


def commands(text: str) -> Iterator[list[str]]:
    """Every line of a block that calls ``palimpsest``, as the words behind it; a crontab's and a unit's lines too."""
    for block in (*blocks(text, "sh"), *blocks(text, "ini")):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            called = re.search(r"(?:^|\s|/bin/)palimpsest(?: (.*))?$", line)
            if called is not None and not line.startswith(("git ", "echo ", "#")):
                yield shlex.split(called[1] or "")


def rows(text: str, *header: str) -> list[tuple[str, ...]]:
    """The rows of the table with this header; back quotes are taken off a cell that is nothing else."""
    lines, head = text.splitlines(), f"| {' | '.join(header)} |"
    assert head in lines, f"{_file_of(text)} lacks the table {head!r}; write it there."
    at = lines.index(head)
    found = []
    for line in lines[at + 2 :]:
        if not line.startswith("|"):
            break
        found.append(tuple(re.sub(r"^`([^`]*)`$", r"\1", cell.strip()) for cell in line.strip("|").split(" | ")))
    return found


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next of its rank or a higher one."""
    found = _section(text, heading)
    assert found is not None, f"{_file_of(text)} lacks the section {heading!r}; write it there."
    return found


def sections_with(text: str, words: str) -> list[str]:
    """The headings of the third rank below which some words stand, in the order of the text."""
    headings = re.findall(r"^### (.+)$", text, re.MULTILINE)
    return [each for each in headings if words in section(text, f"### {each}")]


def _section(text: str, heading: str) -> str | None:
    rank = heading.partition(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(rank)}}} |\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found is not None else None


def _file_of(text: str) -> str:
    """The page of the manual that a text is of, or is a part of."""
    return next((f"resources/help/{name}.md" for name in NAMES if text in manual.page(name)), "The text")


def leads_nowhere(text: str, folder: Path) -> list[str]:
    """The links of a file in a folder that lead to no file, or to no heading of one."""
    wrong = []
    for link in links(text):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        there = (folder / path).resolve()
        told = _headings(there.read_text("utf-8")) if there.suffix == ".md" and there.exists() else []
        if not there.exists() or (heading and heading not in map(manual.anchor, told)):
            wrong.append(link)
    return wrong


def _headings(text: str) -> list[str]:
    return re.findall(r"^#{1,6} (.+)$", prose(text), re.MULTILINE)
