"""Output in frames: `stream (1 byte: o or e) · milliseconds since the epoch (8 bytes) · length (4 bytes) · bytes`."""

from __future__ import annotations

import struct

HEADER = struct.Struct(">cQI")
FRAME_BYTES = 64 * 1024
"""The most output in one frame."""


def frame(stream: bytes, text: bytes, milliseconds: int) -> bytes:
    """One frame."""
    return HEADER.pack(stream, milliseconds, len(text)) + text


def whole_frames(chunk: bytes) -> bytes:
    """The start of `chunk` that ends with a frame's end."""
    end = 0
    while end + HEADER.size <= len(chunk):
        length = HEADER.unpack_from(chunk, end)[2]
        if end + HEADER.size + length > len(chunk):
            break
        end += HEADER.size + length
    return chunk[:end]
