"""The meaning of the driver's errors: whether a write was applied, and what people can do.

No sentence from here contains a password, whatever the address.
"""

from __future__ import annotations

import json
import os
import re
import traceback
import urllib.parse
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import bson.errors
import pymongo
import pymongo.uri_parser
from msgspec import Struct
from msgspec.structs import replace
from pymongo import errors as e

from model.errors import NotAllowed, Refused, TooMuch, Unreachable
from model.foundation.address import Address
from model.server.duplicate_key import DuplicateKey
from model.server.handshake import Elsewhere
from model.server.privileges import UNAUTHORIZED, lacks
from model.values.canonical import Value

Applied: TypeAlias = Literal["yes", "no", "unknown", "partial"]

SHORT = 4  # characters; a shorter password could be part of ordinary words
ATLAS = 8000  # gives the reason only in words
# Words of errors; compiled when an error comes.
_ANONYMOUS = "requires authentication|not authenticated"
_LOGGING_IN = "pymongo.synchronous.auth"  # the driver's login code, with a module for each mechanism
_UNKNOWN_OPTION = r"Unknown option\b"
_TIER = "atlas tier"  # limits of the service tier apply to every user


class Meaning(Struct, frozen=True):
    """What a driver's error means for a write."""

    applied: Applied
    retry: bool  # the guarded write may be sent once more unchanged
    sentence: str
    duplicate: DuplicateKey | None = None


_AWAY = Meaning("unknown", True, "The server stepped down or was shut down while the write was on its way.")
_GAVE_UP = Meaning("unknown", True, "The server gave up on the write without saying how it ended.")
_BROKEN = Meaning("unknown", False, "The server had an internal error and does not say how the write ended.")
_BUSY = Meaning("no", True, "The server is too busy for this write; try again in a moment.")
_TURNED_AWAY = Meaning("no", True, "The server did not take the write; try again.")
_IN_THE_WAY = Meaning("no", True, "Another write to the same document was in the way; try again.")
_TOO_LARGE = Meaning("no", False, "The document would be larger than the server's limit of 16 MB.")
_TOO_LONG = Meaning("no", False, "A value is too long for an index of this collection; shorten it or drop the index.")
_FULL = Meaning("no", False, "The server has no room left; free some, or raise the quota, and try again.")
_DENIED = Meaning("no", False, "This user may not write here; ask for the readWrite role or use another user.")
_LOGIN = Meaning("no", False, "The server does not accept this user name and password any more; connect again.")
_NO_USER = "The server only answers known users; name a user in the address, or on the page Login of the connection."
BREAKS_RULES = "The collection has rules for its documents, and this one does not meet them."
_INVALID = Meaning("no", False, BREAKS_RULES)
_VIEW = Meaning("no", False, "This is a view, and views cannot be written to; write to the collection behind it.")
_UNCONFIRMED = Meaning("unknown", True, "The server could not confirm the write as safely as the connection asks.")
_NUMBERED = Meaning(
    "no", False, "This server takes no retryable writes; add retryWrites=false to the address and connect again."
)
_DUPLICATE = Meaning("no", False, DuplicateKey().sentence, DuplicateKey())

