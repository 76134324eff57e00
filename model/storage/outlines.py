"""Histories in miniature for layouts with one document per version, from keys alone if possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outline, State, Stored, Version
from model.server import guards
from model.server.retry import Port
from model.storage.content_hashes import hash_damage
from model.storage.gaps import loss, outlined, with_gaps
from model.storage.reserved_fields import SAID, Own, is_marked, is_tombstone, place_of, version_damage
from model.values import canonical as c
from model.values.canonical import Value


def outlines(
    server: Port,
    profile: CollectionProfile,
    own: Own,
    ids: Sequence[Value],
    stored: Stored,
    flag: str = "",
    checked: bool = True,
    claim: str = "",
) -> Iterator[Outline]:
    """The outline of each document; a version with a hash is read completely, to check the hash.

    ``flag`` counts the versions that carry it: only the newest should. ``checked=False`` ignores hashes. ``claim`` is
    the field for the next version's number.
    """
    if not checked:
        profile = replace(profile, hash="")
    found = _keys(server, profile, own, ids, stored, flag, claim) if ids else {}
    for id in ids:
        versions, flagged = found.get(id, ([], []))
        versions.sort(key=lambda version: -(place_of(version.v) or 0))
        outline = outlined(id, list(with_gaps(_current_first(versions), loss(profile), claim)))
        wrong = flag_health(versions, flagged) if flag else ""
        if wrong:
            health = (
                wrong if outline.health == "Sound" else f"{wrong}, {outline.health[:1].lower()}{outline.health[1:]}"
            )
            outline = replace(outline, health=health, severity="error" if outline.severity == "error" else "warn")
        yield outline


def flag_health(versions: Sequence[Version], flagged: Sequence[Value | None]) -> str:
    """What is wrong with a document's flags, in a few words; ``versions`` come newest first."""
    if not versions or (len(flagged) == 1 and flagged[0] == versions[0].v):
        return ""
    if not flagged:
        return "No version is flagged as current"
    return f"{len(flagged)} flagged as current" if len(flagged) > 1 else "An old version is flagged as current"


def _keys(
    server: Port, profile: CollectionProfile, own: Own, ids: Sequence[Value], stored: Stored, flag: str, claim: str
) -> dict[Value, tuple[list[Version], list[Value | None]]]:
    found: dict[Value, tuple[list[Version], list[Value | None]]] = {}
    keys = {name: 1 for name in (profile.id, profile.version, profile.hash, profile.deleted, flag, claim) if name}
    for raw in server.find(profile.ns, {profile.id: {"$in": list(ids)}}, projection=keys):
        id, v = c.get(raw, (profile.id,)), c.get(raw, (profile.version,))
        physical = c.get(raw, ("_id",))
        if id is None or physical is None:
            continue
        damage = version_damage(v)
        if profile.hash and c.get(raw, (profile.hash,)) is not None:
            whole = next(iter(server.find(profile.ns, guards.by_id(physical), limit=1)), raw)
            damage = damage or hash_damage(whole, own.content(whole), profile)
        over = False
        if is_marked(raw, profile):
            whole = next(iter(server.find(profile.ns, guards.by_id(physical), limit=1)), raw)
            over = is_tombstone(whole, own, profile)
        state: State = "damaged" if damage else "present"
        versions, flagged = found.setdefault(id, ([], []))
        said = damage or (SAID if over else "")
        versions.append(Version(v, None, None, stored, state, False, None, None, said, raw=raw, deleted=over))
        if flag and is_flagged(c.get(raw, (flag,))):
            flagged.append(v)
    return found


def is_flagged(value: Value | None) -> bool:
    """Whether a flag is set: true, or a number other than 0."""
    if value is None or value.type not in (c.BOOLEAN, c.INT32, c.INT64, c.DOUBLE):
        return False
    # One byte is a Boolean; numbers are longer.
    return value.data == b"\x01" if value.data in (b"\x00", b"\x01") else bool(value.python())


def _current_first(versions: Sequence[Version]) -> Iterator[Version]:
    before: int | None = None
    for i, version in enumerate(versions):
        place = place_of(version.v)
        if i and place is not None and place == before:
            version = version.but(state="damaged", detail="stored twice")
        before = place
        yield version.but(current=i == 0 and not version.deleted)
