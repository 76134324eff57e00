"""Why nobody can prove that a document was so at a time, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gui.language import tr

if TYPE_CHECKING:
    from model.records import Doubt

DOUBTS: Mapping[Doubt, str] = {
    "gap": tr("A version is missing"),
    "undated": tr("No time was kept"),
    "clock": tr("A clock ran backwards"),
    "content": tr("Content not proven"),
    "above": tr("Above the current version"),
    "deleted": tr("Deleted, time unknown"),
}
