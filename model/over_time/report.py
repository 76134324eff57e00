"""Histories as a page to print or send: versions, authors, reasons, changes, gaps, hashes, and what is proven."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from msgspec import Struct

from model import text
from model.diff import diff, export
from model.errors import NotFound, Refused, Unreadable
from model.foundation.records import Checkpoint, Version, no_checkpoint
from model.layouts.base import Layout
from model.over_time.span import Span, candidates
from model.text.names import id_name, version_name
from model.text.web_page import escaped, moment, page
from model.values.canonical import Value

LONGEST = 20_000  # characters of one comparison, or of the content
STORED = {
    "document": "as a document of its own",
    "prev": "in the array of earlier versions",
    "archive": "in the archive",
    "delta": "as what changed",
    "none": "nowhere",
}
PROVEN = {
    "present": "It was read as it is stored.",
    "missing": "It is missing: lost, or removed by a retention. What it changed is not known.",
    "unproven": "It cannot be proven.",
    "damaged": "It is damaged.",
}


def report(layout: Layout, id: Value, source: str, now: dt.datetime, step: Checkpoint = no_checkpoint) -> str:
    """The page about one document; raises ``NotFound`` if there is none."""
    sums = _Sums()
    sections = [*_document(layout, id, Span(), None, 2, sums, step)]
    head = _head(layout, source, now, sums)
    return page(f"{id_name(id)}: every version", head + "".join(sections))


def report_of_span(
    layout: Layout, span: Span, author: str | None, source: str, now: dt.datetime, step: Checkpoint = no_checkpoint
) -> str:
    """The page about the versions of a collection's documents in a time span, optionally by one author.

    Versions without a time are left out of a span and counted; so are gaps without a version above them in the span.
    """
    sums, notes = _Sums(), list[str]()
    body = []
    for id in candidates(layout, span, notes):
        try:
            sections = [*_document(layout, id, span, author, 3, sums, step)]
        except NotFound:  # deleted since it was listed
            continue
        except Refused as error:
            notes.append(f"{id_name(id)}: {error}")
            continue
        if sections:
            sums.documents += 1
            body += [f"<h2>{escaped(id_name(id))}</h2>", *sections]
    if sums.undated:
        has = "version has no time and is" if sums.undated == 1 else "versions have no time and are"
        notes.append(f"{sums.undated:,} {has} left out.")
    if not body:
        notes.append("There is no version in it.")
    bounds = [f"since {moment(span.since)}"] if span.since is not None else []
    bounds += [f"until {moment(span.until)}"] if span.until is not None else []
    bounds += [f"by {author}"] if author is not None else []
    said = "".join(
        f'<p class="soft">{escaped(each)}</p>' for each in [*([", ".join(bounds)] if bounds else []), *notes]
    )
    return page(f"{layout.ns}: versions", _head(layout, source, now, sums) + said + "".join(body))


class _Sums(Struct):
    """The counts on a page."""

    documents: int = 0
    versions: int = 0
    gaps: int = 0
    undated: int = 0


def _head(layout: Layout, source: str, now: dt.datetime, sums: _Sums) -> str:
    kept = f"<li><b>{sums.versions:,}</b>{'version' if sums.versions == 1 else 'versions'}</li>"
    if sums.documents:
        kept += f"<li><b>{sums.documents:,}</b>{'document' if sums.documents == 1 else 'documents'}</li>"
    if sums.gaps:
        kept += f'<li><b class="conflict">{sums.gaps:,}</b>missing</li>'
    return (
        f'<p class="soft">{escaped(source)} · {escaped(layout.ns)} · layout {escaped(layout.name)} · '
        f'this report {moment(now)}</p><ul class="sums">{kept}</ul>'
    )


def _document(
    layout: Layout, id: Value, span: Span, author: str | None, level: int, sums: _Sums, step: Checkpoint
) -> Iterator[str]:
    """The sections about a document's versions in a span, newest first; a gap goes with the version above it."""
    above = not span and author is None
    for version, older in _pairs(layout.history(id, contents=True)):
        step(sums.versions + sums.gaps, None)
        if version.state == "missing":
            if not above:
                continue
            sums.gaps += 1
        else:
            meant = author is None or version.author == author
            if meant and version.at is None and span:
                sums.undated += 1
            above = meant and (not span or (version.at is not None and version.at in span))
            if not above:
                continue
            sums.versions += 1
        yield _section(layout, version, older, level)


def _pairs(versions: Iterable[Version]) -> Iterator[tuple[Version, Version | None]]:
    newer: Version | None = None
    for version in versions:
        if newer is not None:
            yield newer, version
        newer = version
    if newer is not None:
        yield newer, None


def _section(layout: Layout, version: Version, older: Version | None, level: int) -> str:
    name = version_name(version.v) + (" (current)" if version.current else "")
    when = moment(version.at) if version.at is not None else "time not known"
    by = f" · by {escaped(version.author)}" if version.author else ""
    why = f"<p>{escaped(version.reason)}</p>" if version.reason else ""
    facts = [f"kept {STORED[version.stored]}"] if version.state != "missing" else []
    facts += [f"{version.bytes:,} bytes"] if version.bytes is not None else []
    facts += [f"SHA-1 of the content <code>{version.hash}</code>"] if version.hash else []
    kind = {"present": "soft", "missing": "conflict"}.get(version.state, "refused")
    said = PROVEN[version.state] if not version.detail else f"{PROVEN[version.state]} {version.detail}"
    return (
        f"<section><h{level}>{escaped(name)}</h{level}><p>{when}{by}</p>{why}"
        f'<p class="soft">{" · ".join(facts)}</p><p class="{kind}">{escaped(said)}</p>'
        f"{_shown_changes(layout, version, older)}</section>"
    )


def _shown_changes(layout: Layout, version: Version, older: Version | None) -> str:
    """What a version changed, or the whole content of the first one."""
    if version.deleted:
        return "<p>It says that the document was deleted.</p>"
    if version.content is None:
        return ""
    try:
        if older is None or older.deleted:
            return f"<pre>{_cut(text.readable(version.content))}</pre>"
        if older.content is None:
            return '<p class="conflict">The version before it cannot be read, so its changes are not known.</p>'
        changes = diff(older.content, version.content, layout.profile.keys)
        return f"<pre>{_cut(export.to_lines(changes))}</pre>" if changes else "<p>Nothing in its content changed.</p>"
    except Unreadable as error:
        return f'<p class="refused">{escaped(str(error))}</p>'


def _cut(said: str) -> str:
    more = f"\n… {len(said) - LONGEST:,} more characters" if len(said) > LONGEST else ""
    return escaped(said[:LONGEST] + more)
