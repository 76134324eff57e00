"""MongoDB addresses, taken apart as the driver does it, with the secret parts marked.

Only what is asked for changes: all other options, known or not, keep their order and spelling. The parts stay
percent-encoded as they came; methods take and return plain text, decoded as by the driver: ``+`` is a blank.

Palimpsest adds one option of its own: ``ssh=user@host`` connects through another computer. It is part of the address
so that two servers with the same name, each behind another computer, are not mistaken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote_plus

from msgspec import Struct
from msgspec.structs import replace

DOTS = "••••"
"""Shown in place of a secret that is present."""

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<rest>.*)", re.DOTALL)
_PROPERTIES = "authmechanismproperties"
_OPEN_PROPERTIES = frozenset(
    (
        *("SERVICE_NAME", "SERVICE_REALM", "SERVICE_HOST", "CANONICALIZE_HOST_NAME"),
        *("ENVIRONMENT", "TOKEN_RESOURCE", "ALLOWED_HOSTS"),
    )
)
_HERE = ("localhost", "127.0.0.1", "[::1]")
_REPEATED = "readpreferencetags"  # the one option that may stand in an address several times
_WITHOUT_PASSWORD = frozenset(("MONGODB-X509", "MONGODB-OIDC", "GSSAPI"))
_HOLDS_AT = re.compile(r"(appName|ssh|auth\w*|replicaSet|proxy\w+|tls\w+|ssl\w+|readPreferenceTags)=", re.IGNORECASE)
_SSH_PASSWORD = re.compile(r"(?<=:).*(?=@)", re.DOTALL)  # ssh takes none, but somebody may write one
_PLACEHOLDER = re.compile(r"<(?:your[ _-]?)?(?:db[ _-]?)?(user(?:[ _-]?name)?|pass(?:word)?)>", re.IGNORECASE)
_NOT_IN_HOSTS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\"<>\\^`{|}]")


_QUOTES = {
    '"': '"',
    "'": "'",
    "`": "`",
    "<": ">",
    "\u201c": "\u201d",
    "\u201e": "\u201c",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
}


def unquoted(text: str) -> str:
    """An address without the blanks and quotes around it that came along when it was copied; other text as it is."""
    bare = text.strip()
    if len(bare) > 2 and _QUOTES.get(bare[0]) == bare[-1] and _URI.fullmatch(bare[1:-1].strip()):
        return bare[1:-1].strip()
    return text


class Address(Struct, frozen=True):
    """An address; made by :meth:`parse`, turned into text by ``str``."""

    scheme: str
    user: str | None  # these four as they were written
    password: str | None
    hosts: str
    path: str  # from the "/" behind the hosts on, "" without one
    options: tuple[str, ...]
    separator: str = "&"  # or ";"

    @classmethod
    def parse(cls, text: str) -> Address | None:
        """Take an address apart; None if it has no scheme, such as a path or ``sample:``.

        People paste passwords with any character. If that makes the address ambiguous, the reading that hides more is
        taken, and :meth:`trouble` says that the driver would read it otherwise.
        """
        match = _URI.fullmatch(unquoted(text))
        if match is None:
            return None
        rest = match["rest"]
        head, mark, options = rest.partition("?")
        if "@" in options and not _divides(head, options):
            # A "?" within an unescaped user or password: everything up to the last "@" is the user's.
            before, _, after = rest.rpartition("@")
            head, mark, options = after.partition("?")
            head = f"{before}@{head}"
        user: str | None = None
        password: str | None = None
        hosts = head
        if "@" in head:
            who, _, hosts = head.rpartition("@")
            user, colon, secret = who.partition(":")
            password = secret if colon else None
        names, slash, path = hosts.partition("/")
        separator = ";" if ";" in options and "&" not in options else "&"
        pieces = tuple(options.split(separator)) if mark else ()
        return cls(match["scheme"], user, password, names, slash + path, pieces, separator)

    def __str__(self) -> str:
        secret = "" if self.password is None else f":{self.password}"
        who = "" if self.user is None else f"{self.user}{secret}@"
        mark = "?" if self.options else ""
        return f"{self.scheme}{who}{self.hosts}{self.path}{mark}{self.separator.join(self.options)}"

    def __repr__(self) -> str:
        return f"Address({str(self.without_secrets())!r})"  # it may end up in a log

    # --- parts as plain text

    @property
    def by_dns(self) -> bool:
        """Whether the hosts come from DNS (``mongodb+srv://``), which implies TLS."""
        return self.scheme.lower() == "mongodb+srv://"

    @property
    def is_near(self) -> bool:
        """Whether all hosts are this computer."""
        names = [re.sub(r":\d*$", "", host) for host in self.hosts.split(",")]
        return (
            not self.by_dns
            and not self.option("ssh")
            and all(n in _HERE or unquote_plus(n).startswith("/") for n in names)
        )

    @property
    def user_name(self) -> str:
        """The user; "" if there is none."""
        return unquote_plus(self.user or "")

    @property
    def password_text(self) -> str:
        """The password; "" if there is none."""
        return unquote_plus(self.password or "")

    @property
    def database(self) -> str:
        """The database in the address; "" if there is none."""
        return unquote_plus(self.path[1:]).partition(".")[0]

    def option(self, name: str) -> str:
        """The value of an option, in any case; "" if it is missing. Of several, the last one counts, as for the
        driver.
        """
        found = [value for key, value in self._pairs() if key.lower() == name.lower()]
        return unquote_plus(found[-1]) if found else ""

    def mechanism_property(self, name: str) -> str:
        """A value in ``authMechanismProperties``; "" if it is missing."""
        return next((value for key, value in _properties(self.option(_PROPERTIES)) if key == name), "")

    @property
    def mechanism(self) -> str:
        """The authentication mechanism in the address; "" lets driver and server choose one."""
        return self.option("authMechanism").upper()

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted: stated, or implied by the scheme or by an option for TLS."""
        said = self.option("tls") or self.option("ssl")
        if said:
            return said == "true"
        if self.by_dns or any(self.option(n) for n in ("tlsCertificateKeyFile", "tlsCAFile", "tlsCRLFile")):
            return True
        return any(self.option(n) == "false" for n in ("tlsAllowInvalidCertificates", "tlsAllowInvalidHostnames"))

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for piece in self.options:
            name, equals, value = piece.partition("=")
            if equals:
                yield name, value

    # --- with another part

    def with_user(self, name: str) -> Address:
        """A copy for another user; "" removes the user and the password."""
        user = quote(name, safe="") if name else None
        return replace(self, user=user, password=self.password if name else None)

    def with_password(self, password: str | None) -> Address:
        """A copy with another password; None removes it."""
        return replace(self, password=None if password is None else quote(password, safe=""))

    def with_option(self, name: str, value: str) -> Address:
        """A copy with another value of an option, in its place or at the end; "" removes the option."""
        return self._with_piece(name, f"{name}={quote(value, safe='/:,$')}" if value else "")

    def without_ssh(self) -> Address:
        """A copy for the driver, without the option ``ssh``, which only Palimpsest knows."""
        return self._with_piece("ssh", "")

    def with_mechanism_property(self, name: str, value: str) -> Address:
        """A copy with another value in ``authMechanismProperties``; "" removes it."""
        pairs = [(key, was) for key, was in _properties(self.option(_PROPERTIES)) if key != name]
        return self._with_properties([*pairs, (name, value)] if value else pairs)

    def with_tls(self, on: bool) -> Address:
        """A copy with or without TLS, stated only if the address would imply the opposite."""
        other = self._with_piece("ssl", "")._with_piece("tls", "")
        if not on:  # the driver takes no other option for TLS beside that
            for name in ("CAFile", "CRLFile", "CertificateKeyFile", "CertificateKeyFilePassword"):
                other = other.with_option(f"tls{name}", "")
            for name in ("AllowInvalidCertificates", "AllowInvalidHostnames", "Insecure"):
                other = other.with_option(f"tls{name}", "")
        return other if other.uses_tls == on else other.with_option("tls", "true" if on else "false")

    def _with_properties(self, pairs: list[tuple[str, str]]) -> Address:
        # A comma inside a value would end it, however it is written: the driver decodes before it divides.
        text = ",".join(f"{key}:{value}" for key, value in pairs)
        name = next((key for key, _ in self._pairs() if key.lower() == _PROPERTIES), "authMechanismProperties")
        return self._with_piece(name, f"{name}={quote(text, safe='/:,$')}" if text else "")

    def _with_piece(self, name: str, piece: str) -> Address:
        kept: list[str] = []
        placed = not piece
        for old in self.options:
            if old.partition("=")[0].lower() != name.lower():
                kept.append(old)
            elif not placed:
                placed = True
                kept.append(piece)
        if not placed:
            kept = [*filter(None, kept), piece]
        return replace(self, options=tuple(kept), path=self.path or ("/" if kept else ""))

    # --- secrets

    def without_secrets(self) -> Address:
        """A copy to show and to store: no password, no secret option."""
        return self._without("")

    def masked(self) -> Address:
        """A copy to show in an input field: dots in place of each secret."""
        return self._without(DOTS)

    def _without(self, instead: str) -> Address:
        other = replace(self, password=None if self.password is None or not instead else instead)
        for name, value in self._pairs():
            if name.lower() == _PROPERTIES:
                pairs = _properties(unquote_plus(value))
                if all(_is_open(key) for key, _ in pairs):
                    continue
                hidden = [(key, was if _is_open(key) else instead) for key, was in pairs]
                text = ",".join(f"{key}:{was}" for key, was in hidden if was)
                other = other._with_piece(name, f"{name}={quote(text, safe=f'/:,${DOTS}')}" if text else "")
            elif _is_secret(name):
                other = other._with_piece(name, f"{name}={instead}" if instead else "")
            elif name.lower() == "ssh" and (written := _SSH_PASSWORD.search(text := unquote_plus(value))):
                text = text.replace(f":{written[0]}@", f":{instead}@" if instead else "@")
                other = other._with_piece(name, f"{name}={quote(text, safe=f'/:,$@{DOTS}')}")
        return other

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secrets in the address, as written and as plain text."""
        found = [] if self.password is None else [self.password]
        for name, value in self._pairs():
            if name.lower() == _PROPERTIES:
                found += [was for key, was in _properties(unquote_plus(value)) if not _is_open(key)]
                found += [was for key, was in _properties(value) if not _is_open(key)]
            elif _is_secret(name):
                found.append(value)
            elif name.lower() == "ssh":
                found += [each[0] for text in (value, unquote_plus(value)) if (each := _SSH_PASSWORD.search(text))]
        return tuple(dict.fromkeys(each for one in found for each in (one, unquote_plus(one)) if each))

    def unmasked(self, known: Address | None) -> Address:
        """A copy with the secrets of ``known`` in place of dots; dots that ``known`` cannot fill are removed."""
        other = self
        if self.password is not None and set(self.password) == {DOTS[0]}:
            there = known is not None and self.password == DOTS
            other = replace(other, password=known.password if known is not None and there else None)
        for name, value in self._pairs():
            was = "" if known is None else known.option(name)
            if name.lower() == _PROPERTIES and DOTS[0] in (text := unquote_plus(value)):
                before = dict(_properties(was))
                pairs = [(key, before.get(key, "") if told == DOTS else told) for key, told in _properties(text)]
                other = other._with_properties([(key, told) for key, told in pairs if told and DOTS[0] not in told])
            elif _is_secret(name) and value and set(unquote_plus(value)) == {DOTS[0]}:
                other = other.with_option(name, was if unquote_plus(value) == DOTS else "")
        return other

    def completed(self, known: Address) -> Address:
        """A copy that takes missing secrets from ``known``, an address that differs only in these; its own secrets
        stay.
        """
        other = known if self.password is None else replace(known, password=self.password)
        for name, value in self._pairs():
            if _is_secret(name):
                other = other.with_option(name, unquote_plus(value))
        for key, value in _properties(self.option(_PROPERTIES)):
            if not _is_open(key):
                other = other.with_mechanism_property(key, value)
        return other

    @property
    def lacks_password(self) -> bool:
        """Whether it names a user but no password, and its mechanism needs one."""
        return bool(self.user) and self.password is None and self.mechanism not in _WITHOUT_PASSWORD

    @property
    def may_lack_secrets(self) -> bool:
        """Whether secrets may have been removed from it: a password, a key's password, a session token."""
        named = self.lacks_password or (bool(self.user) and self.password is None and self.mechanism == "GSSAPI")
        aws = self.mechanism == "MONGODB-AWS" and bool(self.user)
        keyed = self.option("tlsCertificateKeyFile") and not self.option("tlsCertificateKeyFilePassword")
        proxied = self.option("proxyUsername") and not self.option("proxyPassword")
        return named or (aws and not self.mechanism_property("AWS_SESSION_TOKEN")) or bool(keyed or proxied)

    # --- what is wrong with it

    def trouble(self) -> str:
        """Why the driver would not read it as intended, one sentence; "" if nothing is wrong."""
        name, password = self.user_name, self.password_text
        if _PLACEHOLDER.fullmatch(name):
            return f"{name} is a placeholder of Atlas: put a database user's name in its place, without < and >."
        if _PLACEHOLDER.fullmatch(password):
            return f"{password} is a placeholder of Atlas: put the user's password in its place, without < and >."
        if (blank := _NOT_IN_HOSTS.search(self.hosts)) or not self.hosts.strip(","):
            if blank is None:
                return "The address names no host; write mongodb://host:27017/."
            sign = "a blank" if blank[0].isspace() else f"the character {blank[0]!r}"
            return f"The host name in the address has {sign} in it; write it as in mongodb://host:27017/."
        head = str(replace(self, options=())).removeprefix(self.scheme)
        if "@" in head.partition("/")[2] or ("?" in (self.password or "")) or "?" in (self.user or ""):
            return "Percent-encode user, password and database in the address: @ is %40, : is %3A, / is %2F, ? is %3F."
        if any(";" in piece for piece in self.options):
            return "The options of the address are divided by & and by ; as well; use & alone, and write %3B for a ;."
        if not all(key and value for key, value in _properties(self.option(_PROPERTIES))):
            return "authMechanismProperties in the address are NAME:value, divided by commas; no value can hold one."
        seen: dict[str, str] = {}
        for name, value in self._pairs():
            if seen.setdefault(name.lower(), value) != value and name.lower() != _REPEATED:
                return f"The address gives {name} twice, with two values; remove one of them."
        return ""

    def without_repeats(self) -> Address:
        """A copy in which no option is given twice with one value, of which the driver would warn on the terminal."""
        kept: dict[tuple[str, str], str] = {}
        for at, piece in enumerate(self.options):
            name, _, value = piece.partition("=")
            kept.setdefault((name.lower(), value if name.lower() != _REPEATED else str(at)), piece)
        return replace(self, options=tuple(kept.values()))


def _divides(head: str, options: str) -> bool:
    """Whether a "?" separates hosts and options; it is part of a password if an "@" follows."""
    if "@" not in head and "/" not in head and ":" in head + options.rpartition("@")[0]:
        return False
    hosts = head.rpartition("@")[2].partition("/")[0]
    if not hosts or _NOT_IN_HOSTS.search(hosts) or "@" in head.partition("/")[2]:
        return False
    return all(_HOLDS_AT.match(piece) for piece in re.split("[&;]", options) if "@" in piece)


def _is_secret(option: str) -> bool:
    low = option.lower()
    return "password" in low or "passphrase" in low


def _is_open(key: str) -> bool:
    return key in _OPEN_PROPERTIES


def _properties(text: str) -> list[tuple[str, str]]:
    pairs = (part.partition(":") for part in text.split(",") if part)
    return [(key, value) for key, _, value in pairs]
