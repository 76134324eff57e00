"""Plans of work over many documents, as files: JSON with the source and collection for which they were made."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import Any, TypeVar

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.foundation.input_files import LARGEST, whole_text
from model.userdata import folders
from model.values.canonical import Value

T = TypeVar("T")


def save(path: str, command: str, source: str, ns: str, items: Sequence[dict[str, Any]], **more: object) -> None:
    """Write a plan of ``command``; ``more`` are further keys. Raises ``Refused``."""
    made = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    plan = {"palimpsest": command, "source": source, "made": made, "ns": ns, **more, "items": items}
    written = json.dumps(plan, ensure_ascii=False, indent=2) + "\n"
    if len(written.encode("utf-8", "surrogatepass")) > LARGEST:
        raise Refused(
            f"The plan would be larger than {LARGEST >> 20} MB, which is more than can be read again: narrow it."
        )
    folders.write(FilePath(path), written)


def load(path: str, command: str, source: str, ns: str, made: Callable[[dict[str, Any]], T]) -> T:
    """What ``made`` makes of a plan of ``command`` for this source and collection.

    Raises ``NotFound``, ``Unreadable`` and ``Refused``.
    """
    try:
        plan = json.loads(whole_text(path, LARGEST))
    except FileNotFoundError:
        raise NotFound(f"There is no plan {path}; write it first, without --apply.") from None
    except OSError as error:
        raise Refused(f"The plan {path} cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError):
        raise Unreadable(f"{path} is not a plan of `{command}`: it is not JSON.") from None
    if not isinstance(plan, dict) or plan.get("palimpsest") != command:
        raise Unreadable(f"{path} is not a plan of `{command}`.")
    for key, here in (("source", source), ("ns", ns)):
        if plan.get(key) != here:
            raise Refused(f"The plan {path} was made for {plan.get(key)}, and this is {here}; make a new one here.")
    try:
        return made(plan)
    except (KeyError, TypeError, AttributeError, Unreadable) as error:
        raise Unreadable(f"{path} is not a whole plan of `{command}`: {str(error).rstrip('.')}.") from None


def value(written: object) -> Value:
    """A value of a plan."""
    return text.value_from_text(json.dumps(written))
