"""A pipe before any MongoDB server that fails on cue or by the dice, and an audit of what a program wrote through it.

After A. Jesse Jiryu Davis, "Black Pipe Testing". :class:`model.pipe.proxy.Pipe` carries the messages,
:mod:`model.pipe.faults` says what goes wrong, :mod:`model.pipe.wire_record` keeps what was acknowledged and what the
program told its users, and :mod:`model.pipe.audit` compares that with the stored histories.
"""

from model.pipe.audit import Audit, Wrong
from model.pipe.faults import Drawn, Fault, FaultPlan
from model.pipe.proxy import Pipe

__all__ = ["Audit", "Drawn", "Fault", "FaultPlan", "Pipe", "Wrong"]
