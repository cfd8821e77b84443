"""When a session's window is full, which notes become one line, and which by rules alone."""

import re
from collections.abc import Sequence

from hindsight_ray.core.steps import shortened
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX

_SUMMARY = re.compile(r"Earlier \((\d{1,9}) notes(?:, [^()]{1,80})?\): ")
_JOINT = "; "
_OLD_SHARE = 0.4  # of the room, for what a summary before this one said


def foldable(lines: Sequence[str], keep: int) -> int:
    """How many of the oldest lines are to become one: none, or all but half of `keep`.

    So a full window is summarised once for every half of it, not at each note.
    """
    return 0 if len(lines) <= keep else len(lines) - keep // 2


def summary_of(lines: Sequence[str], said: str = "", by: str = "") -> str:
    """One line for these: what a model `said` of them, else the beginning of each by rules.

    It counts every note that it stands for, those of an earlier summary included, and names the
    prompt `by` which a model said it.
    """
    count, earlier, notes = 0, "", list(lines)
    before = _SUMMARY.match(notes[0]) if notes else None
    if before is not None:
        count, earlier = int(before.group(1)), notes.pop(0)[before.end() :]
    count += len(notes)
    model = f", {by}" if by and said.strip() else ""
    head = f"Earlier ({count} notes{model}): "
    room = SUMMARY_CHARACTERS_MAX - len(head)
    if said.strip():
        return head + shortened(said, room)
    parts = [shortened(earlier, int(room * _OLD_SHARE))] if earlier else []
    left = room - sum(len(part) + len(_JOINT) for part in parts)
    share = max(left // max(len(notes), 1) - len(_JOINT), 8)
    parts += [shortened(note, share) for note in notes]
    return head + shortened(_JOINT.join(parts), room)
