"""Values as few bytes: compact JSON, compressed."""

from __future__ import annotations

import json
import zlib
from typing import Any

COMPRESSION = 6

SAID_OFTEN = (
    '"gpu_memory","label":"memory per GPU","tone":"never"},{"count":1,"key":"gpu_models","label":"GPU model",'
    '"key":"gpu_count","label":"GPU count","key":"cpu_cores","label":"CPU cores","key":"memory","label":"RAM",'
    '"key":"label","label":"labels","key":"offline","label":"offline","key":"draining","label":"draining",'
    '"key":"memory_in_use","label":"RAM in use","key":"reserved","label":"reserved","tone":"rsv",'
    'No worker can ever run this job; devices in use; max_concurrent_tasks is the number to raise."],'
    "Starts on , device 0, devices 0–7: the only worker that could take it.610 workers could run it, 1 was free. were "
    '"label":"number of GPUs","key":"gpu_count","short_answer":"the only one free","label":"selected: "Reserved for '
    "GPUs are free; GPU is free; held by j-1, all 8 task slots are taken by j-1, j-2, j-3, +3; of 8 "
    'Closest is One of the closest is What stands in the way first: "short_answer":" fit, none free: '
    '{"answer":{"lead":"Waiting:  workers can run this job, none is free now.","more":["","state":"waiting"},'
    '"assignments":[{"devices":[0,1,2,3,4,5,6,7],"node_rank":0,"worker":""}],"counts":{"eligible":0,'
    '"incompatible":0,"selected":1,"unavailable":0},"ever_schedulable":true,"funnel":[{"count":1,"key":"workers",'
    '"label":"workers known","losses":[]},{"count":1,"key":"tier","label":"in the target: local","losses":[]},'
    '{"count":1,"key":"compatible","label":"can run it (capability)","losses":[{"count":1,"key":"","label":"",'
    '"tone":"never"}]},{"count":0,"key":"available","label":"free now (availability)","losses":[{"count":1,'
    '"key":"slots","label":"task slots taken","tone":"wait"},{"count":1,"key":"cpu_in_use","label":"CPU in use",'
    '"tone":"wait"},{"count":1,"key":"gpu_in_use","label":"devices in use","tone":"wait"}]},{"count":1,'
    '"key":"selected","label":"selected","losses":[{"count":1,"key":"","label":"not chosen","tone":"none"}]}],'
    '"short_answer":"","tiers":[{"name":"local","status":"placed"},{"name":"remote","status":"waiting"},'
    '{"name":"cloud","status":"not_needed"}]}'
).encode()
"""What summaries of decisions have in common. Never change it: what was packed with it cannot be read without it."""


def packed(value: Any, *, known: bytes = b"") -> bytes:
    """JSON, compressed; `known` is what its reader will know already."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    squeeze = zlib.compressobj(COMPRESSION, zdict=known)
    return squeeze.compress(text.encode()) + squeeze.flush()


def unpacked(data: bytes | memoryview, *, known: bytes = b"") -> Any:
    """What was packed; tuples have become lists."""
    return json.loads(zlib.decompressobj(zdict=known).decompress(data))
