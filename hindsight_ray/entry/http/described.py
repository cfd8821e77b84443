"""The door's own description, OpenAPI 3.1, made from the commands and from what verbs return."""

import inspect
from functools import lru_cache
from importlib import metadata
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from hindsight_ray.entry.http.answers import STATUSES
from hindsight_ray.entry.http.verbs import COMMANDS
from hindsight_ray.service.door import VERBS

_COMPONENTS = "#/components/schemas/{model}"
_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error", "message"],
    "properties": {
        "error": {
            "type": "string",
            "description": "A name of `hindsight_ray.errors`",
        },
        "message": {"type": "string", "description": "What is wrong and what to do"},
        "details": {"type": "object"},
    },
}


_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The command id: send it again when you retry, and there is one effect.",
}


@lru_cache(maxsize=1)
def described() -> dict[str, Any]:
    """The document: a path for each verb, with the schema of its command and of its answer."""
    inputs: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        (word, "validation", TypeAdapter(kind)) for word, kind in COMMANDS.items()
    ]
    outputs: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        (word, "serialization", TypeAdapter(get_type_hints(VERBS[kind])["return"]))
        for word, kind in COMMANDS.items()
    ]
    schemas, shared = TypeAdapter.json_schemas([*inputs, *outputs], ref_template=_COMPONENTS)
    defined: dict[str, dict[str, Any]] = shared.get("$defs", {})
    for kind in COMMANDS.values():
        _let_id_be_left_out(defined.get(kind.__name__, {}))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hindsight-ray",
            "version": metadata.version("hindsight-ray"),
            "description": "Shared memory for teams of agents. Each request brings its own ticket.",
        },
        "security": [{"ticket": []}],
        "paths": {
            f"/v1/{word}": {
                "post": _operation(
                    word, schemas[(word, "validation")], schemas[(word, "serialization")]
                )
            }
            for word in COMMANDS
        },
        "components": {
            "schemas": {**defined, "Error": _ERROR},
            "securitySchemes": {"ticket": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(word: str, asked: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    kind = COMMANDS[word]
    about = (inspect.getdoc(VERBS[kind]) or "").split("\n\n")[0].replace("\n", " ")
    refused = {"description": "Refused", "content": _json({"$ref": "#/components/schemas/Error"})}
    return {
        "operationId": word,
        "summary": about,
        "parameters": [_KEY] if "command_id" in kind.model_fields else [],
        "requestBody": {"required": True, "content": _json(asked)},
        "responses": {
            "200": {"description": "Done", "content": _json(answer)},
            **{str(code): refused for _, code in STATUSES},
        },
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _let_id_be_left_out(command: dict[str, Any]) -> None:
    """At this door a command id may also come as `Idempotency-Key`, or be made here."""
    required = [name for name in command.get("required", []) if name != "command_id"]
    command["required"] = required
