"""What is done with workers: letting them in, hearing them, judging their state. They have never heard of a job."""

from workers.services.devices import Reading
from workers.services.enrol import Newcomer, enrol
from workers.services.heartbeat import Heard, Heartbeat, hear
from workers.services.intent import drain, live_worker, undrain
from workers.services.moves import move_worker, move_workers
from workers.services.register import Registration, Session, register

__all__ = [
    "Heard",
    "Heartbeat",
    "Newcomer",
    "Reading",
    "Registration",
    "Session",
    "drain",
    "enrol",
    "hear",
    "live_worker",
    "move_worker",
    "move_workers",
    "register",
    "undrain",
]
