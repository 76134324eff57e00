"""Changes as other programs record them, applied to a document forwards and backwards.

A document is a tree (:mod:`.tree`) while patches are applied to it. Each form compares what it replaces with what the
patch says was there, as far as the patch says it. A patch that does not fit raises :class:`.DoesNotApply`; the tree
must then be thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from types import ModuleType

from msgspec import Struct

from model.patches import field_lists, json0, jsondiffpatch, rfc6902
from model.patches.tree import DoesNotApply, Node, document_of, tree_of

__all__ = ["FORMS", "DoesNotApply", "Node", "PatchForm", "document_of", "tree_of"]


class PatchForm(Struct, frozen=True):
    """One way to record changes: a patch is a tree too, and ``apply`` returns the changed tree."""

    name: str
    apply: Callable[[Node, Node], Node]
    unapply: Callable[[Node, Node], Node]
    """The inverse of ``apply``; raises ``DoesNotApply`` if a patch does not hold what it replaced."""
    without: Callable[[Node, Set[str]], Node]
    """A patch without what it says of some top-level fields."""
    names: Callable[[Node], list[str]]
    """The top-level fields that a patch is about; raises ``DoesNotApply`` if it is about the whole document."""
    about: Callable[[Node, str], tuple[bool, Node]]
    """The part of a patch that is about one of these fields, and whether it fits any value there before."""
    mark: Callable[[str], bytes]
    """Bytes in every row whose patch is about one of these fields; other rows may have them too."""
    may_remove: Callable[[bytes], bool]
    """Whether a patch in a row's bytes may remove a field."""
    removal_mark: bytes
    """Bytes in every such row; other rows may have them too."""


def _form(name: str, of: ModuleType) -> PatchForm:
    return PatchForm(
        name, of.apply, of.unapply, of.without, of.names, of.about, of.mark, of.may_remove, of.REMOVAL_MARK
    )


FORMS = {
    each.name: each
    for each in (
        _form("rfc6902", rfc6902),
        _form("jsondiffpatch", jsondiffpatch),
        _form("json0", json0),
        _form("fields", field_lists),
    )
}
