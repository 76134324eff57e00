"""Changes as other programs write them down, applied to a document forwards and backwards.

A document is a tree (:mod:`.tree`) while patches are applied to it. Every form checks what it replaces against what the
patch says was there, as far as the form says it: a patch that does not fit raises :class:`.DoesNotApply`, and the tree
must be thrown away then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from model.patches import field_lists, json0, jsondiffpatch, rfc6902
from model.patches.tree import DoesNotApply, Node, document_of, tree_of

__all__ = ["FORMS", "DoesNotApply", "Node", "PatchForm", "document_of", "tree_of"]


@dataclass(frozen=True)
class PatchForm:
    """One way to write changes down: a patch is a tree too, and ``apply`` returns the changed tree."""

    name: str
    apply: Callable[[Node, Node], Node]
    unapply: Callable[[Node, Node], Node] | None
    """The way back; None where a patch does not hold what it replaced."""


FORMS = {
    each.name: each
    for each in (
        PatchForm("rfc6902", rfc6902.apply, None),
        PatchForm("jsondiffpatch", jsondiffpatch.apply, jsondiffpatch.unapply),
        PatchForm("json0", json0.apply, json0.unapply),
        PatchForm("fields", field_lists.apply, field_lists.unapply),
    )
}
