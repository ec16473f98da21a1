"""What is done with workers: letting them in, hearing them, judging their state. They have never heard of a job."""

from workers.services.credentials import ask_to_rotate, conflicts, retire, revoke, rotate, rotation_due
from workers.services.devices import Reading
from workers.services.enrol import Newcomer, enrol
from workers.services.heartbeat import Heard, Heartbeat, hear
from workers.services.instances import Standing
from workers.services.intent import drain, drain_all, live_worker, live_workers_named, undrain, undrain_all
from workers.services.limits import set_limits
from workers.services.moves import move_worker, move_workers
from workers.services.notices import end_notice, post_notice
from workers.services.operator_labels import change_labels
from workers.services.register import Registration, Session, register
from workers.services.tokens import live_tokens, revoke_token
from workers.services.trust import note_failures, trust

__all__ = [
    "Heard",
    "Heartbeat",
    "Newcomer",
    "Reading",
    "Registration",
    "Session",
    "Standing",
    "ask_to_rotate",
    "change_labels",
    "conflicts",
    "drain",
    "drain_all",
    "end_notice",
    "enrol",
    "hear",
    "live_tokens",
    "live_worker",
    "live_workers_named",
    "move_worker",
    "move_workers",
    "note_failures",
    "post_notice",
    "register",
    "retire",
    "revoke",
    "revoke_token",
    "rotate",
    "rotation_due",
    "set_limits",
    "trust",
    "undrain",
    "undrain_all",
]
