"""The history of one document as a page to print or to send: versions, authors, reasons, changes, gaps and hashes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from model import text
from model.diff import diff, export
from model.errors import Unreadable
from model.layouts.base import Layout
from model.names import id_name, version_name
from model.records import Checkpoint, Version, no_checkpoint
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
    """The page; raises ``NotFound`` where there is no such document."""
    sections = []
    versions = gaps = 0
    for version, older in _pairs(layout.history(id, contents=True)):
        versions, gaps = versions + (version.state != "missing"), gaps + (version.state == "missing")
        step(versions + gaps, None)
        sections.append(_section(layout, version, older))
    kept = f"<li><b>{versions:,}</b>versions</li>" + (
        f'<li><b class="conflict">{gaps:,}</b>missing</li>' if gaps else ""
    )
    head = (
        f'<p class="soft">{escaped(source)} · {escaped(layout.ns)} · layout {escaped(layout.name)} · '
        f'this report {moment(now)}</p><ul class="sums">{kept}</ul>'
    )
    return page(f"{id_name(id)}: every version", head + "".join(sections))


def _pairs(versions: Iterable[Version]) -> Iterator[tuple[Version, Version | None]]:
    newer: Version | None = None
    for version in versions:
        if newer is not None:
            yield newer, version
        newer = version
    if newer is not None:
        yield newer, None


def _section(layout: Layout, version: Version, older: Version | None) -> str:
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
        f"<section><h2>{escaped(name)}</h2><p>{when}{by}</p>{why}"
        f'<p class="soft">{" · ".join(facts)}</p><p class="{kind}">{escaped(said)}</p>'
        f"{_what(layout, version, older)}</section>"
    )


def _what(layout: Layout, version: Version, older: Version | None) -> str:
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
