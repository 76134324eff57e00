"""A slice of the simulation; ``python -m tests.simulation`` runs all.

Subjects that are wrong on purpose are convicted with fixed seeds: others would leave that to chance.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outcome, Version
from model.layouts import base, deltas
from model.layouts.archive import Archive
from model.layouts.deltas import Deltas
from model.layouts.flagged import Flagged
from model.server import guards, retry
from model.server.retry import Write
from model.storage import current_writer, version_writer
from model.storage.current_writer import CurrentWriter, HashGuard, VersionGuard
from model.storage.update_operators import Operators
from model.storage.version_documents import VersionDocuments
from model.values import canonical as c
from model.values.canonical import Value
from model.writing.writer import Writer
from tests import support
from tests.simulation import changing, copying, erasing, retaining
from tests.simulation.changing import run_changing
from tests.simulation.copying import overwriting, renumbering, run_copying
from tests.simulation.erasing import forgetful, run_erasing
from tests.simulation.machine import Unguarded, check
from tests.simulation.published import PROTOCOLS, Published
from tests.simulation.retaining import forgetting, run_retaining, trimming
from tests.simulation.run import Result, run, run_published, subjects
from tests.simulation.schedule import Crew
from tests.simulation.taking_back import SUBJECTS, Script, rolling_back, run_taking_back, unguarded

SEEDS = support.by_depth(4, 80, 40)
PLANS = support.by_depth(4, 80, 12)
"""Schedules of plans, which write much more than an edit does."""
"""Schedules for each layout."""


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    made = Crew(4)
    yield made
    made.close()


@pytest.mark.slice
@pytest.mark.parametrize("layout", subjects())
def test_no_edit_is_lost_or_doubled_whatever_happens_to_four_writers(layout: str, crew: Crew, seed: int) -> None:
    for each in range(seed, seed + SEEDS):
        result = run(layout, each, crew)
        assert not result.wrong, f"python -m tests.simulation --layout {layout} --seed {each}: {result.wrong}"


@pytest.mark.parametrize("of", PROTOCOLS, ids=lambda of: of.name)
def test_the_harness_convicts_each_published_protocol(of: Published, crew: Crew) -> None:
    wrong = (seed for seed in range(120) if run_published(of, seed, crew).wrong)
    assert len(list(itertools.islice(wrong, 3))) == 3


@pytest.mark.deep
@pytest.mark.slice
def test_a_seed_gives_the_same_schedule_again(crew: Crew, seed: int) -> None:
    for layout in subjects():
        steps = 0
        for each in range(seed, seed + 3):
            first, again = (run(layout, each, crew, shown=True) for _ in range(2))
            assert first == again
            steps += len(first.trace)
        assert steps > 24, f"{layout}, seeds from {seed}"


@pytest.mark.parametrize("layout", ["archive", "embedded", "stream", "hashed"])
def test_the_harness_convicts_a_layout_without_its_guard(
    layout: str, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unguarded(self: object, *_: object) -> dict[str, object]:
        return {"no such field": {"$exists": False}}

    for guarding in (VersionGuard, HashGuard):
        monkeypatch.setattr(guarding, "clauses", unguarded)
    monkeypatch.setattr(CurrentWriter, "whole_guard", unguarded)
    monkeypatch.setattr(Operators, "guard", lambda *_: {})
    assert _convicted(layout, crew)


@pytest.mark.parametrize("layout", ["versions", "deltas", "archive", "embedded"])
def test_the_harness_convicts_a_writer_that_takes_doubt_for_failure(
    layout: str, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hasty(server: retry.Port, write: Write, landed: object, repeatable: bool = True) -> retry.End:
        reply = server.send(write)
        return retry.End("applied" if reply.applied == "yes" else "conflict", reply=reply)

    for module in (base, current_writer, version_writer):
        monkeypatch.setattr(module, "run", hasty)
    assert _convicted(layout, crew)


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("layout", ["archive", "stream", "embedded", "hashed"])
def test_the_harness_convicts_an_edit_that_takes_back_what_was_changed_in_place(
    layout: str, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_version(self: CurrentWriter, version: Version, *_: object) -> dict[str, object]:
        return VersionGuard(self._current).clauses(version)

    monkeypatch.setattr(HashGuard, "clauses", by_version)
    monkeypatch.setattr(CurrentWriter, "whole_guard", by_version)
    monkeypatch.setattr(Operators, "guard", lambda *_: {})
    monkeypatch.setattr(Archive, "_touched", lambda *_: False)
    too_large = range(guards.LARGEST)  # then the sub-document that is replaced is in no filter
    monkeypatch.setattr("model.layouts.embedded.bson_of", lambda terms: too_large)
    assert _convicted(layout, crew, 1000)  # one in forty schedules shows it


def test_the_harness_convicts_a_flag_that_takes_a_whole_version_back(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rewritten(self: Flagged, raw: bytes) -> Write:
        write = unflag(self, raw)
        return replace(write, kind="replace", body=c.without(raw, [self.profile.current]))

    unflag = Flagged._unflag
    monkeypatch.setattr(Flagged, "_unflag", rewritten)
    assert _convicted("flagged", crew, 1000)


def test_the_harness_convicts_numbers_that_do_not_keep_writers_apart(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.storage.numbering.claimed", lambda server, ns, base, names, claim, number: number())
    assert _convicted("versions", crew)


@pytest.mark.parametrize("layout", ["versions", "flagged", "deltas"])
def test_the_harness_convicts_an_edit_that_follows_a_tombstone(
    layout: str, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VersionDocuments, "ends", lambda *_: False)
    assert _convicted(layout, crew)


def test_a_write_without_a_guard_stops_the_simulation() -> None:
    check(Write("a.b", "update", {"_id": 1, "v": 2}, {"$set": {"x": 1}}))
    for filter in ({"_id": 1}, {"docId": 1, "v": 2}, {}):
        with pytest.raises(Unguarded):
            check(Write("a.b", "delete", filter))


def _convicted(layout: str, crew: Crew, most: int = 150) -> bool:
    return any(run(layout, seed, crew).wrong for seed in range(most))


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("subject", SUBJECTS)
def test_what_is_taken_back_goes_once_and_no_edit_is_lost_beside_it(subject: str, crew: Crew, seed: int) -> None:
    for each in range(seed, seed + SEEDS):
        result = run_taking_back(subject, each, crew)
        assert not result.wrong, f"python -m tests.simulation --layout '{subject}' --seed {each}: {result.wrong}"


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("subject", changing.SUBJECTS)
def test_one_change_is_made_once_and_no_edit_is_lost_beside_it(subject: str, crew: Crew, seed: int) -> None:
    for each in range(seed, seed + PLANS):
        result = run_changing(subject, each, crew)
        assert not result.wrong, f"python -m tests.simulation --layout '{subject}' --seed {each}: {result.wrong}"


@pytest.mark.deep
def test_the_harness_convicts_a_plan_that_forgets_what_it_did(crew: Crew) -> None:
    assert all(run_changing("changing, archive", seed, crew, careless=True).wrong for seed in range(3))


@pytest.mark.parametrize(
    ("run_plan", "subject"),
    [
        (run_changing, "changing, versions"),
        (run_changing, "changing, nested"),
        (run_taking_back, "taking back, deltas"),
        (run_taking_back, "taking back, stream"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
@pytest.mark.parametrize("careless", [lambda stored: stored, lambda stored: None], ids=["kept", "left out"])
def test_the_harness_convicts_a_plan_whose_versions_bring_no_hash_of_their_own(
    run_plan: Callable[..., Result],
    subject: str,
    careless: Callable[[Value], Value | None],
    crew: Crew,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    renewed, save, this = deltas.next_hash, Writer.save, threading.local()

    def saved(self: Writer, *told: Any, **more: Any) -> Outcome:
        this.is_plan = True  # the writers beside it save otherwise
        try:
            return save(self, *told, **more)
        finally:
            this.is_plan = False

    def hashed(content: bytes, profile: CollectionProfile, base: bytes, stored: Value) -> Value | None:
        made = renewed(content, profile, base, stored)
        return careless(stored) if getattr(this, "is_plan", False) else made

    monkeypatch.setattr(Writer, "save", saved)
    for module in (current_writer, version_writer, deltas):
        monkeypatch.setattr(module, "next_hash", hashed)
    assert any("does not fit" in said for seed in range(20) for said in run_plan(subject, seed, crew).wrong)


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("subject", retaining.SUBJECTS)
def test_only_what_a_rule_names_goes_and_each_version_is_kept_before(subject: str, crew: Crew, seed: int) -> None:
    for each in range(seed, seed + PLANS):
        result = run_retaining(subject, each, crew)
        assert not result.wrong, f"python -m tests.simulation --layout '{subject}' --seed {each}: {result.wrong}"


@pytest.mark.parametrize(
    ("layout", "script"),
    [("archive", forgetting), ("versions", forgetting), ("deltas", forgetting), ("embedded", trimming)],
)
def test_the_harness_convicts_a_script_that_removes_versions_carelessly(
    layout: str, script: retaining.Script, crew: Crew
) -> None:
    assert any(run_retaining(f"retaining, {layout}", seed, crew, script).wrong for seed in range(5))


@pytest.mark.parametrize("hash", [None, Value.of("0" * 40)], ids=["left out", "another"])
def test_the_harness_convicts_a_version_that_is_stored_whole_without_its_hash(
    hash: Value | None, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checkpoint(self: Deltas, versions: Sequence[Version], kept: int) -> bytes:
        raw, name = whole(self, versions, kept), (self.profile.hash,)
        return raw if c.get(raw, name) is None else c.put(raw, name, hash) if hash else c.drop(raw, name)

    whole = Deltas.checkpoint
    monkeypatch.setattr(Deltas, "checkpoint", checkpoint)
    said = (said for seed in range(20) for said in run_retaining("retaining, deltas", seed, crew).wrong)
    assert any("the hash of version" in each for each in said)


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("subject", copying.SUBJECTS)
def test_a_copy_comes_whole_and_once_and_no_edit_is_lost_beside_it(subject: str, crew: Crew, seed: int) -> None:
    for each in range(seed, seed + PLANS):
        result = run_copying(subject, each, crew)
        assert not result.wrong, f"python -m tests.simulation --layout '{subject}' --seed {each}: {result.wrong}"


@pytest.mark.parametrize(("subject", "drawn"), [("copying, archive", 30), ("copying, stream", 32)])
def test_a_document_that_a_writer_made_what_a_copy_brings_is_left_alone(subject: str, drawn: int, crew: Crew) -> None:
    assert not run_copying(subject, drawn, crew).wrong


@pytest.mark.parametrize(
    ("layout", "script"), [("archive", overwriting), ("nested", overwriting), ("versions", renumbering)]
)
def test_the_harness_convicts_a_script_that_copies_carelessly(layout: str, script: copying.Script, crew: Crew) -> None:
    assert any(run_copying(f"copying, {layout}", seed, crew, script).wrong for seed in range(5))


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("subject", erasing.SUBJECTS)
def test_what_is_erased_is_not_found_again_and_no_edit_is_lost_beside_it(subject: str, crew: Crew, seed: int) -> None:
    for each in range(seed, seed + PLANS):
        result = run_erasing(subject, each, crew)
        assert not result.wrong, f"python -m tests.simulation --layout '{subject}' --seed {each}: {result.wrong}"


@pytest.mark.parametrize(
    ("layout", "script"), [("archive", forgetful), ("versions", forgetful), ("nested", erasing.overwriting)]
)
def test_the_harness_convicts_a_script_that_erases_carelessly(layout: str, script: erasing.Script, crew: Crew) -> None:
    assert any(run_erasing(f"erasing, {layout}", seed, crew, script).wrong for seed in range(5))


@pytest.mark.parametrize("script", [rolling_back, unguarded], ids=lambda script: script.__name__)
def test_the_harness_convicts_a_script_that_takes_back_carelessly(script: Script, crew: Crew) -> None:
    wrong = (seed for seed in range(60) if run_taking_back("taking back, archive", seed, crew, script).wrong)
    assert len(list(itertools.islice(wrong, 3))) == 3
