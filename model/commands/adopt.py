"""The command that proposes a layout for a plain collection, with the code that writes it."""

from __future__ import annotations

import argparse
from pathlib import Path

from model.commands.arguments import choose_layout, open_session
from model.commands.output import json_row
from model.commands.standard_streams import say
from model.errors import Refused
from model.operations.adoption import LANGUAGES, Adoption

_PROFILE = "layouts.toml"


def adopt(args: argparse.Namespace) -> int:
    """Print what a collection is like, a layout with its reasons, its index, its profile and the code."""
    with open_session(args) as session:
        choose_layout(args, session)
        found = session.exchange.adoption(args.ns, args.past, args.to or "")
    written = _written(found, Path(args.folder)) if args.folder else []
    if args.json:
        say(_row(found, args.language, written))
        return 0
    for line in _summary(found):
        say(line)
    if written:
        say(f"Written: {', '.join(written)}.")
    else:
        say(f"\n{found.code(args.language).rstrip()}")
    return 0


def _summary(found: Adoption) -> list[str]:
    of = found.measured
    count = "an unknown number of" if of.documents is None else f"{of.documents:,}"
    lines = [
        f"{found.ns}: {count} documents; of {of.looked_at:,} looked at the mean is {of.mean:,} bytes, the largest "
        f"{of.largest:,}.",
        f"Layout: {found.layout}.",
        *(f"  {reason}" for reason in found.reasons),
    ]
    lines += [f"Index: {found.index}"] if found.index else []
    names = f"--field version={found.version} --field token={found.token}"
    return [
        *lines,
        f"Migration: palimpsest migrate SOURCE {found.ns} --to {found.layout} {names} --apply",
        f"Profile, {_PROFILE}:",
        found.profile,
    ]


def _row(found: Adoption, language: str, written: list[str]) -> str:
    of = found.measured
    return json_row(
        ns=found.ns,
        documents=of.documents,
        mean=of.mean,
        largest=of.largest,
        changes=None if of.changes is None else round(of.changes, 2),
        layout=found.layout,
        reasons=list(found.reasons),
        target=found.target,
        index=found.index or None,
        profile=found.profile,
        code=found.code(language),
        written=written,
    )


def _written(found: Adoption, folder: Path) -> list[str]:
    """Write profile and code; nothing that is there is replaced."""
    texts = {_PROFILE: f"{found.profile}\n", **{name: found.code(each) for each, name in LANGUAGES.items()}}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in texts:
            if (folder / name).exists():
                raise Refused(f"{folder / name} is there already; name another folder.")
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{folder} cannot be written ({error.strerror or error}); name another folder.") from None
    return [str(folder / name) for name in texts]
