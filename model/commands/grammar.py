"""The grammar of the command line: every command with its arguments, for argparse."""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from model import __version__
from model.layouts.layout_names import LAYOUT_NAMES, PATTERN_NAMES, WRITABLE_LAYOUTS
from model.storage.numbering_ways import WAYS

TYPE_CHECKING = False  # importing it from typing takes longer than all imports here
if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Any, NoReturn

_WAYS = " ".join(
    f'"{way}{":db.collection" if way == "counter" else ""}" ({said.rstrip(".")}).' for way, said in WAYS.items()
)
PROFILE = f"a TOML file that states layouts, fields and numbering, the way in which versions get numbers: {_WAYS}"
FORMATS = ("text", "json", "json-patch", "deepdiff", "delta", "words")
WINDOW = (
    "Without a command, `palimpsest [SOURCE] [--profile FILE] [--read-only | --into-memory] [--new-window]` opens the "
    "window, and "
    "`palimpsest tour DIR` renders every view over the sample data. SOURCE is a mongodb:// URI, a dump (a folder, a "
    ".bson file, a file of Extended JSON lines) or sample:"
)
WINDOW_OPTIONS = ("--profile", "--read-only", "--into-memory", "--new-window")


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one sentence."""

    commands: Mapping[str, argparse.ArgumentParser]
    """The parsers of its commands by name; only set by :func:`parser`."""

    def error(self, message: str) -> NoReturn:
        from model.userdata.connections import hidden

        self.exit(2, f"{self.prog}: {hidden(message.rstrip('.'))}; see `{self.prog} --help`.\n")


_Fill = Callable[[Parser], None]
_COMMANDS: dict[str, tuple[str, str, bool, _Fill]] = {}
"""For each command: the function that it runs, its description, whether it takes a source, and its arguments."""


@functools.cache
def parser(*commands: str) -> Parser:
    """The grammar with these commands complete and all others by name, because building all takes longer than many a
    command.

    Parsing sets ``run`` to the command's function, as given to :func:`_command`.
    """
    top = Parser(prog="palimpsest", description="Versioned documents in MongoDB.", epilog=WINDOW)
    top.add_argument("--version", action="version", version=f"palimpsest {__version__}")
    listed = top.add_subparsers(  # type: ignore[call-overload]  # anything that makes a parser will do
        dest="command", required=True, metavar="COMMAND", parser_class=_made
    )
    for name, (run, help, source, fill) in _COMMANDS.items():
        if name not in commands:
            listed.add_parser(name, help=help)
            continue
        made = listed.add_parser(name, help=help, allow_abbrev=False, description=help[0].upper() + help[1:] + ".")
        made.set_defaults(run=run)
        if source:
            made.add_argument("source", metavar="SOURCE", help="a mongodb:// URI, a dump's folder or file, or sample:")
        fill(made)
    top.commands = listed.choices
    return top


def _made(**options: Any) -> Parser:
    """A command's parser; commands without a description are only listed, and share one."""
    return Parser(**options) if "description" in options else _only_named()


@functools.cache
def _only_named() -> Parser:
    return Parser(add_help=False)


def named(words: Sequence[str]) -> tuple[str, ...]:
    """The command among these words, as a tuple; empty if there is none."""
    return tuple(word for word in words if word in _COMMANDS)[:1]


def _command(name: str, run: str, help: str, source: bool = True) -> Callable[[_Fill], _Fill]:
    """Register a command; the decorated function adds the arguments after ``source`` to its parser.

    ``run`` is ``module:function``, a module of this folder, which is imported only when the command runs.
    """

    def keep(fill: _Fill) -> _Fill:
        _COMMANDS[name] = run, help, source, fill
        return fill

    return keep


@_command("collections", "read:collections", "each collection with its recognised layout, how certain it is, and why")
def _collections(made: Parser) -> None:
    made.add_argument("--offers", action="store_true", help="also look for histories that fit but are not proven")
    _options(made)


