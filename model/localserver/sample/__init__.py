"""The sample data: one insurer in Hamburg, told so that every layout, length and kind of damage occurs.

``insurance`` has a sound collection of every layout, and 31 findings:

======  ==  =====================================================================================================
A3      15  contracts: K-204120 and 14 more; one of them is minutes old
V1       2  tariffs: HH-BASIC v3 twice and equal, BIKE v5 twice and different (there is no unique index)
C1       1  tariffs: LIAB-FAM has two current versions
H1       3  contracts: K-204117 v9; invoices: 202600417, and 202600583 in field order only
A2       2  contracts: K-204236, K-204251
A4, V2   4  contracts (A4): K-204112, K-204117, K-118240; claims (V2): C-2026-00112
A5       1  contracts: K-204099
T1       2  stats: three tokens of 2025-10-31 and a young one, two of 2025-12-31 on a document that was never counted
A1       1  contracts: K-204262
======  ==  =====================================================================================================

``insurance_2019`` has at least one of every other kind of damage, ``reporting`` every BSON type and awkward sizes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from model.localserver.sample import corners, counts, insurance_2019, layout_samples
from model.localserver.sample.building_blocks import BY_TIME, HASH, ID, UNIQUE_ID_VERSION
from model.localserver.sample.colleague import COLLEAGUE, colleague_change
from model.localserver.sample.contracts import stored_contracts
from model.things_to_try import THINGS, Thing

__all__ = ["COLLEAGUE", "THINGS", "Thing", "build", "colleague_change"]

IndexSpec: TypeAlias = tuple[tuple[tuple[str, int], ...], bool]
"""((field, direction), …), and whether the index is unique."""
Collection: TypeAlias = tuple[str, list[IndexSpec], Iterable[bytes]]


def build(now: int | None = None) -> Iterator[Collection]:
    """Each collection: ns, indexes besides that on ``_id``, documents as stored.

    The bytes are equal in every run, except for young documents, whose dates depend on ``now``, in seconds.
    """
    seconds = int(time.time()) if now is None else now
    current, history = stored_contracts(seconds)
    yield "insurance.contracts", [BY_TIME], current
    yield "insurance.contracts_history", [UNIQUE_ID_VERSION, BY_TIME], history
    yield "insurance.agents", [], counts.agents()
    yield "insurance.claims", [UNIQUE_ID_VERSION], layout_samples.claims()
    yield "insurance.counters", [], counts.counters()
    yield "insurance.customers", [], layout_samples.customers()
    yield "insurance.invoices", [((("number", 1),), True), (((HASH, 1),), False)], layout_samples.invoices()
    yield "insurance.partners", [UNIQUE_ID_VERSION], layout_samples.partners()
    feed, fed = layout_samples.policy_feed()
    yield "insurance.policy_feed", [], feed
    yield "insurance.policy_feed_history", [UNIQUE_ID_VERSION], fed
    yield "insurance.stats", [], counts.stats(seconds)
    yield "insurance.tariffs", [(((ID, 1), ("current", 1)), False)], layout_samples.tariffs()
    yield "reporting.campaigns", [], counts.campaigns()
    yield "reporting.kpi", [((("region", 1), ("month", -1)), False)], counts.kpi()
    yield "reporting.bson_types", [], corners.bson_types()
    yield "reporting.texts", [], corners.texts()
    yield "insurance_2019.claims", [(((ID, 1),), False)], insurance_2019.claims()
    yield "insurance_2019.endorsements", [], insurance_2019.endorsements()
    yield "insurance_2019.quotes", [], insurance_2019.quotes()
    yield "insurance_2019.tariffs", [], insurance_2019.tariffs()
    yield "insurance_2019.customers", [], insurance_2019.customers()
    contracts_2019, history_2019 = insurance_2019.contracts(seconds)
    yield "insurance_2019.contracts", [], contracts_2019
    yield "insurance_2019.contracts_history", [UNIQUE_ID_VERSION], history_2019
    yield "insurance_2019.partners", [UNIQUE_ID_VERSION], insurance_2019.partners()
    feed, fed = insurance_2019.policy_feed()
    yield "insurance_2019.policy_feed", [], feed
    yield "insurance_2019.policy_feed_history", [UNIQUE_ID_VERSION], fed
    yield "insurance_2019.invoices", [], insurance_2019.invoices()
    yield "insurance_2019.counters", [], insurance_2019.counters()
    yield "insurance_2019.campaigns", [], insurance_2019.campaigns()
    yield "insurance_2019.stats", [], insurance_2019.stats()
    yield "insurance_2019.scans", [], corners.undecodable()