CODES: Mapping[int, Meaning] = {
    # The server, or a router in front of it, gave up on a command that may have run, or still runs.
    6: _GAVE_UP,  # HostUnreachable
    7: _GAVE_UP,  # HostNotFound
    50: _GAVE_UP,  # MaxTimeMSExpired
    89: _GAVE_UP,  # NetworkTimeout
    91: _AWAY,  # ShutdownInProgress
    134: _GAVE_UP,  # ReadConcernMajorityNotAvailableYet
    189: _AWAY,  # PrimarySteppedDown
    202: _GAVE_UP,  # NetworkInterfaceExceededTimeLimit
    217: _GAVE_UP,  # IncompleteTransactionHistory: the server's own retry found that it has forgotten
    262: _GAVE_UP,  # ExceededTimeLimit
    317: _GAVE_UP,  # ConnectionPoolExpired
    384: _GAVE_UP,  # ConnectionError
    9001: _GAVE_UP,  # SocketException
    10058: _AWAY,  # LegacyNotPrimary
    10107: _AWAY,  # NotWritablePrimary
    11600: _AWAY,  # InterruptedAtShutdown
    11601: _GAVE_UP,  # Interrupted
    11602: _AWAY,  # InterruptedDueToReplStateChange
    13435: _AWAY,  # NotPrimaryNoSecondaryOk
    13436: _AWAY,  # NotPrimaryOrSecondary
    # The server failed during or after a write.
    1: _BROKEN,  # InternalError
    8: _BROKEN,  # UnknownError
    # A write concern failure that arrives as the command's own failure.
    64: _UNCONFIRMED,  # WriteConcernTimeout
    75: _UNCONFIRMED,  # WriteConcernLegacyOK
    79: _UNCONFIRMED,  # UnknownReplWriteConcern
    100: _UNCONFIRMED,  # UnsatisfiableWriteConcern
    # Rejected before anything was done.
    24: _BUSY,  # LockTimeout
    46: _BUSY,  # LockBusy
    112: _IN_THE_WAY,  # WriteConflict
    365: _BUSY,  # TemporarilyUnavailable
    462: _BUSY,  # IngressRequestRateLimitExceeded
    16500: _BUSY,  # TooManyRequests, of Azure Cosmos DB
    # Refused permanently.
    13: _DENIED,  # Unauthorized
    18: _LOGIN,  # AuthenticationFailed
    391: _LOGIN,  # ReauthenticationRequired
    121: _INVALID,  # DocumentValidationFailure
    166: _VIEW,  # CommandNotSupportedOnView
    10334: _TOO_LARGE,  # BSONObjectTooLarge
    17419: _TOO_LARGE,  # the document that an update would make
    17420: _TOO_LARGE,
    17280: _TOO_LONG,  # KeyTooLong, up to MongoDB 4.0 or with an old data format
    12501: _FULL,  # quota exceeded
    14031: _FULL,  # OutOfDiskSpace
    11000: _DUPLICATE,
    11001: _DUPLICATE,
    12582: _DUPLICATE,
}
"""What a server's error code means for a write; any other code is a refusal in the server's own words."""

_TOO_MUCH_FOR = (146, 292, 16819, 16820, 16945, 17144)  # names differ between servers; older ones have none
_NO_MEMORY = r"(?i)sort (operation used more|stage buffered)|exceeded memory limit"
_NOT_NUMBERED = r"(?i)retryable writes are not supported|not support retryable writes"
_NO_ROOM = r"(?i)space quota|quota exceeded|out of disk space|no space left"


def meaning(error: BaseException) -> Meaning:
    """The meaning of an error that ended a write; never raises."""
    # First of all: the label holds even for errors that would otherwise leave the write in doubt.
    if isinstance(error, e.PyMongoError) and error.has_error_label("NoWritesPerformed"):
        return _TURNED_AWAY
    # Before its base class, a lost connection: here no server was found, so nothing was sent.
    if isinstance(error, e.ServerSelectionTimeoutError):
        text = "No server that takes writes could be reached; check the connection and try again."
        return Meaning("no", False, text)
    if isinstance(error, e.WaitQueueTimeoutError):
        return Meaning("no", False, "All connections are busy; try again.")
    if isinstance(error, Elsewhere):
        return Meaning("no", False, str(error))
    if isinstance(error, e.NotPrimaryError):
        return _AWAY
    if isinstance(error, e.NetworkTimeout):
        return Meaning("unknown", True, "The server did not answer in time.")
    if isinstance(error, e.BulkWriteError | e.ClientBulkWriteException):
        return Meaning("partial", False, "Some of several writes were applied.")
    if isinstance(error, e.ConnectionFailure):
        return Meaning("unknown", True, "The connection was lost while the write was on its way.")
    if isinstance(error, e.ProtocolError | bson.errors.InvalidBSON):
        return Meaning("unknown", True, "The server's answer could not be read.")
    # The write itself was done; what failed is the wait for other members.
    if isinstance(error, e.WTimeoutError | e.WriteConcernError):
        return Meaning("yes", False, "Written, but not yet confirmed by enough servers: a fail-over may undo it.")
    if isinstance(error, e.OperationFailure):
        return _of_code(error)
    if isinstance(error, e.DocumentTooLarge):
        return _TOO_LARGE
    if isinstance(error, bson.errors.BSONError | e.ConfigurationError | e.InvalidOperation | e.InvalidName):
        return Meaning("no", False, f"This cannot be sent: {_plain(str(error))}.")
    if isinstance(error, e.CollectionInvalid | e.EncryptionError):
        return Meaning("no", False, f"This cannot be sent: {_plain(str(error))}.")
    return Meaning("unknown", True, f"The write ended in an unexpected {type(error).__name__}.")


