"""The prompts that are shipped with the package: files with a head that names their shape."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import cast

import yaml

from hindsight_ray.core.digest import digest
from hindsight_ray.core.shapes import SHAPES
from hindsight_ray.domain.base import build
from hindsight_ray.domain.chat import Prompt, PromptName
from hindsight_ray.errors import InvalidSettings

_FOLDER = "prompts"


@cache
def shipped_prompts() -> Mapping[PromptName, Prompt]:
    """Every prompt by its name. Raises `InvalidSettings` for a file that is none."""
    folder = resources.files("hindsight_ray").joinpath(_FOLDER)
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".md")), key=str)
    prompts = [prompt_of(one.name, one.read_text(encoding="utf-8")) for one in files]
    return MappingProxyType({prompt.name: prompt for prompt in prompts})


def prompt_of(name: str, text: str) -> Prompt:
    """The prompt in a file's text. Its hash covers the head, the text and the answer's schema."""
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0]:
        raise InvalidSettings(f"prompt {name!r} has no head between two lines of `---`")
    head = cast("Mapping[str, object]", yaml.safe_load(parts[1]))
    shape = SHAPES.get(str(head.get("answer")))
    if shape is None:
        raise InvalidSettings(f"prompt {name!r} asks for the unknown shape {head.get('answer')!r}")
    schema = json.dumps(shape.model_json_schema(), sort_keys=True, separators=(",", ":"))
    return build(
        Prompt,
        {
            "name": head.get("id"),
            "version": head.get("version"),
            "slot": head.get("slot"),
            "text": parts[2].strip(),
            "answer": shape.__name__,
            "answer_schema": schema,
            "hash": digest({"file": text, "schema": schema}),
        },
    )
