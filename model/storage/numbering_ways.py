"""Descriptions of the ways to number versions, for people."""

from __future__ import annotations

WAYS = {
    "next": "One above the version that was read; only one writer can have it, and whoever else tried is told of a "
    "conflict. There are no gaps, so that a loss shows. The number of a version that is deleted at the top is given "
    "again.",
    "loop": "One above the version that was read, and read and tried again where somebody was faster. There are no "
    "gaps, and an edit of some fields meets no conflict; of two that set the same field the later one stays.",
    "counter": "Each number is handed out once by a counter, even after a delete. A writer that loses or dies leaves a "
    "gap; unless versions are marked with the number of the next one, a version which is lost looks like that too.",
    "time": "The clock of whoever writes, in milliseconds, and always later than the version read. It tells when, and "
    "not how many: a version that is lost does not show. A clock that is ahead draws all later versions ahead with it.",
}
"""What each way of numbering guarantees and what it cannot, for people."""