def _of_code(error: e.OperationFailure) -> Meaning:
    code, text = error.code, said(error)
    if isinstance(error, e.DuplicateKeyError) or CODES.get(code or 0) is _DUPLICATE:
        key = DuplicateKey.told({"errmsg": text} | dict(error.details or {}))
        return replace(_DUPLICATE, sentence=key.sentence, duplicate=key)
    if isinstance(error, e.ExecutionTimeout):
        return _GAVE_UP
    # By its words, because hosted services give codes of their own for a full disk.
    if re.search(_NO_ROOM, text):
        return _FULL
    if re.search(_NOT_NUMBERED, text):
        return _NUMBERED
    if code == ATLAS:
        if "auth" in text.lower():
            return _LOGIN if "not authorized" not in text.lower() else _DENIED
        return _DENIED if is_denied(error) else Meaning("no", False, _refusal(text))
    if code == UNAUTHORIZED and _at_login(error):
        return _LOGIN
    # A server that gives no code has not said that it did nothing.
    if code is None:
        return _BROKEN
    return CODES.get(code) or Meaning("no", False, _refusal(text))


def _refusal(text: str) -> str:
    return f"The server refuses the write: {text}."


def said(error: e.OperationFailure) -> str:
    """The server's own words, without the reply that PyMongo appends."""
    details = error.details or {}
    own = details.get("errmsg") if isinstance(details, dict) else None
    return _plain(str(own or error).partition(", full error:")[0])


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".")[:300]


# --- sentences for people


def host_of(uri: str) -> str:
    """The hosts of an address, for a sentence; without user, password and options."""
    address = Address.parse(uri)
    hosts = "" if address is None else urllib.parse.unquote(address.hosts)
    return hosts if len(hosts) <= 120 else hosts[:119] + "…"


def without_password(text: str, uri: str) -> str:
    """The text with an address's password replaced, however it is written; a short password only as a whole word."""
    address = Address.parse(uri)
    # The longest first: a shorter form may be part of a longer one, the rest of which would stay.
    for secret in sorted(address.secrets if address else (), key=len, reverse=True):
        if len(secret) < SHORT:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "…", text)
        else:
            text = text.replace(secret, "…")
    return text


def cannot_connect(error: Exception, uri: str) -> Refused:
    """Why there is no connection, as an error whose sentence says what to do."""
    return _no_secret(_connecting(error, uri), uri)


def _connecting(error: Exception, uri: str) -> Refused:
    text, host = str(error), host_of(uri)
    if isinstance(error, Elsewhere):
        return Unreachable(text)
    if told := next((said for words, said in _LOGINS if re.search(words, text)), ""):
        return Unreachable(told)
    if isinstance(error, e.InvalidURI | ValueError | TypeError):
        return _written_wrongly(text, uri)
    if isinstance(error, e.OperationFailure):
        return _turned_away(error, host, uri)
    if isinstance(error, e.ProtocolError | bson.errors.BSONError):
        return Unreachable(f"What answers at {host} is not a MongoDB server; check host and port.")
    if isinstance(error, e.ServerSelectionTimeoutError | e.AutoReconnect):
        return _no_server(text, host, secured=bool(re.search("(tls|ssl)=true", uri.lower())))
    if isinstance(error, OSError) and (file := error.filename or _certificate_named(text, uri)):
        reason = (os.strerror(error.errno) if error.errno else "") or type(error).__name__
        return Unreachable(f"The certificate file {file} cannot be read ({reason}); check its path and rights.")
    if isinstance(error, e.ConfigurationError | OSError):
        return _configured_wrongly(text, host, uri)
    return Unreachable(f"There is no connection to {host}: {_plain(text)}.")


def _written_wrongly(text: str, uri: str) -> Unreachable:
    """Why the driver cannot read an address."""
    # The driver may quote part of a badly written password that it mistook for a port.
    user = uri.partition("://")[2].rpartition("@")[0]
    if user and ("RFC 3986" in text or user.count(":") > 1 or set(user) & set("/?#[]@")):
        return Unreachable("Percent-encode user name and password in the address: @ is %40, : is %3A, / is %2F.")
    if "Port" in text:
        return Unreachable("The port in the address is not a number from 1 to 65535; write it as host:27017.")
    if option := re.search(r"\b([a-z]{3,}) must be", text, re.IGNORECASE):
        name = option.group(1)
        return Unreachable(f"The address has an option with a wrong value: {name}; correct or remove it.")
    return Unreachable(
        "This is not a MongoDB address; write mongodb://user:password@host:27017/, or mongodb+srv:// for a cluster."
    )


