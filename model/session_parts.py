"""What every open session is made of: imported when the first source is opened, for a window comes before that.

What only some of its methods use, they import themselves.
"""

from __future__ import annotations

from bson import ObjectId

from model import text
from model.catalogue import sources
from model.catalogue.catalogue import ALL, Catalogue, filter_terms, sort_terms
from model.catalogue.kept_recognition import KeptRecognition
from model.foundation.address import Address
from model.foundation.news import News, tell
from model.foundation.records import Opened, Outcome, Row
from model.health import Health
from model.history import following
from model.history.chain import bisect, key_at
from model.layouts import registry
from model.layouts.log import Log
from model.over_time.document_history import DocumentHistory
from model.profile import Profile
from model.storage import document_ids
from model.storage.composite_ids import CompositeIds, as_sent, stored
from model.storage.newest_query import PageQuery
from model.storage.swap_steps import Stamp
from model.text.moments import moment_from_text
from model.text.names import id_name, version_name
from model.text.paths import fitted
from model.userdata import folders
from model.userdata.drafts import Drafts
from model.userdata.journal import Journal
from model.values import canonical
from model.values.canonical import Value
from model.writing import edit
from model.writing.writer import Writer

__all__ = [
    "ALL",
    "Address",
    "Catalogue",
    "CompositeIds",
    "DocumentHistory",
    "Drafts",
    "Health",
    "Journal",
    "KeptRecognition",
    "Log",
    "News",
    "ObjectId",
    "Opened",
    "Outcome",
    "PageQuery",
    "Profile",
    "Row",
    "Stamp",
    "Value",
    "Writer",
    "as_sent",
    "bisect",
    "canonical",
    "document_ids",
    "edit",
    "filter_terms",
    "fitted",
    "folders",
    "following",
    "id_name",
    "key_at",
    "moment_from_text",
    "registry",
    "sort_terms",
    "sources",
    "stored",
    "tell",
    "text",
    "version_name",
]
