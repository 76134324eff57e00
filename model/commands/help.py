"""The command that prints a page of the manual, or what it says of a command: ``palimpsest help [TOPIC]``."""

from __future__ import annotations

import argparse

from model.commands.standard_streams import say
from model.errors import NotFound
from resources import manual


def help(args: argparse.Namespace) -> int:
    """Print one page, the section of a command that has no page of its own, or a list of all pages."""
    if args.topic is None:
        _list()
        return 0
    if args.topic not in {topic.name for topic in manual.topics()}:
        if section := manual.command(args.topic):
            say(section.rstrip("\n"))
            return 0
        near = " or ".join(f"`palimpsest help {topic.name}`" for topic in manual.nearest(args.topic))
        instead = f"try {near}" if near else "`palimpsest help` lists them"
        raise NotFound(f"The manual has no page {args.topic}; {instead}.")
    say(manual.page(args.topic).rstrip("\n"))
    return 0


def _list() -> None:
    width = max(len(topic.name) for topic in manual.topics())
    group = ""
    for topic in manual.topics():
        if topic.group != group:
            group = topic.group
            say(f"\n{group}")
        say(f"  {topic.name:{width}}  {topic.title}: {topic.about}")
    say("\n`palimpsest help TOPIC` prints a page.")
