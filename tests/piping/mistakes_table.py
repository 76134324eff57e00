"""The nine mistakes, and where each keeps versions."""

KEEPS = {
    "duplicate-is-success": "versions",
    "flagged": "flagged",
    "embedded": "embedded",
    "current-first": "archive",
    "archive-inserted": "archive",
    "archive-set": "archive",
    "raised-twice": "plain",
    "two-steps": "pending",
    "replaced": "plain",
}
