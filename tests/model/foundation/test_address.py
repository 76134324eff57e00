"""Addresses: read as the driver reads them, changed only where asked, with every secret hidden."""

from __future__ import annotations

import contextlib
import re
from urllib.parse import quote_plus

import pymongo.uri_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Unreachable
from model.foundation.address import DOTS, Address, unquoted
from model.server.driver_errors import host_of
from model.server.server import Server
from model.userdata import connections
from tests import support

SECRET = "pl4nted-s3cret"
NAMES = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=12)
OPTIONS = st.dictionaries(st.sampled_from(["authSource", "appName", "replicaSet"]), NAMES)


def parsed(text: str) -> Address:
    found = Address.parse(text)
    assert found is not None
    return found


@given(user=NAMES, password=NAMES, options=OPTIONS, separator=st.sampled_from("&;"))
def test_an_address_is_read_as_the_driver_reads_it(
    user: str, password: str, options: dict[str, str], separator: str
) -> None:
    listed = separator.join(f"{name}={quote_plus(value)}" for name, value in options.items())
    text = f"mongodb://{quote_plus(user)}:{quote_plus(password)}@a.example:1,b.example/shop?{listed}"
    read, mine = pymongo.uri_parser.parse_uri(text, warn=False), parsed(text)
    assert (mine.user_name, mine.password_text, mine.database) == (read["username"], read["password"], "shop")
    assert {name.lower(): mine.option(name) for name in options} == {
        name.lower(): value for name, value in read["options"].items()
    }
    assert str(mine) == text


RAW = st.text("ab%412 +@/:?#[]&;=,.$é\\\t", max_size=8)


@support.examples(2000)
@given(user=RAW, before=RAW, after=RAW, path=st.sampled_from(["/", "/shop", "", "/?appName=x;w=1", "/?appName=a@b"]))
def test_a_secret_that_is_not_encoded_is_covered_whatever_stands_around_it(
    user: str, before: str, after: str, path: str
) -> None:
    text = f"mongodb://{user}:{before}{SECRET}{after}@db.example{path}"
    address = parsed(text)
    assert SECRET not in str(address.without_secrets()) + str(address.masked()) + repr(address)
    if not set(user) & set(" \t/:@") and not re.match(r"\d+[/,?;\s.]", before):  # in a sentence that is a port
        assert SECRET not in connections.hidden(f"nobody answers at {text}; try again")
    with contextlib.suppress(Unreachable):
        Server.check_address(text)
        return
    with pytest.raises(Unreachable) as raised:
        Server.check_address(text)
    assert SECRET not in str(raised.value)


@support.examples(2000)
@given(user=RAW, password=RAW, path=st.sampled_from(["/", "/shop", "", "/shop?w=1", "/?appName=x;w=1"]))
def test_what_is_not_encoded_is_refused_or_read_as_the_driver_reads_it(user: str, password: str, path: str) -> None:
    text = f"mongodb://{user}:{password}@db.example{path}"
    try:
        Server.check_address(text)
    except Unreachable:
        return
    read, mine = pymongo.uri_parser.parse_uri(text, warn=False), parsed(text)
    assert (mine.user_name, mine.password_text) == (read["username"] or "", read["password"] or "")
    assert [str(host) for host, _ in read["nodelist"]] == ["db.example"]
    assert mine.hosts == "db.example"
    assert mine.database == (read["database"] or "")
    assert parsed(str(mine.without_secrets())).user_name == mine.user_name


@given(user=NAMES, password=NAMES, token=NAMES, key=NAMES, service=st.sampled_from(["mongodb", "m-db"]))
def test_every_secret_is_covered_by_dots_and_comes_back_from_behind_them(
    user: str, password: str, token: str, key: str, service: str
) -> None:
    token = token.replace(",", ".")  # the driver would take it for the end
    address = (
        parsed("mongodb://db.example/?w=1")
        .with_user(user)
        .with_password(password)
        .with_mechanism_property("AWS_SESSION_TOKEN", token)
        .with_mechanism_property("SERVICE_NAME", service)
        .with_option("tlsCertificateKeyFilePassword", key)
    )
    masked, shown = parsed(str(address.masked())), address.without_secrets()
    assert (address.password_text, address.mechanism_property("AWS_SESSION_TOKEN")) == (password, token)
    assert (masked.password, masked.mechanism_property("AWS_SESSION_TOKEN")) == (DOTS, DOTS)
    assert masked.unmasked(address) == address
    assert shown.completed(address) == address
    assert shown.mechanism_property("SERVICE_NAME") == service
    assert not shown.secrets
    assert {password, token, key} <= set(address.secrets)


@support.table(
    "text",
    [
        f"mongodb://eva:{SECRET}@db/",
        f"mongodb://eva:{SECRET};tls=true@db/",
        f"mongodb://eva:a {SECRET} b@db/",
        f"mongodb://eva:p/{SECRET}@db/x",
        f"mongodb://eva:{SECRET}?x@db/x",
        f"mongodb://db/?tls=true;tlsCertificateKeyFilePassword={SECRET};w=1",
        f"mongodb://db/?TLSCERTIFICATEKEYFILEPASSWORD={SECRET}",
        f"mongodb://db/?proxyHost=p&proxyUsername=u&proxyPassword={SECRET}",
        f"mongodb://db/?authMechanismProperties=SERVICE_NAME:x%2CAWS_SESSION_TOKEN%3A{SECRET}",
        f"mongodb://db/?authMechanismProperties=UNHEARD_OF:{SECRET}",
    ],
)
def test_a_secret_is_covered_however_it_is_written(text: str) -> None:
    address = parsed(text)
    assert SECRET not in str(address.without_secrets()) + str(address.masked()) + repr(address)
    assert any(SECRET in secret for secret in address.secrets)
    assert SECRET not in host_of(text)
    assert SECRET not in connections.hidden(f"nobody answers at {text}; try again")


