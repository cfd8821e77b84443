"""A command's id at a door: the one given, so that a retry has one effect, or one of its own."""

import uuid


def fresh_unless(command_id: str | None) -> str:
    """The id that was given, be it empty, which is refused; else one of its own."""
    return uuid.uuid4().hex if command_id is None else command_id
