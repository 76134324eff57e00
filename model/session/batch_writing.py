"""Writes to several documents at once, each with a plan before and a way back for all of them."""

from __future__ import annotations

from model.operations.batches import Batches, Deleted, DeletionPlan, Documents, InsertionPlan, Run
from model.operations.changing import Changed, ChangePlan, Changing
from model.operations.erasing import ELSEWHERE, Certificate, Erasing, Found, Trace
from model.operations.retaining import Candidate, Retaining, RetentionPlan, Rule, Thinned, typed_rule
from model.operations.taking_back import Chosen, TakenBack, TakingBack
from model.operations.update import typed as typed_update
from model.session.connection import Connection
from model.userdata.drafts import Drafts

__all__ = [
    "ELSEWHERE",
    "Batches",
    "Candidate",
    "Certificate",
    "ChangePlan",
    "Changed",
    "Changing",
    "Chosen",
    "Deleted",
    "DeletionPlan",
    "Documents",
    "Erasing",
    "Found",
    "InsertionPlan",
    "Retaining",
    "RetentionPlan",
    "Rule",
    "Run",
    "TakenBack",
    "TakingBack",
    "Thinned",
    "Trace",
    "batches",
    "changing",
    "erasing",
    "retaining",
    "taking_back",
    "typed_rule",
    "typed_update",
]


def batches(connection: Connection) -> Batches:
    """Documents deleted or inserted under the name and reason that the connection has now."""
    return Batches(connection.writer, connection.trust.check_allowed, connection.trust.is_production)


def taking_back(connection: Connection) -> TakingBack:
    """Changes taken back out of documents, under the name and reason that the connection has now."""
    return TakingBack(connection.writer, connection.trust.check_allowed, connection.trust.is_production)


def changing(connection: Connection) -> Changing:
    """One change in many documents, under the name and reason that the connection has now."""
    return Changing(connection.writer, connection.trust.check_allowed, connection.trust.is_production)


def retaining(connection: Connection) -> Retaining:
    """Earlier versions removed by a rule."""
    return Retaining(connection.writer, connection.trust.check_allowed, connection.trust.is_production)


def erasing(connection: Connection) -> Erasing:
    """Fields of one document erased for good."""
    drafts = Drafts(connection.home)
    return Erasing(connection.writer, drafts, connection.trust.check_allowed, connection.trust.is_production)
