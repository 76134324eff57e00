"""The draft: exact changes by position, and steps that restore exactly."""

from __future__ import annotations

import pytest

from gui.edit import draft
from gui.edit.draft import Edit
from model import text
from model.values.canonical import Value, fields

DOC = text.from_text(
    '{"a": 1, "b": {"x": {"$numberDecimal": "1.00"}, "y": [{"$numberLong": "7"}, "two", {"z": null}]}, "c": "last"}'
)


def shown(raw: bytes) -> str:
    return text.to_text(raw)


def test_a_value_is_replaced_in_place_and_every_other_byte_stays() -> None:
    made = draft.replaced(DOC, (1, 1, 2, 0), Value.of("long enough to change every length around it"))
    assert shown(made) == shown(DOC).replace("null", '"long enough to change every length around it"')
    assert draft.replaced(made, (1, 1, 2, 0), Value.of(None)) == DOC


def test_a_field_is_renamed_where_it_stands() -> None:
    made = draft.renamed(DOC, (1, 0), "exact")
    assert [name for name, _ in fields(draft.value_at(made, (1,)).data)] == ["exact", "y"]
    assert draft.renamed(made, (1, 0), "x") == DOC


def test_elements_behind_one_that_is_taken_out_move_up() -> None:
    made = draft.removed(DOC, (1, 1, 0))
    assert [name for name, _ in fields(draft.value_at(made, (1, 1)).data)] == ["0", "1"]
    assert draft.inserted(made, (1, 1), 0, "", draft.value_at(DOC, (1, 1, 0))) == DOC


def test_a_field_moves_among_its_siblings_and_back() -> None:
    made = draft.moved(DOC, (2,), 0)
    assert [name for name, _ in fields(made)] == ["c", "a", "b"]
    assert draft.moved(made, (0,), 2) == DOC


def test_spots_and_paths_lead_to_the_same_place() -> None:
    for spot, path in (((1, 1, 2, 0), ("b", "y", 2, "z")), ((2,), ("c",)), ((), ())):
        assert draft.path_of(DOC, spot) == path
        assert draft.spot_of(DOC, path) == spot
    assert draft.spot_of(DOC, ("b", "nowhere")) is None


def test_the_second_of_two_fields_with_one_name_can_be_changed() -> None:
    twice = text.from_text('{"$fields": [["a", {"$numberInt": "1"}], ["a", {"$numberInt": "2"}]]}')
    made = draft.replaced(twice, (1,), Value.of("second"))
    assert [v.kind for _, v in fields(made)] == ["Int32", "String"]


def test_a_spot_that_leads_nowhere_is_a_lookup_error() -> None:
    with pytest.raises(LookupError):
        draft.value_at(DOC, (9,))


def test_each_step_back_and_forth_restores_every_byte() -> None:
    edit = Edit(DOC)
    states = [DOC]
    for made in (
        draft.replaced(DOC, (0,), Value.of("x" * 3000)),
        draft.removed(DOC, (1,)),
        draft.inserted(DOC, (1, 1), 1, "", Value.of(b"\x00\x01")),
        DOC,
        draft.moved(DOC, (0,), 2),
    ):
        assert edit.apply(made, "a step") is True
        states.append(made)
    for state in reversed(states[:-1]):
        edit.undo()
        assert edit.content == state
    assert edit.undo() is None
    assert not edit.is_dirty
    for state in states[1:]:
        edit.redo()
        assert edit.content == state
    assert edit.redo() is None


def test_a_change_that_changes_nothing_is_no_step() -> None:
    edit = Edit(DOC)
    assert edit.apply(DOC, "nothing") is False
    assert edit.undo_title == ""


def test_joined_steps_are_taken_back_as_one() -> None:
    edit = Edit(DOC)
    edit.apply(draft.inserted(DOC, (), 3, "field", Value.of("")), "add a field", join="add 1")
    edit.apply(draft.renamed(edit.content, (3,), "iban"), "rename field", join="add 1")
    edit.apply(draft.replaced(edit.content, (3,), Value.of("DE02")), "change iban", join="add 1")
    assert shown(edit.content).endswith('"iban": "DE02"}')
    edit.undo()
    assert edit.content == DOC
    edit.redo()
    assert shown(edit.content).endswith('"iban": "DE02"}')


def test_a_new_step_forgets_what_was_taken_back() -> None:
    edit = Edit(DOC)
    edit.apply(draft.removed(DOC, (0,)), "remove a")
    edit.undo()
    edit.apply(draft.removed(DOC, (2,)), "remove c")
    assert edit.redo() is None


def test_a_step_on_a_large_document_keeps_only_what_changed() -> None:
    large = text.from_text('{"head": 1, "body": "' + "x" * 500_000 + '", "tail": 2}')
    edit = Edit(large)
    edit.apply(draft.replaced(large, (2,), Value.of(3)), "change tail")
    assert len(edit._done[0].old) + len(edit._done[0].new) < 100


def test_names_are_made_unlike_their_siblings() -> None:
    assert draft.free_name(DOC, (), "a") == "a2"
    assert draft.free_name(DOC, (), "fresh") == "fresh"