def test_an_option_is_replaced_at_its_place_and_no_other_is_touched() -> None:
    text = "mongodb://db/?ssl=true&X=%41&readPreferenceTags=dc:1&readPreferenceTags="
    assert str(parsed(text).with_option("x", "b c")) == text.replace("X=%41", "x=b%20c")
    assert str(parsed(text).with_option("X", "")) == text.replace("X=%41&", "")
    assert str(parsed("mongodb://db").with_option("tls", "true")) == "mongodb://db/?tls=true"


@support.table(
    "text, uses",
    [
        ("mongodb://db/", False),
        ("mongodb://db/?tls=true", True),
        ("mongodb://db/?ssl=true", True),
        ("mongodb://db/?tlsAllowInvalidCertificates=false", True),
        ("mongodb://db/?tlsAllowInvalidCertificates=true", False),
        ("mongodb://db/?tlsInsecure=true", False),
    ],
)
def test_it_is_encrypted_exactly_where_the_driver_would_encrypt_it(text: str, uses: bool) -> None:
    assert parsed(text).uses_tls == uses
    with pymongo.MongoClient(text, connect=False) as client:
        assert (client.options.pool_options._ssl_context is not None) == uses


@support.table("text", ["mongodb://db/?w=1", "mongodb+srv://db/?w=1", "mongodb://db/?ssl=false&w=1"])
def test_tls_can_be_asked_for_and_taken_back(text: str) -> None:
    assert parsed(text).with_tls(True).uses_tls
    assert not parsed(text).with_tls(True).with_tls(False).uses_tls
    assert parsed(text).with_tls(True).option("w") == "1"


@support.table(
    "text, said",
    [
        ("mongodb://my host/", "a blank"),
        ("mongodb://my\thost/", "a blank"),
        ("mongodb:///x", "no host"),
        ("mongodb://eva:p@ss/x@db/", "Percent-encode"),
        ("mongodb://db:27017/a@b", "Percent-encode"),
        ("mongodb://eva:what?now@db/", "Percent-encode"),
        ("mongodb://db/?tls=true&tls=false", "tls twice"),
        ("mongodb://db/?tls=true;w=1&w=2", "divided by"),
        ("mongodb+srv://db/?tsl=true", "tsl"),
        ("mongodb://db/?tls=false&tlsCAFile=/nowhere", "/nowhere"),
        ("mongodb://a:b@db/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:a,b", "NAME:value"),
        ("ftp://db", "not a MongoDB address"),
    ],
)
def test_what_would_be_used_otherwise_than_it_is_written_is_refused(text: str, said: str) -> None:
    with pytest.raises(Unreachable, match=said):
        Server.check_address(text)


@support.table(
    "text, may",
    [
        ("mongodb://db/", False),
        ("mongodb://eva@db/", True),
        ("mongodb://eva:x@db/", False),
        ("mongodb://CN=eva@db/?authMechanism=MONGODB-X509", False),
        ("mongodb://CN=eva@db/?authMechanism=MONGODB-X509&tlsCertificateKeyFile=/c.pem", True),
        ("mongodb://eva@db/?authMechanism=GSSAPI", True),
        ("mongodb://AKIA:k@db/?authMechanism=MONGODB-AWS", True),
        ("mongodb://db/?authMechanism=MONGODB-AWS", False),
    ],
)
def test_the_keyring_is_asked_only_where_a_secret_may_be_missing(text: str, may: bool) -> None:
    assert parsed(text).may_lack_secrets == may


@pytest.mark.parametrize("quotes", ['""', "''", "``", "<>", "\u201c\u201d", "\u201e\u201c", "\u00ab\u00bb"])
def test_quotes_around_an_address_came_along_when_it_was_copied(quotes: str) -> None:
    uri = "mongodb://ann:s3cret@db/?tls=true"
    quoted = f" {quotes[0]}{uri} {quotes[1]}"
    assert unquoted(quoted) == uri
    assert str(Address.parse(quoted)) == uri
    for other in ("'dump folder'", '"', '""', '"sample:"', uri, f"{quotes[0]}{uri}"):
        assert unquoted(other) == other


def test_an_option_that_is_given_twice_with_one_value_goes_to_the_driver_once() -> None:
    uri = "mongodb://db/?directConnection=true&tls=true&directconnection=true&readPreferenceTags=a:1&readPreferenceTags=a:1"
    address = Address.parse(uri)
    assert address is not None
    assert address.trouble() == ""
    assert str(address.without_repeats()) == uri.replace("&directconnection=true", "")


@pytest.mark.parametrize(
    ("uri", "noun"),
    [
        ("mongodb+srv://ann:<db_password>@cluster0.ab1cd.mongodb.net/?appName=x", "password"),
        ("mongodb+srv://ann:%3Cpassword%3E@cluster0.ab1cd.mongodb.net/", "password"),
        ("mongodb+srv://<db_username>:<db_password>@cluster0.ab1cd.mongodb.net/", "name"),
        ("mongodb://<USERNAME>:s3cret@host/", "name"),
    ],
)
def test_a_placeholder_of_atlas_is_told_before_the_network_is_asked(uri: str, noun: str) -> None:
    with pytest.raises(Unreachable, match=f"is a placeholder of Atlas: put .* user's {noun} in") as told:
        Server.connect(uri)
    assert "s3cret" not in str(told.value)


def test_a_password_in_angle_brackets_is_no_placeholder() -> None:
    address = Address.parse("mongodb://ann:<my-own>@host/")
    assert address is not None
    assert address.trouble() == ""
