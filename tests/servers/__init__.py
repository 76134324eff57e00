"""The servers that the tests run against: started once per session, each with a URI.

``local`` is the in-process server; ``java`` is mongo-java-server, which is small and has atomic swaps, but lacks much
that MongoDB has; ``given`` is whatever ``PALIMPSEST_TEST_URI`` names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import platformdirs

HERE = Path(__file__).parent
GIVEN_URI = os.environ.get("PALIMPSEST_TEST_URI", "")
GIVEN_PASSWORD = unquote(urlsplit(GIVEN_URI).netloc.rpartition("@")[0].partition(":")[2])
NAMES = ("local", "java", "given") if GIVEN_URI else ("local", "java")
STARTS_WITHIN = 60.0  # seconds, for a Java virtual machine on a busy machine
_DOWNLOADS_WITHIN = 300.0


class NotStarted(Exception):
    """A server that cannot be started here: why, in one sentence."""


def required() -> bool:
    """Whether a server that cannot be started is a failure, as where tests decide; else it is a skip."""
    return any(
        os.environ.get(name, "").lower() in ("1", "true", "yes") for name in ("CI", "PALIMPSEST_REQUIRE_SERVERS")
    )


def jars() -> Path:
    """The folder with the Java server's jars, fetched by Maven the first time."""
    wanted = (HERE / "pom.xml").read_bytes()
    folder = Path(platformdirs.user_cache_dir("palimpsest-tests")) / f"jars-{hashlib.sha256(wanted).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise NotStarted(
            "the Java server needs Maven, which is not on the PATH: install it (Debian: apt-get install maven)"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="jars-", dir=folder.parent))
    try:
        command = [maven, "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={fresh}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_DOWNLOADS_WITHIN,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise NotStarted(f"Maven could not fetch the Java server: {(done.stdout + done.stderr).strip()[-500:]}")
        if not folder.is_dir():  # another process may have been faster
            fresh.rename(folder)
    except subprocess.TimeoutExpired:
        raise NotStarted("Maven could not fetch the Java server in five minutes") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


@contextmanager
def java_server(oplog: bool = False) -> Iterator[str]:
    """The URI of a fresh mongo-java-server, which ends with the block, or with this process."""
    java = shutil.which("java")
    if java is None:
        raise NotStarted(
            "the Java server needs Java 11 or newer: install a JDK (Debian: apt-get install default-jdk-headless)"
        )
    command = [java, "-Xmx512m", "-cp", str(jars() / "*"), str(HERE / "Launcher.java"), *(["oplog"] if oplog else [])]
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = threading.Timer(STARTS_WITHIN, process.kill)
        deadline.start()
        try:
            port = process.stdout.readline().strip()
            deadline.cancel()
            if not port.isdigit():
                process.kill()
                complaints.seek(0)
                raise NotStarted(
                    f"the Java server did not start: {complaints.read().strip()[-500:] or 'it said nothing'}"
                )
            yield f"mongodb://127.0.0.1:{port}/?directConnection=true"
        finally:
            deadline.cancel()
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
