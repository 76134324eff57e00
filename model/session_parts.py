"""What an open session is made of: imported when the first source is opened, for a window comes before that."""

from __future__ import annotations

from bson import ObjectId

from model import sources, text
from model.address import DOTS, Address
from model.batches import Batches, Deleted, DeletionPlan, InsertionPlan
from model.browsing.explanation import Explained, explain
from model.browsing.field_survey import FieldSurvey, FieldUse, survey
from model.browsing.indexes_in_use import Indexes, IndexUse, indexes_in_use
from model.catalogue import ALL, Catalogue, Comparison, filter_terms, sort_terms
from model.counting import pending_tokens as tokens
from model.counting.pending import in_turn
from model.exchange.history_files import ExportedDocument, ExportedHistory, Form
from model.feed import EVERY, Fed, fed_layouts, feed
from model.guarantees import Guarantee, check
from model.guarantees.server_verdicts import Measured, ServerVerdicts
from model.health import Health
from model.history import following
from model.history.chain import Bisection, Blame, Chain, Key, bisect, key_at
from model.history.chain_reading import ChainReading
from model.history_import import ArrivingDocument, HistoryImport, ImportPlan
from model.layout_statements import LayoutStatements
from model.layouts import document_ids, registry
from model.layouts.base import Layout
from model.layouts.composite_ids import CompositeIds, as_sent, stored
from model.layouts.log import Log
from model.layouts.page_query import PageQuery
from model.layouts.stamp import Stamp
from model.migration import Migration
from model.names import id_name, version_name
from model.news import News, tell
from model.over_time.activity import ActivityList
from model.over_time.as_of import AsOf, Compared, compared, named_fields
from model.over_time.deleted_documents import DeletedDocuments
from model.over_time.document_history import DocumentHistory
from model.over_time.history_list import HistoryList
from model.over_time.report import report, report_of_span
from model.over_time.span import Span, everyone
from model.over_time.tail import Tail
from model.over_time.watched import Watched
from model.profile import Profile
from model.profile.profile_file import ProfileEdit
from model.repair import Repairs
from model.scan import Mark, Pace, Scan, ScanEstimate
from model.server.code_preview import sending
from model.server.connection_steps import ConnectionStep
from model.sources import address_trouble, try_source
from model.taking_back import TakingBack
from model.text.moments import moment_from_text
from model.text.paths import fitted
from model.text.row_file import Written, write_rows
from model.userdata.connections import (
    Connections,
    SavedConnection,
    label,
    needs_password,
    without_password,
)
from model.userdata.drafts import Drafts
from model.userdata.journal import Journal
from model.values import canonical
from model.values.canonical import Path, Value
from model.writing import edit
from model.writing.edit import Conflict
from model.writing.exactly_once import Once, totals
from model.writing.writer import Writer

__all__ = [
    "ALL",
    "DOTS",
    "EVERY",
    "ActivityList",
    "Address",
    "ArrivingDocument",
    "AsOf",
    "Batches",
    "Bisection",
    "Blame",
    "Catalogue",
    "Chain",
    "ChainReading",
    "Compared",
    "Comparison",
    "CompositeIds",
    "Conflict",
    "ConnectionStep",
    "Connections",
    "Deleted",
    "DeletedDocuments",
    "DeletionPlan",
    "DocumentHistory",
    "Drafts",
    "Explained",
    "ExportedDocument",
    "ExportedHistory",
    "Fed",
    "FieldSurvey",
    "FieldUse",
    "Form",
    "Guarantee",
    "Health",
    "HistoryImport",
    "HistoryList",
    "ImportPlan",
    "IndexUse",
    "Indexes",
    "InsertionPlan",
    "Journal",
    "Key",
    "Layout",
    "LayoutStatements",
    "Log",
    "Mark",
    "Measured",
    "Migration",
    "News",
    "ObjectId",
    "Once",
    "Pace",
    "PageQuery",
    "Path",
    "Profile",
    "ProfileEdit",
    "Repairs",
    "SavedConnection",
    "Scan",
    "ScanEstimate",
    "ServerVerdicts",
    "Span",
    "Stamp",
    "Tail",
    "TakingBack",
    "Value",
    "Watched",
    "Writer",
    "Written",
    "address_trouble",
    "as_sent",
    "bisect",
    "canonical",
    "check",
    "compared",
    "document_ids",
    "edit",
    "everyone",
    "explain",
    "fed_layouts",
    "feed",
    "filter_terms",
    "fitted",
    "following",
    "id_name",
    "in_turn",
    "indexes_in_use",
    "key_at",
    "label",
    "moment_from_text",
    "named_fields",
    "needs_password",
    "registry",
    "report",
    "report_of_span",
    "sending",
    "sort_terms",
    "sources",
    "stored",
    "survey",
    "tell",
    "text",
    "tokens",
    "totals",
    "try_source",
    "version_name",
    "without_password",
    "write_rows",
]
