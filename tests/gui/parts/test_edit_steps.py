"""The draft: exact changes by position, and steps that restore exactly."""

from __future__ import annotations

import pytest

from gui.parts.fields import edit_steps
from gui.parts.fields.edit_steps import Edit
from model import text
from model.values.canonical import Value, fields

DOC = text.from_text(
    '{"a": 1, "b": {"x": {"$numberDecimal": "1.00"}, "y": [{"$numberLong": "7"}, "two", {"z": null}]}, "c": "last"}'
)


def shown(raw: bytes) -> str:
    return text.to_text(raw)


def test_a_value_is_replaced_in_place_and_every_other_byte_stays() -> None:
    made = edit_steps.replaced(DOC, (1, 1, 2, 0), Value.of("long enough to change every length around it"))
    assert shown(made) == shown(DOC).replace("null", '"long enough to change every length around it"')
    assert edit_steps.replaced(made, (1, 1, 2, 0), Value.of(None)) == DOC


def test_a_field_is_renamed_where_it_stands() -> None:
    made = edit_steps.renamed(DOC, (1, 0), "exact")
    assert [name for name, _ in fields(edit_steps.value_at(made, (1,)).data)] == ["exact", "y"]
    assert edit_steps.renamed(made, (1, 0), "x") == DOC


def test_elements_behind_one_that_is_taken_out_move_up() -> None:
    made = edit_steps.removed(DOC, (1, 1, 0))
    assert [name for name, _ in fields(edit_steps.value_at(made, (1, 1)).data)] == ["0", "1"]
    assert edit_steps.inserted(made, (1, 1), 0, "", edit_steps.value_at(DOC, (1, 1, 0))) == DOC


def test_a_field_moves_among_its_siblings_and_back() -> None:
    made = edit_steps.moved(DOC, (2,), 0)
    assert [name for name, _ in fields(made)] == ["c", "a", "b"]
    assert edit_steps.moved(made, (0,), 2) == DOC


def test_spots_and_paths_lead_to_the_same_place() -> None:
    for spot, path in (((1, 1, 2, 0), ("b", "y", 2, "z")), ((2,), ("c",)), ((), ())):
        assert edit_steps.path_of(DOC, spot) == path
        assert edit_steps.spot_of(DOC, path) == spot
    assert edit_steps.spot_of(DOC, ("b", "nowhere")) is None


def test_the_second_of_two_fields_with_one_name_can_be_changed() -> None:
    twice = text.from_text('{"$fields": [["a", {"$numberInt": "1"}], ["a", {"$numberInt": "2"}]]}')
    made = edit_steps.replaced(twice, (1,), Value.of("second"))
    assert [v.kind for _, v in fields(made)] == ["Int32", "String"]


def test_a_spot_that_leads_nowhere_is_a_lookup_error() -> None:
    with pytest.raises(LookupError):
        edit_steps.value_at(DOC, (9,))


def test_each_step_back_and_forth_restores_every_byte() -> None:
    edit = Edit(DOC)
    states = [DOC]
    for made in (
        edit_steps.replaced(DOC, (0,), Value.of("x" * 3000)),
        edit_steps.removed(DOC, (1,)),
        edit_steps.inserted(DOC, (1, 1), 1, "", Value.of(b"\x00\x01")),
        DOC,
        edit_steps.moved(DOC, (0,), 2),
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
    edit.apply(edit_steps.inserted(DOC, (), 3, "field", Value.of("")), "add a field", join="add 1")
    edit.apply(edit_steps.renamed(edit.content, (3,), "iban"), "rename field", join="add 1")
    edit.apply(edit_steps.replaced(edit.content, (3,), Value.of("DE02")), "change iban", join="add 1")
    assert shown(edit.content).endswith('"iban": "DE02"}')
    edit.undo()
    assert edit.content == DOC
    edit.redo()
    assert shown(edit.content).endswith('"iban": "DE02"}')


def test_a_new_step_forgets_what_was_taken_back() -> None:
    edit = Edit(DOC)
    edit.apply(edit_steps.removed(DOC, (0,)), "remove a")
    edit.undo()
    edit.apply(edit_steps.removed(DOC, (2,)), "remove c")
    assert edit.redo() is None


def test_a_step_on_a_large_document_keeps_only_what_changed() -> None:
    large = text.from_text('{"head": 1, "body": "' + "x" * 500_000 + '", "tail": 2}')
    edit = Edit(large)
    edit.apply(edit_steps.replaced(large, (2,), Value.of(3)), "change tail")
    assert len(edit._done[0].old) + len(edit._done[0].new) < 100


def test_names_are_made_unlike_their_siblings() -> None:
    assert edit_steps.free_name(DOC, (), "a") == "a2"
    assert edit_steps.free_name(DOC, (), "fresh") == "fresh"
