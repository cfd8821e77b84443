"""Names of agents in a log, as ids of this product: different names stay different.

A name that keeps the rule of ids stays as it is. Any other is spelled out behind `u.`, each
character that the rule forbids as its code in hex between dashes (`Data Expert` is
`u.Data-20-Expert`); one that would get too long is known by its digest behind `h.`. Names that
begin with either mark are spelled out too, so that nobody can take another's place.
"""

import hashlib
import unicodedata

from hindsight_ray.domain.ids import AgentName, checked_name
from hindsight_ray.errors import InvalidInput

UNNAMED = "assistant"
_MARKS = ("u.", "h.")
_CHARACTERS_MAX = 128


def agent_id(name: str) -> AgentName:
    """The id of the agent that a log calls `name`; nothing but white space is `assistant`."""
    plain = unicodedata.normalize("NFC", name).strip()
    if not plain:
        return AgentName(UNNAMED)
    if not plain.startswith(_MARKS):
        try:
            return AgentName(checked_name(plain))
        except InvalidInput:
            pass
    spelled = "u." + "".join(_spelled(character) for character in plain)
    if len(spelled) <= _CHARACTERS_MAX:
        return AgentName(spelled)
    return AgentName("h." + hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest())


def _spelled(character: str) -> str:
    if character.isascii() and (character.isalnum() or character in "._@"):
        return character
    return f"-{ord(character):x}-"
