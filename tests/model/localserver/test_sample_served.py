"""The sample as people meet it: served, sound where it should be, and changed by a colleague."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.foundation.findings import Finding
from model.localserver.sample import THINGS, contracts
from model.session import Session
from model.values.canonical import Value

COLLECTIONS = {
    "insurance": "agents claims contracts counters customers invoices partners policy_feed stats tariffs",
    "insurance_2019": (
        "campaigns claims contracts counters customers endorsements invoices partners policy_feed quotes scans stats "
        "tariffs"
    ),
    "reporting": "bson_types campaigns kpi texts",
}
WITHOUT_INDEX = {"insurance.tariffs", "insurance_2019.tariffs"} | {
    f"insurance_2019.{name}" for name in ("claims", "endorsements", "quotes")
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session.open("sample:", home=Path(tmp_path_factory.mktemp("home"))) as opened:
        yield opened


def unsound(session: Session, ns: str) -> dict[str, str]:
    """Health in words of every document that is not sound."""
    ids = [row.id for row in session.documents.page(ns, limit=5000).rows]
    return {str(o.id.python()): o.health for o in session.documents.outlines(ns, ids) if o.severity != "sound"}


@pytest.mark.deep
def test_contracts_are_sound_but_for_those_that_are_told(session: Session) -> None:
    expected = {
        "K-118240": "3 versions missing",
        "K-204112": "2 versions missing",
        "K-204117": "3 missing, 1 hash differs",
        **dict.fromkeys(contracts.PHANTOMS, "Phantom"),
        **dict.fromkeys(contracts.EDITED_IN_PLACE, "The archive holds another"),
        contracts.RESIDUE: "Also in the archive",
    }
    found = unsound(session, "insurance.contracts")
    assert found.keys() == expected.keys()
    for id, health in found.items():
        assert health.startswith(expected[id])


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize(
    ("ns", "ids"),
    [
        ("insurance.claims", {"C-2026-00112"}),
        ("insurance.tariffs", {"HH-BASIC", "BIKE", "LIAB-FAM"}),
        ("insurance.customers", set()),
        ("insurance.partners", set()),
        ("insurance.policy_feed", set()),
    ],
)
def test_the_other_histories_are_sound_but_for_those_that_are_told(session: Session, ns: str, ids: set[str]) -> None:
    assert unsound(session, ns).keys() == ids


def test_partners_of_today_and_of_2019_differ_in_every_way(session: Session) -> None:
    found = session.beside("insurance.partners", session, "insurance_2019.partners").compare()
    counts = Counter(row.change for row in found)
    assert counts == {"only here": 26, "ahead": 7, "behind": 4, "diverged": 2}
    assert found.same == 1


def test_two_invoices_do_not_match_their_hash(session: Session) -> None:
    assert len(unsound(session, "insurance.invoices")) == 2


def test_five_tokens_are_stale_and_one_is_young(session: Session) -> None:
    tokens = list(session.tokens.pending())
    assert sum(token.stale for token in tokens) == 5
    assert {token.ns for token in tokens if token.stale} == {"insurance.stats"}
    assert sum(token.at is not None and not token.stale for token in tokens) == 1


@pytest.mark.deep
def test_there_are_as_many_findings_as_the_welcome_page_says(session: Session) -> None:
    found = [each for each in session.scans.scan([THINGS[4].ns]) if isinstance(each, Finding)]
    assert THINGS[4].title == f"Repair {len(found)} findings"


@pytest.mark.parametrize("ns", [f"{db}.{name}" for db, names in COLLECTIONS.items() for name in names.split()])
def test_a_colleague_can_change_what_may_be_written(session: Session, ns: str) -> None:
    rows = session.documents.page(ns, limit=2).rows
    assert rows
    for row in rows:
        if session.writing.open(ns, row.id).writable:
            outcome = session.colleague.change(ns, row.id)
            assert outcome.kind == ("refused" if ns in WITHOUT_INDEX else "applied"), outcome


def test_the_missing_index_can_be_made_where_no_version_stands_twice(session: Session) -> None:
    ns = "insurance_2019.endorsements"
    assert session.indexes.missing(ns)
    assert session.indexes.create(ns).kind == "applied"
    assert session.colleague.change(ns, Value.of("E-001")).kind == "applied"
    assert session.indexes.create("insurance.tariffs").kind == "refused"


def test_a_newcomer_meets_a_conflict(session: Session) -> None:
    thing = THINGS[2]
    id = session.documents.find_id(thing.ns, thing.id)
    opened = session.writing.open(thing.ns, id)
    assert session.colleague.change(thing.ns, id).kind == "applied"
    edited = session.edit(thing.ns, thing.id, set={"notes": "Roof redone 2024. Call ahead."}, base=opened.base.v)
    assert edited.kind == "conflict"
