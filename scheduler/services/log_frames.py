"""The frames of a log: which stream, when by the agent's own clock, and the bytes. No Django: the command line too."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

HEADER = struct.Struct(">cQI")
STREAMS = {b"o": "stdout", b"e": "stderr"}
_LETTERS = {name: letter for letter, name in STREAMS.items()}
MAX_CHUNK = 1024 * 1024
"""Bytes that one call may append, headers included."""
MAX_MS = 2**53 - 1


class BrokenFrameError(ValueError):
    """The bytes are no whole frames; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One write of the program. `at_ms` is the agent's wall clock: shown, never compared."""

    stream: str
    at_ms: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """A frame as text."""

    stream: str
    at_ms: int
    text: str


def encode(frame: Frame) -> bytes:
    """The frame as it travels and as it lies in the file."""
    return HEADER.pack(_LETTERS[frame.stream], frame.at_ms, len(frame.data)) + frame.data


def decode(chunk: bytes) -> Iterator[Frame]:
    """The whole frames of a chunk. Raises BrokenFrameError at the first that is none."""
    offset = 0
    while offset < len(chunk):
        frame = frame_at(chunk, offset)
        yield frame
        offset += HEADER.size + len(frame.data)


def frame_at(chunk: bytes, offset: int) -> Frame:
    """The frame that begins at `offset`; raises BrokenFrameError if it doesn't end within the chunk."""
    end = frame_end(chunk, offset)
    stream, at_ms, _ = HEADER.unpack_from(chunk, offset)
    return Frame(STREAMS[stream], at_ms, chunk[offset + HEADER.size : end])


def frame_end(chunk: bytes, offset: int) -> int:
    """Where the frame that begins at `offset` ends; raises BrokenFrameError if not within the chunk."""
    if len(chunk) - offset < HEADER.size:
        raise BrokenFrameError(f"the frame at byte {offset} ends within its header")
    stream, at_ms, length = HEADER.unpack_from(chunk, offset)
    if stream not in STREAMS:
        raise BrokenFrameError(f"the frame at byte {offset} begins with {stream!r}; right would be b'o' or b'e'")
    if at_ms > MAX_MS:
        raise BrokenFrameError(f"the frame at byte {offset} has the time {at_ms}; right would be at most {MAX_MS}")
    start = offset + HEADER.size
    if len(chunk) - start < length:
        raise BrokenFrameError(f"the frame at byte {offset} says {length} bytes, {len(chunk) - start} are there")
    return int(start + length)


def ends(chunk: bytes) -> Iterator[int]:
    """Where each frame of a chunk ends, nothing copied. Raises BrokenFrameError at the first that is none."""
    offset = 0
    while offset < len(chunk):
        offset = frame_end(chunk, offset)
        yield offset


def whole(chunk: bytes) -> int:
    """How many bytes the whole frames at the beginning of a chunk have; what follows is torn."""
    last = 0
    try:
        for end in ends(chunk):
            last = end
    except BrokenFrameError:
        pass
    return last


def lines_in(chunk: bytes) -> int:
    """How many lines end within whole frames: the newlines of their data, not those that their headers may have."""
    count = start = 0
    for end in ends(chunk):
        count += chunk.count(b"\n", start + HEADER.size, end)
        start = end
    return count


def as_records(frames: Iterable[Frame]) -> list[Record]:
    """Frames as text; a character that a stream's frames split is put together again."""
    decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in STREAMS.values()}
    records = [Record(frame.stream, frame.at_ms, decoders[frame.stream].decode(frame.data)) for frame in frames]
    for stream, decoder in decoders.items():
        if rest := decoder.decode(b"", final=True):
            last = next(place for place in reversed(range(len(records))) if records[place].stream == stream)
            records[last] = Record(stream, records[last].at_ms, records[last].text + rest)
    return records