def _turned_away(error: e.OperationFailure, host: str, uri: str) -> Refused:
    """Why a server that was reached lets nobody in."""
    if error.code in (18, ATLAS) or ("auth" in str(error).lower() and error.code != UNAUTHORIZED):
        return Unreachable(f"{host} does not accept this user name and password; check both, and authSource.")
    if error.code == UNAUTHORIZED and "@" in uri.partition("://")[2].partition("/")[0]:
        # This step needs no privileges, so "not authorized" means a failed login on some servers.
        return Unreachable(f"{host} does not accept this user name and password; check both, and authSource.")
    if error.code == UNAUTHORIZED:
        return NotAllowed(f"{host} wants a user name and password for this, or another user.")
    return Unreachable(f"{host} answers with an error: {said(error)}.")


def _no_server(text: str, host: str, secured: bool = False) -> Unreachable:
    """Why no server answers, by the first of these words that the driver says."""
    low = re.sub(r"\(configured timeouts:[^)]*\)", "", text.partition(", Timeout:")[0]).lower()
    if "no such file" in low or "errno 2]" in low:
        return Unreachable(f"There is no socket {host}; check the path, and that a server runs there.")
    if secured and "certificate" not in low and re.search(f"{_SILENT}|closed", low):
        return Unreachable(f"{host} does not answer over TLS; check the address, and whether it wants tls=true.")
    if re.search("certificate|ssl|tls", low):
        return Unreachable(tls_trouble(low, host))
    by_words = (
        (
            "name or service not known|getaddrinfo|nodename nor|name resolution",
            f"There is no host {host}: the name is not known; check its spelling and the network.",
        ),
        ("refused", f"{host} refuses the connection; check the port, and that a server runs there."),
        (
            r"(?s)\A(?!.*timed out).*replica set",
            f"{host} does not belong to the replica set that the address names; check replicaSet.",
        ),
        (_SILENT, f"{host} does not answer in time; check the address, the network and firewalls."),
        (
            "greeting: ",
            f"What {host} says of itself could not be read; check the port, and that a MongoDB server runs there.",
        ),
        (
            "got response id|message length|opcode",
            f"What answers at {host} is not a MongoDB server; check host and port.",
        ),
        (
            "connection closed|reset",
            f"{host} closes the connection; it may want TLS (tls=true), or not be a MongoDB server.",
        ),
        ("", f"No server answers at {host}; check the address, and that a server runs there."),
    )
    return Unreachable(next(said for words, said in by_words if re.search(words, low)))


_SILENT = "timed out|no servers found yet"


_PACKAGE = "This way of logging in needs another package; install it by pip install 'palimpsest-inspector[{}]'."
_LOGINS = (
    ("authentication source must be", "With this authMechanism leave authSource out, or write $external."),
    ("requires a username", "This way of logging in needs a user; name it in the address."),
    (
        "[Pp]asswords? (is|are) not supported",
        "This way of logging in uses no password; remove it from the address.",
    ),
    ("username without a password", "An access key of AWS needs its secret key; give that as the password."),
    (
        "either a callback or a environment|unrecognized ENVIRONMENT",
        "OpenID Connect needs the ENVIRONMENT that gives the token: azure, gcp or k8s.",
    ),
    ("requires a TOKEN_RESOURCE", "OpenID Connect needs a TOKEN_RESOURCE there: the audience that the token is for."),
    ("pymongo-auth-aws|pymongo_auth_aws", _PACKAGE.format("aws")),
    ("(?i)kerberos.*must be installed", _PACKAGE.format("kerberos")),
    (
        "Private key doesn't match",
        "The client certificate cannot be used: the password of its key is wrong, or the file lacks one of the two.",
    ),
    ("no certificate or crl found", "The authority's file holds no certificate; check tlsCAFile in the address."),
)
"""Why a login cannot even start, by the driver's words."""

_TLS = (
    ("certificate has expired|certificate expired", "its certificate has expired; whoever runs it has to renew it"),
    ("not yet valid", "its certificate is not valid yet; check the clock of this computer"),
    (
        "hostname mismatch|ip address mismatch|doesn't match|not valid for",
        "its certificate is for another name; use that name in the address",
    ),
    (
        "self-signed|self signed|unable to get local issuer|unable to get issuer",
        "its certificate is signed by an authority that is not known here; name the authority's file as tlsCAFile",
    ),
    ("certificate required|peer did not return", "it wants a client certificate; name it as tlsCertificateKeyFile"),
    ("unknown ca|bad certificate|certificate unknown|unknown_ca", "it does not take the client certificate"),
    (
        "wrong version number|record layer|unknown protocol",
        "it does not speak TLS there; check the port, or take TLS out",
    ),
    (
        "eof occurred|unexpected eof|closed|reset",
        "it ends TLS in the middle; it may not speak TLS, or want a client certificate",
    ),
    ("timed out", "it does not answer over TLS in time; check the port"),
)


