"""The server behind the driver: reads, single guarded writes, the meaning of errors, retries."""

from __future__ import annotations

import importlib.util
import sys

if importlib.util.find_spec("OpenSSL") is None:
    # PyMongo would look for pyOpenSSL through another library, which keeps 8 MB even if it finds none.
    sys.modules.setdefault("pymongo.pyopenssl_context", None)  # type: ignore[arg-type]

from model.server import driver_import  # after that mark

driver_import.bring()
