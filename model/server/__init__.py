"""The server behind the driver: reads, single guarded writes, the meaning of errors, retries."""

from __future__ import annotations

import importlib.util
import sys

if importlib.util.find_spec("OpenSSL") is None:
    # PyMongo looks for pyOpenSSL by way of another library, of which it keeps 8 MB when there is none to be found.
    sys.modules.setdefault("pymongo.pyopenssl_context", None)  # type: ignore[arg-type]
