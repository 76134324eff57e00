"""What every open session is made of: imported when the first source is opened, for a window comes before that.

What only some of its methods use, they import themselves.
"""

from __future__ import annotations

from bson import ObjectId

from model import sources, text
from model.address import Address
from model.catalogue import ALL, Catalogue, filter_terms, sort_terms
from model.health import Health
from model.history import following
from model.history.chain import bisect, key_at
from model.kept_recognition import KeptRecognition
from model.layouts import document_ids, registry
from model.layouts.composite_ids import CompositeIds, as_sent, stored
from model.layouts.log import Log
from model.layouts.page_query import PageQuery
from model.layouts.stamp import Stamp
from model.names import id_name, version_name
from model.news import News, tell
from model.over_time.document_history import DocumentHistory
from model.profile import Profile
from model.records import Opened, Outcome, Row
from model.text.moments import moment_from_text
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
