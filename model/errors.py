"""The errors that a person can act on; everything else that escapes is a bug.

::

    Exception
    ├── Refused                 one sentence: the fault and what to do about it
    │   ├── Unreachable         no connection: wrong address, time-out, TLS, credentials
    │   │   └── InDoubt         something was sent, and nobody knows whether it was done
    │   ├── NotAllowed          the server knows the user and says no; or the session is read-only
    │   ├── NotFound            an id, a version, a collection that is not there
    │   ├── TooMuch             the server gave up a query for its time or its memory; an index helps
    │   └── Unreadable          bytes that are no BSON, text that is no Extended JSON
    └── Cancelled               the person asked to stop; never shown as a failure
"""

from __future__ import annotations


class Refused(Exception):
    """The person can act on it: ``str()`` is one plain sentence that says what to do."""


class Unreachable(Refused):
    """The server could not be reached, or did not let us in."""


class InDoubt(Unreachable):
    """A write was sent, and nobody knows whether it was done or still will be."""


class NotAllowed(Refused):
    """Reading or writing is not permitted here."""


class NotFound(Refused):
    """A document, version, collection or file that was asked for is not there."""


class TooMuch(Refused):
    """A query took more time or memory than the server gives it."""


OF_CIRCUMSTANCE = (NotAllowed, TooMuch, Unreachable)
"""The refusals that do not say whether a server knows what it was asked for, so that nobody asks it in another way."""


class Unreadable(Refused):
    """Bytes that are no BSON, or text that is no Extended JSON."""


class Cancelled(Exception):
    """Raised out of a checkpoint once the person has asked to stop."""
