"""Moments as people write them, in the zone in which they are shown."""

from __future__ import annotations

import datetime as dt

from model.text.moments import Moment, moment_from_text


def test_a_time_without_a_zone_is_taken_in_the_one_named_which_is_said() -> None:
    now = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
    summer = moment_from_text("2026-07-01 12:00", now, "Europe/Berlin")
    assert summer == Moment(
        dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC),
        "2026-07-01 12:00 has no zone and is taken as 2026-07-01 12:00:00 Europe/Berlin.",
    )
    assert moment_from_text("2026-11-01", now, "Europe/Berlin").at == dt.datetime(2026, 10, 31, 23, tzinfo=dt.UTC)
    assert moment_from_text("2026-07-01T12:00Z", now, "Europe/Berlin") == Moment(
        dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    )
