"""What is done with workers: letting them in, hearing them, judging their state. They have never heard of a job."""

from workers.services.credentials import ask_to_rotate, conflicts, retire, revoke, rotate, rotation_due
from workers.services.devices import Reading
from workers.services.enrol import Newcomer, enrol
from workers.services.heartbeat import Heard, Heartbeat, hear
from workers.services.instances import Standing
from workers.services.intent import drain, live_worker, undrain
from workers.services.moves import move_worker, move_workers
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
    "conflicts",
    "drain",
    "enrol",
    "hear",
    "live_tokens",
    "live_worker",
    "move_worker",
    "move_workers",
    "note_failures",
    "register",
    "retire",
    "revoke",
    "revoke_token",
    "rotate",
    "rotation_due",
    "trust",
    "undrain",
]
