"""The programs that write histories: installed from their registries, run against our server, and dumped."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs
import pymongo
from bson import json_util
from bson.raw_bson import RawBSONDocument

from model.localserver import LocalServer
from tests.servers.door import Door

HERE = Path(__file__).parent
NAMES = tuple(sorted(each.name for each in HERE.iterdir() if (each / "states.jsonl.gz").exists()))
UNKNOWN = tuple(sorted(f"unknown/{each.name}" for each in (HERE / "unknown").iterdir() if (each / "shop").exists()))
MANIFESTS = ("package.json", "pom.xml", "requirements.txt")
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "ts-patch-mongoose/omit": {"omit": ["__v", "createdAt", "updatedAt"], "metadata": {"ip": "10.0.0.1"}},
    "ts-patch-mongoose/omit-content": {"omit": ["__v", "createdAt", "updatedAt", "text", "address.city"]},
    "ts-patch-mongoose/omit-at-any-depth": {"omit": ["__v", "_id"]},
    "ts-patch-mongoose/expired": {"expired": 0.5},
    "ts-patch-mongoose/omit-expired": {"omit": ["__v", "createdAt", "updatedAt"], "expired": 0.35},
}
"""Histories that a program writes with other options than its dump shows: the folder, and the options."""
WITHIN = 600.0  # seconds, to install one or to let it write


@dataclass(frozen=True)
class Told:
    """What a program's script said of one save."""

    ns: str
    id: Any
    kind: str  # created, saved, draft, removed, purged (with all that was known of it)
    state: dict[str, Any] | None  # the stored document behind it


def told(name: str, folder: Path = HERE) -> list[Told]:
    """What the script of a program said, save by save."""
    with gzip.open(folder / name / "states.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json_util.loads(line, json_options=json_util.CANONICAL_JSON_OPTIONS) for line in lines]
    return [Told(row["ns"], row["id"], row["kind"], row["state"]) for row in rows]


def write(
    name: str, folder: Path, seed: int, documents: int, states: int, between: Callable[[str], list[Told]] | None = None
) -> list[str]:
    """Let a program write, and keep a dump and what its script said in a folder.

    ``between`` is given the URI once it has written and tells what it saved there; then the program goes on. Returns
    the lines with what it read before it did.
    """
    home = HERE / (name.partition("/")[0] if name in VARIANTS else name)
    modules = installed(home)
    if (home / "pom.xml").exists():
        command = ["java", "-cp", str(modules / "*"), str(home / "Write.java")]
    elif (home / "requirements.txt").exists():
        command = [str(modules / "bin" / "python"), str(home / "write.py")]
    else:
        command = ["node", str(next(home.glob("write.*js")))]
    with LocalServer() as server, Door(server.uri) as door:
        env = {
            **os.environ,
            "MONGO": f"mongodb://{door.host}/shop?directConnection=true",
            "MODULES": str(modules),
            "SEED": str(seed),
            "COUNT": str(documents),
            "STATES": str(states),
            "OPTIONS": json.dumps(VARIANTS.get(name, {})),
        }
        said = _run(name, command, env)
        if between is not None:
            said += [line_of(each) for each in between(server.uri)]
            said += _run(name, command, env | {"ROUND": "2"})
        read = [line for line in said if json.loads(line)["kind"] == "read"]
        keep(server.uri, folder / name, [line for line in said if line not in read])
    return read


def keep(uri: str, target: Path, lines: Sequence[str]) -> None:
    """Write a dump of a server, and the lines that say what was saved there."""
    shutil.rmtree(target / "shop", ignore_errors=True)
    (target / "shop").mkdir(parents=True)
    if lines:
        _packed(target / "states.jsonl.gz", ("\n".join(lines) + "\n").encode())
    with pymongo.MongoClient(uri, document_class=RawBSONDocument) as client:
        for collection in client["shop"].list_collection_names():
            raws = [document.raw for document in client["shop"][collection].find()]
            if raws:
                _packed(target / "shop" / f"{collection}.bson.gz", b"".join(raws))


def _run(name: str, command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The lines in which a script said what it saved."""
    done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=WITHIN)
    if done.returncode:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    return [line for line in done.stdout.decode().splitlines() if line.startswith('{"ns"')]


def line_of(each: Told) -> str:
    """A line as the scripts print it."""
    return json_util.dumps(asdict(each), json_options=json_util.CANONICAL_JSON_OPTIONS)


def _packed(path: Path, data: bytes) -> None:
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(data)


def installed(home: Path) -> Path:
    """The folder with the modules of the program that a folder is about, installed the first time."""
    manifest = next(
        each for each in (home / "package.json", home / "pom.xml", home / "requirements.txt") if each.exists()
    )
    wanted = hashlib.sha256(manifest.read_bytes()).hexdigest()[:12]
    folder = Path(platformdirs.user_cache_dir("palimpsest-tests")) / "writers" / f"{home.name}-{wanted}"
    if (folder / "done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if manifest.name == "package.json":
        shutil.copy(manifest, folder)
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    elif manifest.name == "pom.xml":
        command = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(manifest),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}",
        ]
    else:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=WITHIN)
        command = [str(folder / "bin" / "pip"), "install", "-q", "-r", str(manifest)]
    subprocess.run(command, cwd=folder, check=True, timeout=WITHIN)
    (folder / "done").write_text(json.dumps(command))
    return folder
