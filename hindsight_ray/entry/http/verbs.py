"""Which word of a path stands for which command: the door's own verbs, all of them.

The words are those of the client; what the client names otherwise is said here.
"""

import re

from hindsight_ray.domain import commands as c
from hindsight_ray.service.door import VERBS

_SAID: dict[type[c.Command], str] = {
    c.AssertOutcome: "outcome",
    c.JoinRun: "join",
    c.RecordEvents: "record",
    c.ReviewRun: "review",
    c.ReadCredits: "credits",
    c.WhoAmI: "whoami",
}


def _word(kind: type[c.Command]) -> str:
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    return _SAID.get(kind, snake)


COMMANDS: dict[str, type[c.Command]] = {_word(kind): kind for kind in VERBS}
