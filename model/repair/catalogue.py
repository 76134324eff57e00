"""Which function prepares which repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from model.repair import archive_repairs, counter_repairs, embedded_repairs, outgrown_documents, version_repairs
from model.repair.plan import Item
from model.repair.steps import Prepared, RepairContext

Prepare: TypeAlias = Callable[[RepairContext, Item], Prepared]


PREPARES: Mapping[str, Prepare] = {
    "convert-version": version_repairs.convert_version,
    "set-counter": counter_repairs.set_counter,
    "remove-duplicate": version_repairs.remove_duplicate,
    "remove-phantom": archive_repairs.remove_phantom,
    "save-as-version": archive_repairs.save_as_version,
    "remove-residue": archive_repairs.remove_residue,
    "set-current-flag": version_repairs.set_current_flag,
    "rebuild-prev": embedded_repairs.rebuild_prev,
    "rebuild-hash": embedded_repairs.rebuild_hash,
    "restore-document": archive_repairs.restore_document,
    "archive-current": archive_repairs.archive_current,
    "raise-counter": counter_repairs.raise_counter,
    "remove-repeats": embedded_repairs.remove_repeats,
    "take-out-token": counter_repairs.take_out_token,
    "finish-token": counter_repairs.finish_token,
    "move-to-archive": outgrown_documents.move_to_archive,
}
"""Every repair by its name; each function reads what there is now and says what it would write."""

SECOND_LOOKS: Mapping[str, Callable[[RepairContext, Item], Prepared | None]] = {
    "remove-phantom": archive_repairs.bring_back,
    "remove-residue": archive_repairs.bring_back,
    "remove-duplicate": version_repairs.bring_back,
}
"""What must be looked at again after a removal that no single write can make safe."""
