"""Which function prepares which repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from model.plan import Item
from model.repairs import archived, counted, inside, outgrown, versioned
from model.repairs.steps import Ground, Prepared

Prepare: TypeAlias = Callable[[Ground, Item], Prepared]


PREPARES: Mapping[str, Prepare] = {
    "convert-version": versioned.convert_version,
    "set-counter": counted.set_counter,
    "remove-duplicate": versioned.remove_duplicate,
    "remove-phantom": archived.remove_phantom,
    "save-as-version": archived.save_as_version,
    "remove-residue": archived.remove_residue,
    "set-current-flag": versioned.set_current_flag,
    "rebuild-prev": inside.rebuild_prev,
    "rebuild-hash": inside.rebuild_hash,
    "restore-document": archived.restore_document,
    "archive-current": archived.archive_current,
    "raise-counter": counted.raise_counter,
    "remove-repeats": inside.remove_repeats,
    "take-out-token": counted.take_out_token,
    "finish-token": counted.finish_token,
    "move-to-archive": outgrown.move_to_archive,
}
"""Every repair by its name; each function reads what there is now and says what it would write."""

SECOND_LOOKS: Mapping[str, Callable[[Ground, Item], Prepared | None]] = {
    "remove-phantom": archived.bring_back,
    "remove-residue": archived.bring_back,
    "remove-duplicate": versioned.bring_back,
}
"""What must be looked at again after a removal that no single write can make safe."""
