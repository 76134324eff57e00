"""A place of a document's versions: which collection stores them, and by what they name the document."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from model.server.retry import Terms


class VersionPlace(NamedTuple):
    """A collection with stored versions, the path that names the document in each, and what else tells them."""

    ns: str
    id: str
    where: Terms = MappingProxyType({})
