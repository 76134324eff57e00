"""Changes as other programs write them down, applied to a document forwards and backwards.

A document is a tree (:mod:`.tree`) while patches are applied to it. Every form checks what it replaces against what the
patch says was there, as far as the form says it: a patch that does not fit raises :class:`.DoesNotApply`, and the tree
must be thrown away then.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from msgspec import Struct

from model.patches import field_lists, json0, jsondiffpatch, rfc6902
from model.patches.tree import DoesNotApply, Node, document_of, tree_of

__all__ = ["FORMS", "DoesNotApply", "Node", "PatchForm", "document_of", "tree_of"]


class PatchForm(Struct, frozen=True):
    """One way to write changes down: a patch is a tree too, and ``apply`` returns the changed tree."""

    name: str
    apply: Callable[[Node, Node], Node]
    unapply: Callable[[Node, Node], Node] | None
    """The way back; None if a patch does not hold what it replaced."""
    names: Callable[[Node], list[str]]
    """The fields at the top that a patch is about; raises ``DoesNotApply`` if that is the whole document."""
    about: Callable[[Node, str], tuple[bool, Node]]
    """What a patch does to one of these fields, and whether it does not matter what was there before."""
    mark: Callable[[str], bytes]
    """The bytes that a row has whose patch is about one of these fields; others may have them too."""
    may_remove: Callable[[bytes], bool]
    """Whether a patch in a row's bytes may take out a field."""
    removal_mark: bytes
    """Bytes that such a row has; others may have them too."""


def _form(name: str, of: ModuleType, unapply: Callable[[Node, Node], Node] | None) -> PatchForm:
    return PatchForm(name, of.apply, unapply, of.names, of.about, of.mark, of.may_remove, of.REMOVAL_MARK)


FORMS = {
    each.name: each
    for each in (
        _form("rfc6902", rfc6902, None),
        _form("jsondiffpatch", jsondiffpatch, jsondiffpatch.unapply),
        _form("json0", json0, json0.unapply),
        _form("fields", field_lists, field_lists.unapply),
    )
}
