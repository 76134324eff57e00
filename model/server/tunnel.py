"""Reaches a server through another computer, with the system's ``ssh``, its configuration, agent and jump hosts.

The near end is a socket in a folder that only this user may enter, or a local port on systems without such sockets.
Nothing is asked on a terminal: keys come from the agent or from files without a password.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from msgspec.structs import replace

from model.errors import Unreachable
from model.foundation.address import Address
from model.foundation.child_environment import SSH, child_environment

PATIENCE = 30.0  # seconds for ssh to log in, including jump hosts
_SAID = 64 << 10  # bytes at the end of what ssh wrote that are read
_LOOK = 0.05  # seconds between two checks whether it has
_LEAVE = 3.0  # seconds for ssh to end by itself
_UNIX: int | None = getattr(socket, "AF_UNIX", None)
_LONGEST_PATH = 90
_TARGET = re.compile(r"[A-Za-z0-9_.@%:\[\]-]+")
_WORDS = (
    ("could not resolve hostname", "ssh does not know the host {}; check its spelling, or name it in ~/.ssh/config"),
    ("host key verification failed|host key is known|identification has changed", "ssh does not trust the key of {}; "
     "run `ssh {}` in a terminal once, and compare the key"),
    ("permission denied|too many authentication failures|no supported authentication", "ssh cannot log in at {}; add a "
     "key to the agent (ssh-add), or name one in ~/.ssh/config"),
    ("connection refused", "{} takes no ssh connection; check host and port"),
    ("timed out|no route to host|network is unreachable", "{} does not answer ssh; check the network"),
    ("cannot listen|address already in use|could not request local forwarding", "ssh could not open its local end"),
)  # fmt: skip


def trouble_with(address: Address) -> str:
    """Why an address cannot be reached through its ``ssh`` option, one sentence; "" if it can."""
    through = address.option("ssh")
    if not through:
        return ""
    if ":" in through.rpartition("@")[0]:
        return "Write no password into ssh in the address: it takes keys, from an agent or by ~/.ssh/config."
    # An address may come from somebody else: a text that ssh takes for an option could run any program.
    if not _TARGET.fullmatch(through) or through.startswith("-"):
        return "Write ssh in the address as user@host, or as a name of ~/.ssh/config."
    # The members of a set name each other by addresses that the tunnel does not lead to.
    if address.by_dns or "," in address.hosts:
        return "Through ssh one server is reached: name it alone, as in mongodb://host:27017/, the primary of a set."
    return ""


class Tunnel:
    """A running ``ssh``; started by :meth:`open`, ended by :meth:`close`."""

    def __init__(self, process: subprocess.Popen[bytes], near: Address, folder: str, through: str) -> None:
        self._process, self._folder, self._through = process, folder, through
        self.near = near
        """The address of the near end, for the driver."""

    @classmethod
    def open(cls, address: Address) -> Tunnel:
        """Log in at the host in the ``ssh`` option and wait until the tunnel works; raises ``Unreachable``."""
        program, through = shutil.which("ssh"), address.option("ssh")
        if program is None:
            raise Unreachable("The program ssh is not installed here; install OpenSSH, or take ssh out of the address.")
        far = address.hosts if re.search(r":\d+$", address.hosts) else f"{address.hosts}:27017"
        folder = tempfile.mkdtemp(prefix="palimpsest-")
        near, hosts = _near_end(folder)
        # BatchMode: a question by ssh, as for a password, would wait on a terminal that nobody sees.
        options = ["ExitOnForwardFailure=yes", "BatchMode=yes", "ServerAliveInterval=15", "ConnectTimeout=15"]
        command = [program, "-N", "-T", *(part for each in options for part in ("-o", each))]
        try:
            with open(Path(folder, "said"), "wb") as said:
                process = subprocess.Popen(
                    [*command, "-L", f"{near}:{far}", "--", through],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    env=child_environment(*SSH),
                )
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise Unreachable(f"The program ssh cannot be started ({error.strerror}).") from None
        made = cls(process, _through_tunnel(address, hosts), folder, through)
        try:
            made._wait(near)
        except BaseException:
            made.close()
            raise
        return made

    def _wait(self, near: str) -> None:
        until = time.monotonic() + PATIENCE
        while not _is_listening(near):
            if self._process.poll() is not None:
                raise Unreachable(self.trouble())
            if time.monotonic() > until:
                raise Unreachable(f"{self._through} does not answer ssh in time; check the network and jump hosts.")
            time.sleep(_LOOK)

    def dial(self, seconds: float) -> socket.socket:
        """A connection through the tunnel."""
        host = self.near.hosts
        if host.endswith(".sock") and _UNIX is not None:
            made = socket.socket(_UNIX, socket.SOCK_STREAM)
            made.settimeout(seconds)
            made.connect(str(Path(self._folder, "s.sock")))
            return made
        name, _, port = host.rpartition(":")
        return socket.create_connection((name, int(port)), seconds)

    @property
    def said(self) -> str:
        """The last line that ssh wrote; "" if none."""
        try:
            with open(Path(self._folder, "said"), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _SAID))
                lines = file.read(_SAID).decode("utf-8", "replace").splitlines()
        except OSError:
            return ""
        return next((line.strip().rstrip(".")[:200] for line in reversed(lines) if line.strip()), "")

    def trouble(self) -> str:
        """Why ssh gave up, one sentence."""
        said = self.said
        for words, sentence in _WORDS:
            if re.search(words, said, re.IGNORECASE):
                return sentence.replace("{}", self._through) + "."
        return f"ssh to {self._through} ended{f': {said}' if said else ''}; try `ssh {self._through}` in a terminal."

    def close(self) -> None:
        """End it; a second call does nothing."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_LEAVE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _near_end(folder: str) -> tuple[str, str]:
    """The near end in the notation of ssh, and of an address."""
    path = str(Path(folder, "s.sock"))
    if _UNIX is not None and len(path) <= _LONGEST_PATH:
        # A socket in a folder of our own can be opened by this user alone, a port by every program on the computer.
        return path, quote(path, safe="")
    # The port is free only now: where another program takes it before ssh does, ssh ends and says so.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return f"127.0.0.1:{port}", f"127.0.0.1:{port}"


def _is_listening(near: str) -> bool:
    """Whether ssh is listening; sends nothing through it."""
    if near.endswith(".sock"):
        return Path(near).is_socket()
    host, _, port = near.rpartition(":")
    with contextlib.suppress(OSError):
        socket.create_connection((host, int(port)), _LOOK).close()
        return True
    return False


def _through_tunnel(address: Address, hosts: str) -> Address:
    local = replace(address.without_ssh(), hosts=hosts)
    if local.option("loadBalanced") == "true":
        return local
    # Without it the driver would go on to the members that the server names, past the tunnel.
    return local.with_option("directConnection", "true")