@_command(
    "profile", "profiles:print_profile", "a profile as TOML: what is claimed or offered, or a preset", source=False
)
def _profile(made: Parser) -> None:
    made.add_argument(
        "source", metavar="SOURCE", nargs="?", help="a mongodb:// URI, a dump's folder or file, or sample:"
    )
    made.add_argument("ns", metavar="NS", nargs="?", help="this collection instead of all")
    made.add_argument("--writer", metavar="NAME", help="the preset of a known program instead, as in javers")
    _options(made)


@_command("history", "read:history", "the versions of a document, newest first, gaps included")
def _history(made: Parser) -> None:
    _document(made)
    _options(made)


@_command("show", "read:show", "one version's content as canonical Extended JSON")
def _show(made: Parser) -> None:
    _document(made, "ID[@V]")
    made.add_argument("--version", metavar="V", dest="of_version", help="the version, for IDs that may contain an @")
    made.add_argument("--stored", action="store_true", help="the document as it is stored")
    _options(made)


@_command("find", "read:find", "the documents that match a filter, as canonical Extended JSON")
def _find(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    shell = "Extended JSON or the shell's notation, as in {at: {$gte: ISODate('2026-11-01')}}; else all documents"
    made.add_argument("filter", metavar="FILTER", nargs="?", default="", help=shell)
    made.add_argument("--sort", metavar="ORDER", default="", help="as in {at: -1}, or status,-at; else by id")
    kept = "as in {status: 1}, or status,premium.net, or -notes to leave it out; the id and the layout's fields stay"
    made.add_argument("--fields", metavar="FIELDS", default="", help=kept)
    made.add_argument("--limit", metavar="N", type=_count_of, default=0, help="print at most N documents")
    _options(made)


@_command("diff", "comparing:differ", "the changes between two versions, or between two files", source=False)
def _diff(made: Parser) -> None:
    made.add_argument("sides", nargs="+", metavar="SOURCE NS ID V W | FILE FILE", help="two versions, or two files")
    made.add_argument("--format", choices=FORMATS, help="text unless said otherwise")
    _keys(made)
    _rules(made)
    _options(made)


@_command("compare", "compare:compare", "what differs between two collections, in one or two sources")
def _compare(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection, the one here")
    made.add_argument("other_source", metavar="SOURCE", help="the source of the other one, which may be the same")
    made.add_argument("other_ns", metavar="NS", help="the other one, there")
    made.add_argument("--key", metavar="PATH", default="", help="pair documents by this field instead of their ids")
    made.add_argument("--filter", metavar="FILTER", default="", help="compare only what matches, on either side")
    made.add_argument("--plan", metavar="FILE", help="write a plan that copies across; with --apply, carry FILE out")
    made.add_argument("--apply", action="store_true", help="copy what is ticked in the plan from here to there")
    _rules(made)
    _reasoned(made)
    _options(made)
    _writing_options(made)


@_command("merge", "comparing:merged", "three files as one document, or the conflicts", source=False)
def _merge(made: Parser) -> None:
    for name in ("base", "mine", "theirs"):
        made.add_argument(name, metavar=name.upper())
    made.add_argument("-o", dest="out", metavar="OUT", help="write the document here, in MINE's format")
    made.add_argument("--json", action="store_true", help="conflicts as one JSON object a line")
    _keys(made)
    _options_without_source(made)


@_command("blame", "trace:blame", "each field with the version that last set it")
def _blame(made: Parser) -> None:
    _document(made)
    _keys(made)
    _options(made)


@_command("bisect", "trace:bisect", "the versions at which a condition turns")
def _bisect(made: Parser) -> None:
    _document(made)
    made.add_argument("filter", metavar="FILTER", help='a filter, as in {"premium.gross": {"$gte": 400}}')
    made.add_argument("--all", action="store_true", help="read every version, however many there are")
    _options(made)


@_command("activity", "over_time:activity", "who changed what, newest first")
def _activity(made: Parser) -> None:
    made.add_argument("places", metavar="NS", nargs="*", help="these collections or databases instead of all")
    made.add_argument("--since", metavar="T", help="no earlier than this: 2026-11-01T14:30:00Z, 2026-11-01, or 36h")
    made.add_argument("--until", metavar="T", help="no later than this")
    made.add_argument("--author", metavar="A", help="only by this author; the whole name")
    made.add_argument("--path", metavar="P", help="only changes of this field, or inside it")
    made.add_argument("--id", metavar="ID", help="only this document of NS")
    made.add_argument("--deleted", action="store_true", help="the deleted documents, with their last versions")
    made.add_argument("--follow", action="store_true", help="continue with changes as they come, until stopped")
    _options(made)


@_command("tail", "over_time:tail", "new versions as they come, until stopped")
def _tail(made: Parser) -> None:
    made.add_argument("places", metavar="NS", nargs="*", help="these collections or databases instead of all")
    _options(made)


@_command("asof", "over_time:as_of", "a collection as it was at a time, or what differs between two")
def _asof(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("times", metavar="T", nargs="+", help="a time, and a filter; or two times with --compare")
    made.add_argument("--compare", action="store_true", help="what differs between two times")
    made.add_argument("--content", action="store_true", help="with --json, each document's content as well")
    made.add_argument("--export", metavar="FILE", help="write the documents to FILE.jsonl or FILE.bson")
    _options(made)


@_command("report", "over_time:report", "versions of a document or a collection as one page, to print or send")
def _report(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("id", metavar="ID", nargs="?", help="this document; else all of the collection")
    made.add_argument("--since", metavar="T", help="of a collection: no earlier than this")
    made.add_argument("--until", metavar="T", help="no later than this")
    made.add_argument("--author", metavar="A", help="only by this author; the whole name")
    made.add_argument("-o", metavar="FILE.html", dest="out", help="write the page here instead of printing it")
    _options(made)


@_command("export", "exchange:export", "every version of a document or a collection, as files")
def _export(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("id", metavar="ID", nargs="?", help="only this document")
    forms = made.add_mutually_exclusive_group(required=True)
    forms.add_argument("--git", metavar="DIR", help="a git repository with a commit for each version")
    forms.add_argument("--folder", metavar="DIR", help="a folder with a file for each version")
    forms.add_argument("--jsonl", metavar="FILE", help="a file with a line of JSON for each version")
    _options(made)


@_command("import", "exchange:import_history", "import a history that export wrote", source=False)
def _import(made: Parser) -> None:
    made.add_argument("place", metavar="DIR|FILE", help="the repository, folder or file that export wrote")
    made.add_argument("source", metavar="SOURCE", help="a mongodb:// URI, a dump's folder or file, or sample:")
    made.add_argument("ns", metavar="NS", help="the collection that receives it; it need not exist")
    _apply(made)
    _options(made, WRITABLE_LAYOUTS)
    _writing_options(made)


@_command("edit", "write:edit", "change fields of a document in one guarded write")
def _edit(made: Parser) -> None:
    _document(made)
    made.add_argument("--base", metavar="V", help="write only if this is still the current version")
    made.add_argument("--create", action="store_true", help="create a missing document from what is set")
    made.add_argument("--set", metavar="PATH=EJSON", nargs="+", action="extend", default=[], dest="set_fields")
    made.add_argument("--unset", metavar="PATH", nargs="+", action="extend", default=[], dest="unset_fields")
    _reasoned(made)
    _options(made)
    _writing_options(made)


@_command("restore", "write:restore", "an old state as a new guarded version")
def _restore(made: Parser) -> None:
    _document(made)
    made.add_argument("v", metavar="V")
    made.add_argument("--fields", metavar="PATH", nargs="+", action="extend", help="only these fields")
    _reasoned(made)
    _options(made)
    _writing_options(made)


@_command("change", "change:change", "the same change in many documents, guarded and undone as one run")
def _change(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("filter", metavar="FILTER", nargs="?", help="documents that match now; {} for all")
    made.add_argument("--set", metavar="PATH=EJSON", nargs="+", action="extend", default=[], dest="set_fields")
    made.add_argument("--unset", metavar="PATH", nargs="+", action="extend", default=[], dest="unset_fields")
    renamed = "A is called B afterwards; both are paths"
    made.add_argument("--rename", metavar="A=B", nargs="+", action="extend", default=[], dest="renamed", help=renamed)
    made.add_argument("--update", metavar="UPDATE", help="MongoDB's own update instead: $set, $unset, $rename, $inc …")
    _plan_and_apply(made)
    _reasoned(made)
    _options(made)
    _writing_options(made)


@_command("revert", "revert:revert", "take changes back, and keep what came later in other fields")
def _revert(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("--id", metavar="ID", help="only this document")
    made.add_argument("--version", metavar="V", dest="version_of", help="this version of it")
    made.add_argument("--author", metavar="A", help="only by this author")
    made.add_argument("--since", metavar="T", help="no earlier than this")
    made.add_argument("--until", metavar="T", help="no later than this")
    made.add_argument("--filter", metavar="F", default="", help="documents that match now; alone: their last change")
    only = "take back only this field of the changes; several times for several"
    made.add_argument("--path", metavar="P", action="append", default=[], dest="paths", help=only)
    _plan_and_apply(made)
    _reasoned(made)
    _options(made)
    _writing_options(made)


@_command("scan", "scan:scan", "look for versions that block edits, are missing, doubled or unfinished")
def _scan(made: Parser) -> None:
    made.add_argument("places", metavar="NS", nargs="*", help="these collections or databases instead of all")
    made.add_argument("--id", metavar="ID", action="append", default=[], dest="ids", help="only this document of NS")
    made.add_argument(
        "--gentle", action="store_true", help="small batches with rests, from a secondary: for production"
    )
    made.add_argument("--plan", metavar="FILE", help="write what can be done about it, for `palimpsest repair`")
    made.add_argument("--range", metavar="I/N", help="only the I-th of N parts, printed as rows for --merge")
    made.add_argument("--merge", metavar="FILE", nargs="+", help="print what the parts in these files found together")
    _options(made, (*LAYOUT_NAMES, *PATTERN_NAMES))


@_command("health", "scan:health", "the scans made on this computer over time: findings by class, and what changed")
def _health(made: Parser) -> None:
    made.add_argument("place", metavar="NS", nargs="?", help="only scans of this collection or database")
    made.add_argument("--json", action="store_true", help="one JSON object a line")
    _options_without_source(made)


@_command("repair", "repair:repair", "carry out a plan that a scan wrote, or say what that would do")
def _repair(made: Parser) -> None:
    made.add_argument("--plan", metavar="FILE", required=True, help="the plan that `palimpsest scan --plan` wrote")
    _apply(made)
    differing = "with --apply: do the rest of a plan that differs from what a scan of today proposes"
    made.add_argument("--confirm-differences", action="store_true", dest="differing", help=differing)
    report = "keep a report too: FILE.html or FILE.json"
    made.add_argument("--report", metavar="FILE", action="append", default=[], help=report)
    _reasoned(made)
    _options(made, (*LAYOUT_NAMES, *PATTERN_NAMES))
    _writing_options(made)


@_command("cleanup", "cleanup:cleanup", "finish the pending tokens that their writers left behind")
def _cleanup(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", nargs="*", help="these collections instead of all that keep tokens")
    made.add_argument("--older-than", metavar="AGE", type=_age, help="as in 24h or 7d; else the profile's grace, 24h")
    _apply(made)
    _reasoned(made)
    _options(made, ("pending",))
    _writing_options(made)


@_command("retain", "retain:retain", "remove earlier versions by a rule, with a copy in the quarantine")
def _retain(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("--keep", metavar="K", type=int, help="the newest K versions of each document stay")
    made.add_argument("--younger-than", metavar="AGE", type=_age, help="what is younger stays, as in 30d or 24h")
    made.add_argument("--daily", action="store_true", help="beyond these, the newest version of each day stays")
    hold = "documents that match keep all versions, and versions that match stay"
    made.add_argument("--hold", metavar="FILTER", default="", help=hold)
    made.add_argument("--id", metavar="ID", help="only this document")
    made.add_argument("--version", metavar="V", dest="version_of", help="instead of a rule: this version of it alone")
    _plan_and_apply(made)
    _options(made)
    _writing_options(made)


@_command("erase", "erase:erase", "take fields of one document out of all its versions, for good")
def _erase(made: Parser) -> None:
    _document(made)
    field = "the field to erase; several times for several"
    made.add_argument("--path", metavar="P", action="append", default=[], dest="paths", help=field)
    made.add_argument("--certificate", metavar="FILE", help="write what was erased, where, when and by whom")
    made.add_argument("--apply", action="store_true", help="erase, with no way back; without it this only says where")
    _reasoned(made)
    _options(made)
    _writing_options(made)


@_command("migrate", "migrate:migrate", "move a collection to another layout: copy, verify every version, keep the old")
def _migrate(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="the collection as it is now")
    made.add_argument("--to", metavar="LAYOUT", required=True, choices=WRITABLE_LAYOUTS, help="the layout it gets")
    made.add_argument("--target", metavar="NS", help="where to; else NS_LAYOUT beside it")
    named = "a field's name in the new place, as in version=rev; again for others"
    made.add_argument("--field", metavar="ROLE=NAME", action="append", default=[], help=named)
    made.add_argument("--newest-only", action="store_true", help="to hashed or plain: leave earlier versions behind")
    _apply(made)
    ends = made.add_mutually_exclusive_group()
    ends.add_argument("--take-back", action="store_true", help="remove what the move wrote in the new place")
    ends.add_argument("--remove-old", action="store_true", help="remove from the old place what is in the new one")
    _options(made)
    _writing_options(made)


@_command("feed", "feed:feed", "keep the archives of stream collections up to date, from change streams or by polling")
def _feed(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", nargs="?", help="this collection instead of all that the profile states")
    made.add_argument("--once", action="store_true", help="catch up and end; without it, run until stopped")
    made.add_argument(
        "--every", metavar="AGE", type=_age, default="10s", help="how often to look, by polling; else 10s"
    )
    _options(made)
    _writing_options(made)


@_command("check", "check:check", "what the server really guarantees, measured in a scratch database")
def _check(made: Parser) -> None:
    made.add_argument("--quick", action="store_true", help="only swaps and unique indexes")
    allow = made.add_mutually_exclusive_group()
    allow.add_argument("--allow-edits", action="store_true", help="edit on this connection although it is unsafe")
    allow.add_argument("--refuse-edits", action="store_true", help="refuse edits again")
    made.add_argument("--json", action="store_true", help="one JSON object a line")
    _connecting(made)


@_command("adopt", "adopt:adopt", "a layout for a plain collection, its reasons, and the code that writes it")
def _adopt(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="a collection that keeps no versions yet")
    often = "how often earlier versions are read; seldom unless said otherwise"
    made.add_argument("--past", choices=("seldom", "often"), default="seldom", help=often)
    made.add_argument("--to", metavar="LAYOUT", choices=("archive", "versions", "embedded"), help="a layout you chose")
    languages = ("python", "node", "java")
    made.add_argument("--language", choices=languages, default="python", help="of the code; else python")
    made.add_argument("--folder", metavar="DIR", help="write the profile, and the code in all languages, as files here")
    _options(made, ("plain",))


@_command("pipe", "pipe:pipe", "a proxy before a server that fails on cue, then an audit", source=False)
def _pipe(made: Parser) -> None:
    made.add_argument("listen", metavar="LISTEN", help="host:port, as in 127.0.0.1:27100; port 0 takes a free one")
    made.add_argument("source", metavar="SOURCE", help="the server behind it: a mongodb:// URI, or sample:")
    faults = made.add_mutually_exclusive_group()
    faults.add_argument("--plan", metavar="FILE", help="what goes wrong, on cue: TOML, or JSON lines")
    faults.add_argument("--seed", metavar="N", type=int, help="draw the faults from this; else from a seed it prints")
    made.add_argument("--rate", metavar="PERCENT", type=float, default=30.0, help="of writes that fail; else 30")
    only = "draw only this kind of fault; again for others"
    made.add_argument("--fault", metavar="KIND", action="append", default=[], help=only)
    made.add_argument("--audit", metavar="PROFILE", help="a profile: at the end, audit its collections")
    made.add_argument("--for", metavar="AGE", type=_age, dest="seconds", help="end after this long, as in 30s")
    made.add_argument("--into-memory", action="store_true", help="open a dump writable, and throw it away at the end")
    made.add_argument("--json", action="store_true", help="one JSON object a line")
    _connecting(made)
    run = "last: start this program, which finds the address in PALIMPSEST_PIPE, and end with it"
    made.add_argument("--run", metavar="PROGRAM", nargs=argparse.REMAINDER, dest="program", help=run)


@_command("next", "once:next_number", "the next number of a counter, handed out to nobody else")
def _next(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="the collection of the counters")
    made.add_argument("counter", metavar="COUNTER", help="the counter's name")
    made.add_argument("--create", action="store_true", help="create a missing counter; it begins with 1")
    _options(made, ("sequence",))
    _writing_options(made)


@_command("insert", "once:insert", "a new document, under an id or the next number; the same one again is skipped")
def _insert(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("document", metavar="DOCUMENT", help="its content as Extended JSON, or - to read it")
    made.add_argument("--id", metavar="ID", help="its id, plain or Extended JSON; else it gets an ObjectId")
    made.add_argument(
        "--id-by-hash", action="store_true", help="its id is the hash of its content; equal ones become one"
    )
    made.add_argument("--next", action="store_true", help="its id is the number after the highest")
    made.add_argument("--field", metavar="FIELD", help="the number goes here instead; needs a unique index")
    made.add_argument(
        "--counter", metavar="NS:NAME", help="the number comes from this counter, and is never used again"
    )
    _options(made)
    _writing_options(made)


@_command("count", "once:count", "raise a two-step counter once for a token, however often this is repeated")
def _count(made: Parser) -> None:
    _document(made)
    made.add_argument("token", metavar="TOKEN", nargs="?", help="identifies this event; else a new ObjectId")
    made.add_argument("--by", metavar="N", type=int, default=1, help="raise it by this much; for a new token")
    made.add_argument("--owner", metavar="NAME", help="who counts; stored in a new token")
    made.add_argument("--create", action="store_true", help="create a missing document")
    _options(made, ("pending",))
    _writing_options(made)


@_command("process", "once:process", "raise a total once for an entry of an apply-once list")
def _process(made: Parser) -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("key", metavar="KEY", help="identifies the document, plain or Extended JSON")
    made.add_argument("entry", metavar="ENTRY", help="what is processed: added to the list, counted once")
    made.add_argument("--field", metavar="FIELD", help="the total; else the profile's counter")
    made.add_argument("--by", metavar="N", type=int, default=1, help="raise it by this much; 1 unless said otherwise")
    made.add_argument("--create", action="store_true", help="create a missing document")
    _options(made, ("processed",))
    _writing_options(made)


@_command("journal", "write:journal", "what was written on this computer", source=False)
def _journal(made: Parser) -> None:
    made.add_argument("--json", action="store_true", help="one JSON object a line")
    made.add_argument("--prune", metavar="AGE", type=_age, help="count older entries, with the documents they keep")
    made.add_argument("--apply", action="store_true", help="with --prune: forget them; then they cannot be undone")
    _options_without_source(made)


@_command("undo", "write:undo", "the guarded inverse of an entry of the journal", source=False)
def _undo(made: Parser) -> None:
    made.add_argument("entry", metavar="ENTRY", help="its number, or the name of a run of repairs")
    made.add_argument("--source", metavar="SOURCE", help="the entry's source, if it needs a password")
    _options(made)
    _writing_options(made)


@_command("help", "help:help", "a page of the manual, or the list of its pages", source=False)
def _help(made: Parser) -> None:
    made.add_argument("topic", metavar="TOPIC", nargs="?", help="the page; else the list of pages")
    _options_without_source(made)


def names() -> tuple[str, ...]:
    """The names of all commands."""
    return tuple(_COMMANDS)


def window() -> Parser:
    """The grammar of the arguments that open the window: a source, and options for opening it."""
    made = Parser(prog="palimpsest", add_help=False, allow_abbrev=False)
    made.add_argument("words", nargs="*")
    made.add_argument("--profile", metavar="FILE")
    made.add_argument("--read-only", action="store_true")
    made.add_argument("--into-memory", action="store_true")
    made.add_argument("--new-window", action="store_true")
    return made


def unknown(word: str) -> str:
    """The error for a word that is neither a command nor a source; one sentence with similar commands."""
    import difflib

    from model.session.sources import shown

    known, typed = (*names(), "tour"), word.lower()
    begun = [name for name in known if len(typed) > 1 and name.startswith(typed)]
    near = begun or difflib.get_close_matches(typed, known, 3, 0.6) or difflib.get_close_matches(typed, known, 3, 0.0)
    those = f"commands are {', '.join(near[:-1])} and {near[-1]}" if len(near) > 1 else f"command is {near[0]}"
    address = ", an address begins with mongodb://" if re.search(r"[.:@]", word) else ""
    return (
        f"There is no command {shown(word) or 'without a name'}, nor a file or folder to open: the nearest {those}"
        f"{address} (see `palimpsest --help`)."
    )


def _document(made: Parser, id: str = "ID") -> None:
    made.add_argument("ns", metavar="NS", help="database.collection")
    made.add_argument("id", metavar=id, help="plain text if only one stored id matches it, else Extended JSON")


def _keys(made: Parser) -> None:
    made.add_argument(
        "--key",
        metavar="FIELD",
        action="append",
        default=[],
        dest="keys",
        help="the field by which elements of arrays without an _id are recognised, in place of the profile's keys; "
        "may be given again",
    )


def _rules(made: Parser) -> None:
    """The options of every command that compares: what does not count as a difference."""
    left = "leave this path out, with all inside, as in riders.seen; may be given again"
    made.add_argument("--ignore", metavar="PATH", action="append", default=[], dest="ignored", help=left)
    order = "the order of this array does not count, besides the profile's; . is one at the top; may be given again"
    made.add_argument("--unordered", metavar="PATH", action="append", default=[], help=order)
    made.add_argument("--numbers-by-value", action="store_true", help="1, 1.0 and 1.00 are the same, whatever type")
    made.add_argument("--dates-within", metavar="AGE", type=_age, help="dates so near are the same, as in 2s")
    made.add_argument("--text-by-words", action="store_true", help="white space in texts does not count")


def _options(made: Parser, layouts: Iterable[str] = LAYOUT_NAMES) -> None:
    """The options of every command that opens a source; ``layouts`` are those that it can use."""
    names = tuple(layouts)
    made.add_argument("--json", action="store_true", help="one JSON object a line")
    made.add_argument("--layout", metavar="NAME", choices=names, help=f"use this layout: {', '.join(names)}")
    made.add_argument("--into-memory", action="store_true", help="open a dump writable, and throw it away at the end")
    _connecting(made)


def _options_without_source(made: Parser) -> None:
    """The options of every command, for one that opens no source."""
    _common_options(made, "accepted as with every command; nothing here asks for it")


def _connecting(made: Parser) -> None:
    """The options of every command that connects."""
    _common_options(made, PROFILE)
    made.add_argument("--password-file", metavar="FILE", help="the password of SOURCE's user is the first line of FILE")


def _common_options(made: Parser, profile: str) -> None:
    """The options of every command; ``profile`` is the help text on its profile."""
    made.add_argument("--profile", metavar="FILE", help=profile)
    made.add_argument("--read-only", action="store_true", help="write nothing, whatever the command is")


def _writing_options(made: Parser) -> None:
    """The options of every command that writes."""
    said = "write by the profile although the collection's data contradict it"
    made.add_argument("--yes-layout", action="store_true", help=said)
    made.add_argument("--as", metavar="NAME", dest="signed_as", help="your name, if the profile asks who writes")


def _apply(made: Parser) -> None:
    made.add_argument("--apply", action="store_true", help="write; without it this only says what would be done")


def _plan_and_apply(made: Parser) -> None:
    made.add_argument("--plan", metavar="FILE", help="write a plan to FILE; with --apply, carry FILE out")
    _apply(made)


def _reasoned(made: Parser) -> None:
    """The option of every command whose writes can have a reason."""
    made.add_argument("--reason", metavar="TEXT", help="why, if the profile names a field for that")


def _count_of(written: str) -> int:
    """A number of documents, 1 or more."""
    if not re.fullmatch(r"[0-9]{1,18}", written) or not int(written):
        raise argparse.ArgumentTypeError(f"{written} is not a number of documents; write it as 20")
    return int(written)


def _age(written: str) -> timedelta:
    """An age such as 24h, 90m or 1d12h."""
    from model.errors import Refused
    from model.text.moments import age_from_text

    try:
        return age_from_text(written)
    except Refused as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from None
