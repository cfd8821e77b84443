"""A check in pydantic's own code before the full one, for what comes by the thousand.

Most ids and texts are plainly right: a pattern that admits nothing the full check would change or
refuse says so without a call into Python. Whatever the pattern does not know goes to the full
check, which alone refuses and says why. That a pattern is narrow enough is tested.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core import core_schema as cs


@dataclass(frozen=True, slots=True)
class Quick:
    """Annotates a `str`: strictly text, right as it is by `pattern` or as `full` returns it.

    `pattern` is of Rust's regular expressions, from `^` to `$`.
    """

    pattern: str
    full: Callable[[str], str]
    limit: int | None = None  # characters that the pattern's texts may have

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        plainly = cs.str_schema(pattern=self.pattern, max_length=self.limit)
        fully = cs.no_info_after_validator_function(self.full, cs.str_schema())
        either = cs.union_schema([plainly, fully], mode="left_to_right")
        text = cs.str_schema(strict=True)
        return cs.chain_schema([text, either], serialization=cs.simple_ser_schema("str"))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(cs.str_schema())