_FOR_GOOD = (
    r"(?i)certificate verify failed|hostname mismatch|doesn't match|certificate (has )?expired|wrong version number"
    r"|certificate required|unknown ca|bad certificate|certificate unknown"
)
"""TLS errors that no second try resolves; a restarting or busy server never causes them."""


def refuses_for_good(error: BaseException | None) -> bool:
    """Whether a host will give this answer to every greeting, because user or method is wrong."""
    if isinstance(error, e.OperationFailure):
        return _of_code(error) in (_DENIED, _LOGIN)
    return isinstance(error, e.AutoReconnect) and re.search(_FOR_GOOD, str(error)) is not None


def tls_trouble(text: str, host: str) -> str:
    """Why TLS with a host fails, one sentence made from an error's words."""
    low = text.lower()
    reason = next((said for words, said in _TLS if re.search(words, low)), "")
    if not reason and "certificate" in low:
        reason = "its certificate is not trusted; check tlsCAFile in the address"
    return f"{host} cannot be reached safely: {reason or 'TLS failed; check tls and tlsCAFile in the address'}."


def _certificate_named(text: str, uri: str) -> str:
    """The file that an error is about; the driver names only the option of the address."""
    option, address = re.search(r"The (\w+) file is not readable", text), Address.parse(uri)
    return address.option(option.group(1)) if option is not None and address is not None else ""


def _unknown_option(uri: str) -> str:
    """The first option of an address that the driver does not know; "" if none. Newer drivers do not name it."""
    address = Address.parse(uri)
    for piece in address.options if address is not None else ():
        try:
            pymongo.uri_parser.split_options(piece, True, False)
        except Exception as error:  # a wrong value or a wrong combination is another matter
            if re.search(_UNKNOWN_OPTION, str(error)):
                return piece.partition("=")[0]
    return ""


def _configured_wrongly(text: str, host: str, uri: str) -> Unreachable:
    if re.search(_UNKNOWN_OPTION, text) and (option := _unknown_option(uri)):
        return Unreachable(f"The address has an option that is wrong: {option}; correct or remove it.")
    low = text.lower()
    if "dns" in low or "srv" in low or "resolution" in low:
        return Unreachable(f"{host} is not known to DNS as a MongoDB cluster; check the name and the network.")
    if "wire version" in low:
        return Unreachable(_of_another_time(text, host))
    if "certificate" in low or "tls" in low or "ssl" in low or "no such file" in low or "private key" in low:
        return Unreachable(
            "A certificate file cannot be used; check tlsCAFile and tlsCertificateKeyFile in the address."
        )
    return Unreachable("The options of the address do not fit together; check what follows the ? in it.")


def _of_another_time(text: str, host: str) -> str:
    """Why server and driver share no version of the protocol, and what helps."""
    driver = f"PyMongo {pymongo.version}, the driver of this program"
    if found := re.search(r"wire version (\d+).*requires at least (\d+) \(MongoDB ([\d.]+)\)", text):
        speaks, needed, oldest = found.groups()
        return (
            f"{host} is too old for {driver}: it speaks version {speaks} of the protocol, and version {needed} is "
            f"needed, that of MongoDB {oldest}; PyMongo 4.11 still speaks to MongoDB 4.0 and what is like it."
        )
    return f"{host} is too new for {driver}; update PyMongo."


def cannot_read(error: Exception, uri: str, command: str, place: str, index: str = "") -> Refused:
    """Why a read failed, as the error to raise; ``index`` is the index that would help."""
    return _no_secret(_reading(error, uri, command, place, index), uri)


def _in_time(place: str, index: str) -> str:
    if not index:
        return f"The query of {place} took longer than allowed; ask for less."
    return f"The query of {place} took longer than allowed; create the index {index} there, or ask for less."


def _in_memory(place: str, index: str) -> str:
    if not index:
        return f"The server does not have the memory to sort that much of {place}; ask for less."
    return (
        f"The server does not have the memory to sort that much of {place}; "
        f"create the index {index} there, or ask for less."
    )


