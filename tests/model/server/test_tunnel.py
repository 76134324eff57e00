"""Through another computer: with whatever ``ssh`` the system has, and the certificate of the right server."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from model.errors import Unreachable
from model.foundation.address import Address
from model.server import tunnel
from model.server.connection_steps import try_connection
from model.server.server import Server
from model.session import Session
from model.userdata.connections import Connections, SavedConnection
from tests import support
from tests.certificates import Authority
from tests.guarded_server import GuardedServer

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in for ssh is a script")

# Forwards like ssh -L, and fails like it; the words are those of OpenSSH.
SSH = """#!{python}
import json, os, pathlib, socket, sys, threading, time
pathlib.Path({log!r}).write_text(json.dumps([os.getpid(), sys.argv[1:]]))
pathlib.Path({log!r} + ".agent").write_text(os.environ.get("SSH_AUTH_SOCK", ""))
target = sys.argv[-1]
said = {{
    "denied": "eva@denied: Permission denied (publickey).",
    "unknown": "ssh: Could not resolve hostname unknown: Name or service not known",
    "untrusted": "Host key verification failed.",
    "odd": "kex_exchange_identification: read: Connection reset by peer",
}}.get(target)
if said:
    sys.exit(print(said, file=sys.stderr) or 255)
if target == "silent":
    time.sleep(60)
near, _, far = sys.argv[sys.argv.index("-L") + 1].partition(":")
host, port = far.rsplit(":", 1)
door = socket.socket(socket.AF_UNIX)
door.bind(near)
door.listen()

def carry(one, other):
    try:
        while data := one.recv(65536):
            other.sendall(data)
    except OSError:
        pass
    for end in (one, other):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

while True:
    here, _ = door.accept()
    try:
        there = socket.create_connection(({real!r}, int(port)))
    except OSError:
        print("channel 2: open failed: connect failed: Connection refused", file=sys.stderr, flush=True)
        here.close()
        continue
    for pair in ((here, there), (there, here)):
        threading.Thread(target=carry, args=pair, daemon=True).start()
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the stand-in for ssh says who it is and what it was asked."""
    (folder := tmp_path / "bin").mkdir()
    program = folder / "ssh"
    program.write_text(SSH.format(python=sys.executable, log=str(tmp_path / "log"), real="127.0.0.1"))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "log"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def behind(server: GuardedServer, through: str, *options: str, host: str = "db.internal") -> str:
    port = server.host.rpartition(":")[2]
    return f"mongodb://{host}:{port}/?" + "&".join([f"ssh={through}", "serverSelectionTimeoutMS=20000", *options])


def test_a_server_behind_another_computer_is_reached_and_its_own_certificate_is_asked_for(
    log: Path, authority: Authority, home: Path
) -> None:
    ca = f"tlsCAFile={quote(str(authority.file))}"
    with GuardedServer(certificate=authority.signed("server", "db.internal")) as server:
        with Session.open(behind(server, "eva%40bastion", ca)) as session:
            asked = log.read_text()
            assert "-N" in asked
            assert "BatchMode=yes" in asked
            assert asked.endswith('"--", "eva@bastion"]]')
            assert "db.internal:" in asked
            assert session.facts.version == "7.0.0"
            assert not session.is_near
            assert "ssh=eva" in session.source, "the source is another one than the host without ssh"
            process = int(asked.partition(",")[0].lstrip("["))
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
        with pytest.raises(Unreachable, match="for another name"):
            Server.connect(
                behind(server, "bastion", ca, "connectTimeoutMS=2000", host="other.internal").replace("20000", "2000")
            )


CONFIG = """
Host inside
    HostName db-gate.internal
    User eva
    Port 2222
    ProxyJump guest@jump.example:2200,second.example
    IdentityAgent SSH_AUTH_SOCK
    IdentityFile ~/.ssh/inside
