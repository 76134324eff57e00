"""Opens documents whose key may stand in ``_id``, as in ``{_id: {id, version}}``, in any order of these names."""

from __future__ import annotations

from msgspec.structs import replace

from model.foundation.collection_profile import CollectionProfile
from model.recognition.sampling import Document, Sample, SampledIndex
from model.server.retry import Port
from model.storage.composite_ids import KeyInId, reading
from model.storage.reserved_fields import WHOLE_NUMBERS
from model.values import canonical as c

PARTS = 2  # names in such an ``_id``


def paths_in_id(sample: Sample) -> tuple[str, ...]:
    """The paths of the parts that all ``_id`` of a sample consist of, whole numbers first; () if there are none."""
    names: tuple[str, ...] = ()
    numbered: set[str] = set()
    for each in sample.documents:
        id = each.get("_id")
        parts = c.fields(id.data) if id is not None and id.type == c.OBJECT else []
        here = tuple(sorted(name for name, _ in parts))
        if len(here) != PARTS or here != (names or here) or any(not name or "." in name for name in here):
            return ()
        names = here
        numbered |= {name for name, value in parts if value.type in WHOLE_NUMBERS}
    return tuple(f"_id.{name}" for name in sorted(names, key=lambda name: name not in numbered))


def opened(server: Port, sample: Sample) -> tuple[Port, Sample] | None:
    """The sample with the parts of ``_id`` as fields, and a port that reads like this; None if there are no parts."""
    if not (paths := paths_in_id(sample)):
        return None
    keys = KeyInId(paths)
    made = replace(
        sample,
        documents=tuple(Document(keys.shown(each.raw)) for each in sample.documents),
        # The index of ``_id`` keeps a pair unique; a look-up by the id alone cannot use it, so the number comes first.
        ask_indexes=lambda: (*sample.indexes, SampledIndex(paths, True)),
        whole=None if sample.whole is None else tuple(map(keys.shown, sample.whole)),
    )
    return reading(server, CollectionProfile(sample.ns, "versions", id=paths[1], version=paths[0])), made