def index_for(command: Mapping[str, Any]) -> str:
    """The index that would help a find or an aggregation, in shell notation; "" if ``_id`` is enough."""
    filter, sort = _picked_and_sorted(command)
    equal = [name for name, term in filter.items() if not isinstance(term, Mapping) or {"$eq", "$in"} & term.keys()]
    names = dict.fromkeys([*(name for name in equal if name not in sort), *sort, *filter])
    ways = {name: -1 if _is_down(sort.get(name)) else 1 for name in names if not name.startswith("$")}
    if list(ways)[:1] in ([], ["_id"]):
        return ""
    shown = (name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name, ensure_ascii=False) for name in ways)
    return "{" + ", ".join(f"{name}: {way}" for name, way in zip(shown, ways.values(), strict=True)) + "}"


def _picked_and_sorted(command: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The filter and the order of a find or an aggregation; a group reads its documents in the order of its key."""
    filter, sort = dict(command.get("filter") or {}), dict(command.get("sort") or {})
    for stage in command.get("pipeline") or ():
        if "$match" in stage:
            filter |= stage["$match"]
            continue
        grouped = stage.get("$group", {}).get("_id")
        by = grouped.values() if isinstance(grouped, Mapping) else [grouped]
        sort = dict(stage.get("$sort") or {each[1:]: 1 for each in by if isinstance(each, str) and each[:1] == "$"})
        break
    return filter, sort


def _is_down(way: Any) -> bool:
    return str(way.python() if isinstance(way, Value) else way) == "-1"


def cannot_write(error: Exception, command: str, place: str) -> str:
    """Why somebody may not write, one sentence; "" for any other error."""
    return _denied(error, command, place) if is_denied(error) else ""


def is_denied(error: BaseException) -> bool:
    """Whether the server knows the user but denies this; Atlas says so only in words."""
    if not isinstance(error, e.OperationFailure):
        return False
    text = said(error).lower()
    if error.code == ATLAS:
        return "not authorized" in text or ("not allowed" in text and _TIER not in text)
    return error.code == UNAUTHORIZED and not _at_login(error)


def _at_login(error: e.OperationFailure) -> bool:
    """Whether a connection's login failed, rather than the command for which it was opened.

    Some servers answer a wrong password with the code for a missing privilege.
    """
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(frame.f_globals.get("__name__", "").startswith(_LOGGING_IN) for frame in frames)


def _denied(error: BaseException, command: str, place: str) -> str:
    return _NO_USER if re.search(_ANONYMOUS, str(error)) else lacks(command, place)


def _reading(error: Exception, uri: str, command: str, place: str, index: str) -> Refused:
    host = host_of(uri)
    if isinstance(error, Elsewhere):
        return Unreachable(str(error))
    if isinstance(error, e.ServerSelectionTimeoutError):
        return _no_server(str(error), host)
    if isinstance(error, e.NetworkTimeout):
        return Unreachable(f"{host} did not answer in time; try again.")
    if isinstance(error, e.ConnectionFailure):
        return Unreachable(f"The connection to {host} was lost; try again.")
    if isinstance(error, e.CursorNotFound):
        return Refused("The server closed the query in the meantime; run it again.")
    if isinstance(error, e.OperationFailure):
        if is_denied(error):
            return NotAllowed(_denied(error, command, place))
        if isinstance(error, e.ExecutionTimeout) or error.code == 50:
            return TooMuch(_in_time(place, index))
        if error.code in _TOO_MUCH_FOR or re.search(_NO_MEMORY, said(error)):
            return TooMuch(_in_memory(place, index))
        known = _of_code(error)
        if known is _LOGIN:
            return Unreachable(f"{host} does not accept this user name and password any more; connect again.")
        if known is _FULL:
            return Refused(known.sentence)
        if known in (_AWAY, _GAVE_UP, _BUSY, _IN_THE_WAY):
            how = "is too busy" if known in (_BUSY, _IN_THE_WAY) else "is changing over or shutting down"
            return Unreachable(f"{host} {how}; try again in a moment.")
        return Refused(f"The server does not accept the query: {said(error)}.")
    refused_here = isinstance(error, bson.errors.BSONError | e.PyMongoError | OverflowError)
    if refused_here and not isinstance(error, bson.errors.InvalidBSON | e.ProtocolError):
        return Refused(f"The query cannot be sent: {_plain(str(error))}.")
    return Unreachable(f"The answer of {host} could not be read; try again.")


def _no_secret(error: Refused, uri: str) -> Refused:
    return type(error)(without_password(str(error), uri))
