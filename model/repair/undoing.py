"""Undo: the inverse of each write of a repair, as a step guarded by the state that the repair left."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from model import text
from model.counting import pending
from model.errors import Refused, Unreachable
from model.foundation.findings import Finding
from model.repair import quarantine
from model.repair.items import Item, Seen
from model.repair.steps import DocumentChange, Prepared, RepairContext, Step, nothing, physical
from model.server.retry import Port, Write
from model.text.names import id_name
from model.userdata.journal import Record
from model.values import canonical as c

UPTO = "upto"  # in the journal entry of an import: the newest version of a document that it wrote


def is_repair(record: Record) -> bool:
    """Whether a journal entry is a write of a repair, or of its undo."""
    return "run" in record.extra and "target" in record.extra


def item_of(record: Record) -> Item:
    """The item of a journal entry, as far as the journal keeps it."""
    finding = Finding("", record.entry.ns, record.document, (), record.entry.detail)
    return Item(int(record.extra["item"]), finding, record.extra["repair"], "yes")


def back(ground: RepairContext, record: Record) -> Prepared:
    """Prepare the undo of one repair write from the documents as they are; writes nothing."""
    ns, id = record.extra["target"], text.value_from_text(record.extra["physical"])
    who = id_name(record.document) if record.document is not None else id_name(id)
    what = {"import": "import", "retain": "removal"}.get(record.extra["repair"], "repair")
    try:
        now = ground.at(ns, id)
        if ground.alike(ns, now, record.before):
            return nothing(f"{who} is as it was before the {what}.")
        if not ground.alike(ns, now, record.after):
            return _tokens_back(ground, record, now) or Prepared("changed", f"{who} changed since the {what}")
        for seen in _seen_beside(record):
            # A removal rested on another document; put back beside a changed one, the damage would be a different one.
            if not ground.known(seen, ground.at(seen.ns, seen.id)):
                return Prepared("changed", f"{who} changed since the {what}, which rested on it")
        if UPTO in record.extra and _has_grown(ground, record):
            return Prepared("changed", f"{who} has got newer versions since the {what}")
        step = _step(ground, record, ns, now)
    except Refused as error:
        return Prepared("refused", str(error))
    return Prepared(
        "would",
        f"{record.extra['label']} becomes what it was before the {what}",
        f"It is as it was before the {what}.",
        (step,),
        "One write, which applies only if every byte of the document is as it was left.",
    )


def _has_grown(ground: RepairContext, record: Record) -> bool:
    """Whether a document has a version above those of an import, which depends on them."""
    p = ground.layouts(record.entry.ns).profile
    above = {p.id: {"$eq": record.document}, p.version: {"$gt": text.value_from_text(record.extra[UPTO])}}
    return next(iter(ground.server.find(p.ns, above, projection={"_id": 1}, limit=1)), None) is not None


def hindrance(ground: RepairContext, record: Record) -> str:
    """Why this server cannot undo a write, one sentence; "" if it can, or if the document has changed since.

    Raises ``Unreachable`` if it could not be asked.
    """
    ns, after = record.extra["target"], record.after
    if after is None:  # a removed document is inserted, which needs no guard
        return ""
    try:
        _step(ground, record, ns, after)
    except Unreachable:
        raise
    except Refused as error:
        if ns in ground.ables or ground.at(ns, physical(after)) is not None:  # a deleted document tells nothing
            return str(error)
    return ""


def asked(hindrance: Callable[[Record], str], records: Iterable[Record]) -> list[str]:
    """Why a server cannot undo some writes, one sentence each; stops if the server is silent."""
    found = []
    with suppress(Unreachable):  # each further one would wait, and there may be thousands
        for record in records:
            if why := hindrance(record):
                found.append(why)
    return found


def hindered(reasons: Sequence[str]) -> str:
    """How many writes cannot be undone on a server, and the first reason; "" if none."""
    if not reasons:
        return ""
    count = len(reasons)
    many = "write" if count == 1 else "writes"
    return f"{count:,} {many} of this cannot be undone on this server. {reason(reasons[0])}"


def reason(refusal: str) -> str:
    """A refusal without the clause that nothing was written, for callers that have written before."""
    return f"{refusal.partition(';')[0].rstrip('.')}."


def _seen_beside(record: Record) -> list[Seen]:
    kept = json.loads(record.extra.get("beside") or "[]")
    return [Seen(ns, text.value_from_text(id), sha) for ns, id, sha in kept]


def _step(ground: RepairContext, record: Record, ns: str, after: bytes | None) -> Step:
    """The inverse of an entry whose document is still as the entry left it, except for another program's lock."""
    before, label = record.before, record.extra["label"]
    if before is not None and after is not None:
        return ground.swapped(ns, label, after, before, "what was there before the repair")
    if before is not None:
        row = quarantine.kept(ground.server, ns, before)
        clear = quarantine.clearing(ns, row) if row is not None and record.extra.get("kept") else None
        step = ground.inserted(ns, label, before, "what the repair removed is put back")
        return replace(step, clear=clear)
    assert after is not None
    step = ground.removed(ns, label, after, "what the repair added is taken out")
    made_here = record.extra["repair"] in ("restore-document", "archive-current", "move-to-archive", "import")
    return replace(step, keep=None) if made_here else step  # the journal keeps a document that a repair created


def _token_in(record: Record) -> dict[str, str]:
    return {name.removeprefix("two_"): value for name, value in record.extra.items() if name.startswith("two_")}


def token_landed(server: Port, record: Record) -> bool | None:
    """Whether a step of a two-step counter has arrived, which its token shows even with concurrent writers.

    None for other writes, and if nobody can tell.
    """
    kept = _token_in(record)
    if not kept or record.undoes is not None:
        return None
    physical_id = text.value_from_text(record.extra["physical"])
    token, of = pending.from_fields(record.entry.ns, physical_id, kept, dt.timedelta(0))
    return pending.landed(server, token, of, "finish")


def _tokens_back(ground: RepairContext, record: Record, now: bytes | None) -> Prepared | None:
    """The inverse of step two in a document that has counted further since; None for other repairs."""
    kept = _token_in(record)
    if not kept or now is None or record.document is None or record.extra.get("back"):
        return None
    token, of = pending.from_fields(record.entry.ns, physical(now), kept, dt.timedelta(0))
    waiting = c.get(now, tuple(of.pending.split(".")))
    if waiting is None or waiting.type != c.ARRAY or token.token in c.items(waiting):
        return None
    write: Write = pending.step_back(token, of)
    after = c.put(now, tuple(of.pending.split(".")), c.array([*c.items(waiting), token.token]))

    def landed() -> bool | None:
        there = ground.at(of.ns, physical(now))
        left = c.get(there, tuple(of.pending.split("."))) if there is not None else None
        return None if left is None or left.type != c.ARRAY else token.token in c.items(left)

    step = Step(write, DocumentChange(of.ns, "the document", now, after), landed=landed, extra={"back": "yes"})
    done = "The token is pending again."
    return Prepared("would", "the token is pending again", done, (step,), "One update, guarded by the token itself.")


def state(ground: RepairContext, record: Record) -> str:
    """The state of an entry's document: "before" the write, "after" it, or "other"."""
    now = ground.at(record.extra["target"], text.value_from_text(record.extra["physical"]))
    return "after" if now == record.after else "before" if now == record.before else "other"
