"""Where a reason, a group's reason or a note becomes one sentence: lower case, units always, no full stop."""

from __future__ import annotations

from scheduler.core import sentences_availability, sentences_capability, sentences_devices
from scheduler.core.reasons import Code, GroupReason, Note, NoteCode, Reason
from scheduler.core.words import Clock, Words, agrees, counted, in_utc

SENTENCES: dict[Code, Words] = (
    sentences_capability.SENTENCES | sentences_devices.SENTENCES | sentences_availability.SENTENCES
)

NEAREST = "; the nearest name is {}"
NOTES: dict[NoteCode, str] = {
    NoteCode.PINNED_UNKNOWN: "no worker is called {}",
    NoteCode.LABEL_UNKNOWN: "no worker has the label {}",
    NoteCode.ENVIRONMENT_UNKNOWN: "no worker has an environment {}",
    NoteCode.NO_WORKERS: "there are no workers yet",
    NoteCode.NEWER_THAN_MATRIX: "{} is newer than the table of supported combinations, so it is taken to be supported",
}


def sentence(reason: Reason, *, clock: Clock = in_utc) -> str:
    """The one sentence that this reason is told by; `clock` says how its instants are told."""
    return SENTENCES[reason.code](reason, clock)


def note_sentence(note: Note) -> str:
    """A note as a sentence, with the nearest existing name where there is one."""
    near = NEAREST.format(note.nearest) if note.nearest is not None else ""
    return NOTES[note.code].format(note.subject) + near


def group_sentence(reason: GroupReason) -> str:
    """Why one tier, and in it one torch version, could not hold a gang."""
    workers = f"{reason.compatible:,} compatible {agrees(reason.compatible, 'worker', 'workers')}"
    if reason.torch is None and not reason.compatible:
        return f"{reason.tier} has no compatible worker, needs {reason.needed:,}"
    version = f" with torch {reason.torch}" if reason.torch else ""
    needed = counted(reason.needed, "worker")
    return {
        Code.GANG_TOO_FEW: f"{reason.tier} has {workers}{version}, too few in all for {needed}",
        Code.GANG_TORCH_MIX: f"{reason.tier} has {workers}{version}, needs {reason.needed:,} of one version",
        Code.GANG_NOT_FREE: f"{reason.tier} has {reason.free:,} of {needed} free{version}; {workers} in all",
    }[reason.code]
