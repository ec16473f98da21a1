"""Values that nobody should send, and what they look like in each place where a value can stand."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, quote_from_bytes

RAW = {
    "NaN": b"NaN",
    "infinity": b"1e999",
    "minus infinity": b"-Infinity",
    "a number beyond 64 bits": str(2**70).encode(),
    "a number of 5,000 digits": b"9" * 5_000,
    "NUL": b'"a\\u0000b"',
    "half a character": b'"a\\ud800"',
    "a list in lists": b"[" * 300 + b"]" * 300,
    "a name of a megabyte": b'"' + b"x" * 1_000_000 + b'"',
    "an object": b'{"$ne": null}',
}
"""JSON that no field of any call takes."""

TYPED: dict[str, str] = {
    "NaN": "NaN",
    "infinity": "1e999",
    "a number beyond 64 bits": str(2**70),
    "a negative number beyond 64 bits": str(-(2**70)),
    "NUL": "a\0b",
    "half a character": "a\ud800b",
    "text that runs backwards": "a\u202eb",
    "line ends": "a\r\nb\x1b[31m",
    "a name of a hundred thousand": "x" * 100_000,
    "digits that are none": "\u0661\u00b2",
}
"""What can be typed, or put into an address."""


def in_address(value: str) -> str:
    """The value as part of a path or a query."""
    return quote_from_bytes(value.encode("utf-8", "surrogatepass"), safe="")


ADDRESSES = {
    "a number beyond 64 bits": str(2**70), "zero": "0", "NUL": "%00", "half a character": "%ED%A0%80",
    "text that runs backwards": quote("a\u202eb"), "a way up": "..%2F..%2Fetc%2Fpasswd", "too long": "x" * 3_000,
    "another kind of dot": quote("\uff0e\uff0e\u2215"), "a quote": "%27%22%3B--",
    "digits that are none": quote("\u0661"),
}  # fmt: skip
"""Parts of a path, as they stand in it."""


def example(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:
    """Something that a schema might take: its required fields, each with the simplest value of its kind."""
    if "$ref" in schema:
        schema = shapes[schema["$ref"].rsplit("/", 1)[-1]]
    for inner in schema.get("anyOf", []) or schema.get("allOf", []):
        return example(inner, shapes)
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {name: example(fields[name], shapes) for name in schema.get("required", ())}
        case "array":
            return []
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return "2030-01-01T00:00:00Z" if schema.get("format") == "date-time" else "x"
