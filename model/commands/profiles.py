"""The command profile: how a collection is read, as text for a profile file."""

from __future__ import annotations

import argparse

from model import profile as profiles
from model.commands.arguments import open_session
from model.commands.output import Progress, json_row
from model.commands.standard_streams import say
from model.errors import Refused
from model.profile.profile_file import block, preset_block


def print_profile(args: argparse.Namespace) -> int:
    """Print profiles; 1 if nothing is claimed and nothing offered."""
    if args.writer:
        say(preset_block(args.writer, args.ns or args.source or "database.collection"))
        return 0
    if not args.source:
        raise Refused("Name a source, as in `palimpsest profile SOURCE NS`, or a writer, as in `--writer javers`.")
    with open_session(args) as session, Progress("Looking at collection") as progress:
        catalogue, found = session.catalogue, 0
        places = [args.ns] if args.ns else [info.ns for info in catalogue.collections(checkpoint=progress)]
        offered = {each.profile.ns: each for each in catalogue.offers(places, progress)}
        for ns in places:
            info, profile = catalogue.known(ns)
            offer = offered.get(ns)
            if info.belongs_to is not None or (info.unversioned and offer is None):
                continue
            said = info.why if offer is None else f"Offered, not proven: {offer.said}"
            profile = profile if offer is None else offer.profile
            progress.make_way()
            found += 1
            if args.json:
                say(json_row(ns=ns, offered=offer is not None, said=said, profile=profiles.minimal(profile)))
            else:
                say(f"# {said}\n{block(profile)}")
    return 0 if found else 1