"""


def test_a_name_of_the_configuration_keeps_its_jump_hosts_its_agent_and_its_keys(
    log: Path, authority: Authority, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("ssh", path=os.defpath)
    if real is None:
        pytest.skip("there is no OpenSSH here to read a configuration")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    ca = f"tlsCAFile={quote(str(authority.file))}"
    with GuardedServer(certificate=authority.signed("server", "db.internal")) as server:
        Session.open(behind(server, "inside", ca)).close()
    asked = json.loads(log.read_text())[1]
    assert Path(f"{log}.agent").read_text() == "/run/agent"
    (config := tmp_path / "config").write_text(CONFIG)
    said = subprocess.run([real, "-G", "-F", str(config), *asked], capture_output=True, text=True, check=True).stdout
    meant = dict(line.split(" ", 1) for line in said.splitlines() if " " in line)
    assert {key: meant[key] for key in ("hostname", "user", "port", "proxyjump", "identityagent", "identityfile")} == {
        "hostname": "db-gate.internal",
        "user": "eva",
        "port": "2222",
        "proxyjump": "guest@jump.example:2200,second.example",
        "identityagent": "SSH_AUTH_SOCK",
        "identityfile": "~/.ssh/inside",
    }
    assert meant["stricthostkeychecking"] in ("ask", "true"), "keys of hosts are compared as everywhere"


def test_each_step_through_ssh_is_told(log: Path, authority: Authority) -> None:
    ca = f"tlsCAFile={quote(str(authority.file))}"
    with GuardedServer(certificate=authority.signed("server", "db.internal")) as server:
        found = {step.name: step for step in try_connection(behind(server, "bastion", ca))}
        plain = [step.name for step in try_connection(behind(server, "denied", ca))]
    assert list(found) == ["Address", "SSH", "TLS", "Login", "Answer", "Rights"]
    assert {step.result for step in found.values()} == {"ok"}
    assert found["SSH"].said == "Logged in at bastion."
    assert found["TLS"].said.endswith("is for db.internal.")
    assert plain == ["Address", "SSH"]


@pytest.mark.parametrize(
    ("through", "said"),
    [
        ("denied", "ssh cannot log in at denied; add a key to the agent"),
        ("unknown", "ssh does not know the host unknown"),
        ("untrusted", "run `ssh untrusted` in a terminal once"),
        ("odd", "Connection reset by peer; try `ssh odd`"),
        ("silent", "does not answer ssh in time"),
    ],
)
def test_why_ssh_does_not_come_about_is_said(
    log: Path, monkeypatch: pytest.MonkeyPatch, through: str, said: str
) -> None:
    monkeypatch.setattr(tunnel, "PATIENCE", 1.0 if through == "silent" else 60.0)
    with pytest.raises(Unreachable) as raised:
        Server.connect(f"mongodb://db.internal/?ssh={through}")
    assert said in str(raised.value)


def test_a_server_that_is_not_there_behind_ssh_is_said_in_its_words(log: Path) -> None:
    with GuardedServer() as server:
        gone = behind(server, "bastion").replace("20000", "1000")
    with pytest.raises(Unreachable, match="ssh says: channel 2: open failed: connect failed: Connection refused"):
        Server.connect(gone)


@support.table(
    "address, said",
    [
        ("mongodb://db/?ssh=-oProxyCommand=x", "divided|Write ssh"),
        ("mongodb://db/?ssh=-oProxyCommand%3Dx", "Write ssh in the address as user@host"),
        ("mongodb://db/?ssh=a%20b", "Write ssh in the address as user@host"),
        ("mongodb://a,b/?ssh=bastion", "one server is reached"),
        ("mongodb+srv://a.example/?ssh=bastion", "one server is reached"),
    ],
)
def test_what_ssh_must_not_be_asked_is_refused(address: str, said: str) -> None:
    with pytest.raises(Unreachable, match=said):
        Server.check_address(address)


def test_without_ssh_on_this_computer_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unreachable, match="The program ssh is not installed here"):
        Server.connect("mongodb://db/?ssh=bastion")


def test_a_saved_connection_keeps_its_way(home: Path) -> None:
    Connections(home).save(SavedConnection("inside", "mongodb://db.internal/?ssh=me%40bastion"))
    found = Address.parse(Connections(home).get("inside").uri)
    assert found is not None
    assert found.option("ssh") == "me@bastion"
    assert str(found.without_ssh()) == "mongodb://db.internal/"
