"""The formats of logs that can be imported, each with its parser."""

from collections.abc import Callable, Mapping

from hindsight_ray.core.logs import openai_messages, who_and_when
from hindsight_ray.core.logs.shape import ParsedLog

PARSERS: Mapping[str, Callable[[str], ParsedLog]] = {
    "openai-messages": openai_messages.parse,
    "who-and-when": who_and_when.parse,
}
