"""Usual names of fields and collections for each role: hints, never proof; structure decides."""

from __future__ import annotations

import re
from functools import lru_cache

IN_ID = "_id."
"""How the path of a part of ``_id`` begins."""


@lru_cache(20_000)
def can_play_a_role(name: str) -> bool:
    """Whether a profile could name this field: top level or in ``_id``, no dots, no dollar, no lone surrogates."""
    name = name.removeprefix(IN_ID)
    if not name or "." in name or name.startswith("$"):
        return False
    return name.isprintable() and name.encode("utf-8", "replace").decode() == name


@lru_cache(20_000)
def bare(name: str) -> str:
    """A name without case, underscores and hyphens: "_versionNumber" and "version-number" become equal."""
    return re.sub(r"[\W_]+", "", name.removeprefix(IN_ID)).lower()


@lru_cache(20_000)
def words(name: str) -> tuple[str, ...]:
    """The words of a name in camel case or with separators, in lower case."""
    plain = name.removeprefix(IN_ID)
    return tuple(part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", plain))


def is_version_name(name: str) -> bool:
    """Whether a field is named like a version; Mongoose's "__v" is a lock and records no history."""
    return bare(name) in VERSIONS and not name.startswith("__")


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


VERSIONS = _set(
    """
    v ver vers version versionno versionnr versionnum versionnumber versionid vno vnr rev revision revisionno
    revisionnr revisionnumber revno docversion documentversion docrev edition generation iteration
    """
)
PARTS = _set(
    """
    line lines lineno linenumber pos position row column col item page chapter section paragraph verse part volume
    issue episode season lesson unit module level stage step phase round lap leg heat turn move set game match frame
    floor storey room seat lane slot place rank ranking grade class tier track channel month year day week weekday
    quarter hour minute second period term semester instalment installment rate payment reminder attempt retry try
    visit session shift age qty quantity amount price cost total subtotal sum net gross tax fee balance stock count
    size width height length depth weight volume capacity distance mileage odometer speed temperature voltage points
    score goals stars rating votes likes views hits clicks downloads visits shares followers priority order sort
    sortorder index idx port status code level percent progress
    """
)
"""Names of numbers that count parts, measure or order something."""
IDS = _set(
    """
    id docid doc document documentid entity entityid object objectid record recordid item itemid key uuid guid
    ref refid original originalid of subject subjectid aggregate aggregateid root rootid base baseid master
    masterid parent parentid source sourceid target targetid owner slug
    """
)
TOKENS = _set(
    """
    w token writetoken writeid opid op operation operationid nonce txid tx transactionid writestamp write
    lastwrite mutation mutationid changeid editid requestid commit commitid
    """
)
TIMES = _set(
    """
    at ts time timestamp changedat changedon changed changetime changedate updatedat updatedon updated
    updatetime updatedate modifiedat modifiedon modified modificationdate modifieddate modifytime lastmodified
    lastmodifiedat lastupdated lastupdatedat lastchanged lastchangedat lastupdate lastchange editedat editedon
    edited savedat savedon saved writtenat written recordedat recorded createdat createdon created committedat
    versionedat versiondate versiontime revisedat storedat mtime when occurredat occurredon commitstamp
    """
)
CHANGE_TIMES = TIMES - _set("time timestamp ts when recorded recordedat createdat createdon created")
CHANGERS = _set(
    """
    changedby updatedby modifiedby lastmodifiedby lastupdatedby lastchangedby editedby savedby
    committedby revisedby changeauthor
    """
)
AUTHORS = CHANGERS | _set("writtenby recordedby createdby author editor user username userid by who actor committer")
CHANGE_REASONS = _set(
    """
    changereason changecomment changenote changemessage changedescription changesummary historychangereason
    updatereason updatecomment updatemessage modificationreason editreason editcomment editmessage editsummary
    revisionreason revisioncomment revisionnote revisionmessage versionreason versioncomment versionnote
    versionmessage commitmessage reasonforchange reasonofchange changedbecause changedwhy
    """
)
REASONS = CHANGE_REASONS | _set("reason why comment message note")
FLAGS = _set(
    """
    current iscurrent currentversion latest islatest latestversion newest isnewest active isactive head ishead
    last islast live islive actual isactual
    """
)
WORDS = _set("current active head last live actual")
"""The flags whose names ordinary fields have too: a last name, an actual amount."""
HASHES = _set(
    """
    versionedid hash contenthash dochash documenthash digest contentdigest versionhash sha sha1
    """
)
REFERENCES = _set("prev previous parent next of from ref based before after source origin root")
TERMS = _set("valid effective from until to due paid sent start starts end ends begin begins birth")
PAST = _set(
    """
    history hist histories archive archived archives version versions revision revisions old older prev
    previous past earlier audit log logs trail journal snapshot snapshots backup changes copies of all
    """
)
CHANGES = _set(
    """
    diff diffs difference patch patches op ops operations delta deltas changes change changeset changedfields
    updatedfields modifications mutations updatedescription edits
    """
)
BEFORE_AND_AFTER = (
    ("before", "after"), ("old", "new"), ("oldvalue", "newvalue"), ("oldvalues", "newvalues"), ("from", "to"),
    ("original", "modified"), ("previous", "current"), ("previousvalue", "newvalue"), ("prev", "next"), ("was", "is"),
    ("fromvalue", "tovalue"), ("olddata", "newdata"), ("originaldoc", "updateddoc"),
    ("olddocument", "currentdocument"), ("op", "value"),
)  # fmt: skip
"""Pairs of names for the old and the new value in a recorded change."""
PLACES = _set("p field path property attribute column key fieldname propertyname attributename columnname what name")
"""Names for the field that says which field of a document was changed."""
FIELD_PLACES = PLACES - _set("p key what name")
"""Those names in PLACES that are unmistakable by themselves."""
OPERATIONS = _set(
    """
    op operation operationtype action event eventtype eventname type kind method verb o change changetype command
    payloadtype
    """
)
STREAMS = _set("stream aggregate")
"""Words in the name of an event store's stream id."""
ENDS = _set("create del delete insert remove")
"""Names under which a record of operations says that a document was created or deleted."""
PAYLOADS = _set(
    "payload data body doc document fulldocument state value values snapshot d content fields arguments "
    "serializedpayload"
)
ABOUT_RECORDS = _set(
    """
    v t reason comment message note ip host session sessionid requestid correlationid causationid collection
    collectionname model modelname entitytype entityname aggregatetype table resource ns scope source autosave latest
    published m streamid streamrevision aggregateid aggregate context commitid commitsequence
    """
)
"""Names of fields that accompany a recorded change: what was changed, from where, and why."""
NAMED_COUNTERS = _set("counter counters sequence sequences seq seqs autoincrement autoincrements ids")
LAST = _set(
    """
    seq sequence sequencevalue seqvalue next nextid nextval nextvalue lastid lastvalue lastnumber
    autoincrement counter seqno
    """
)
LAST_BESIDE = LAST | _set("value val n number last current c count")
PENDING = _set(
    """
    pending pendingtokens pendingtransactions pendingops pendingtx pendingevents pendingwrites inflight
    outstanding unsettled unapplied uncounted
    """
)
APPLIED = _set("applied settled committed counted appliedtokens appliedops appliedtx confirmed")
PROCESSED = _set(
    """
    processed processedhistory processedevents processedids processedkeys processedmessages processedgames
    seen seenevents seenids seenkeys handled handledevents handledids appliedevents appliedids appliedkeys
    consumed consumedevents alreadyapplied dedup dedupkeys
    """
)
COUNTS = _set("count counter counts total sum hits n amount value balance number events")
COUNTED = _set("count counter counts hits")
AMOUNTS = _set("sum amount balance")
NOW = _set("current head latest now newest actual present tip last state live")
BEFORE = _set("prev previous past history versions revisions older earlier archive before old tail")
REMOVED = _set("removed removedfields removedpaths unset deletedfields dropped")
