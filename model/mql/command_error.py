"""The errors with which a server answers a command: code, name and message as in MongoDB."""

from __future__ import annotations

from typing import Any

NAMES = {
    2: "BadValue",
    9: "FailedToParse",
    13: "Unauthorized",
    14: "TypeMismatch",
    20: "IllegalOperation",
    22: "InvalidBSON",
    26: "NamespaceNotFound",
    27: "IndexNotFound",
    28: "PathNotViable",
    40: "ConflictingUpdateOperators",
    43: "CursorNotFound",
    47: "NoMatchingDocument",
    48: "NamespaceExists",
    50: "MaxTimeMSExpired",
    52: "DollarPrefixedFieldName",
    53: "InvalidIdField",
    56: "EmptyFieldName",
    59: "CommandNotFound",
    66: "ImmutableField",
    67: "CannotCreateIndex",
    68: "IndexAlreadyExists",
    72: "InvalidOptions",
    73: "InvalidNamespace",
    76: "NoReplicationEnabled",
    85: "IndexOptionsConflict",
    86: "IndexKeySpecsConflict",
    115: "CommandNotSupported",
    168: "InvalidPipelineOperator",
    225: "TransactionTooOld",
    238: "NotImplemented",
    260: "InvalidResumeToken",
    280: "ChangeStreamFatalError",
    286: "ChangeStreamHistoryLost",
    352: "UnsupportedOpQueryCommand",
    10334: "BSONObjectTooLarge",
    11000: "DuplicateKey",
}


class CommandError(Exception):
    """A command, or one of its writes, has failed; ``extra`` goes into the reply besides code and message."""

    def __init__(self, code: int, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.extra = extra

    @property
    def name(self) -> str:
        """The code's name as drivers show it."""
        return NAMES.get(self.code, f"Location{self.code}")
