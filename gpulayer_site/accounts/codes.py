"""One-time codes as people read and type them."""

import secrets

# Without the characters that are mistaken for one another when read aloud or typed from a terminal.
_CODE_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_CODE_GROUPS, _CODE_GROUP_LENGTH = 4, 4


def new_code() -> str:
    """A one-time code that can be typed, such as `K7QF-2M9X-PD4T-HH3W` (80 random bits)."""
    return "-".join(
        "".join(secrets.choice(_CODE_ALPHABET) for _ in range(_CODE_GROUP_LENGTH)) for _ in range(_CODE_GROUPS)
    )


def plain_code(typed: str) -> str:
    """The code as it is hashed: however it was spaced, hyphenated or capitalised."""
    return "".join(character for character in typed.upper() if character.isalnum())
