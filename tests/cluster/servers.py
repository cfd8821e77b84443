"""A deployment over servers of its own: the settings that name them, the variables that tell."""

import json
import os
from collections.abc import Mapping
from typing import Any

from tests.ledgers import new_database
from tests.servers.postgres import Postgres
from tests.servers.weaviate import Weaviate

_CHOICES = "HINDSIGHT_TEST_CHOICES"
_KEY = "HINDSIGHT_TEST_WEAVIATE_KEY"


def environment(postgres: Postgres, weaviate: Weaviate, **more: str) -> dict[str, str]:
    """The environment of a process that is to start a deployment over a fresh database."""
    choices = {
        "ledger": "postgresql", "store": "weaviate", "weaviate_url": weaviate.url,
        "weaviate_grpc_port": weaviate.grpc_port, "weaviate_api_key_env": _KEY,
        "embedding": "hashed",
    }  # fmt: skip
    told = {"HINDSIGHT_POSTGRES_DSN": new_database(postgres), _KEY: weaviate.api_key}
    return {**os.environ, **told, _CHOICES: json.dumps(choices), **more}


def choices() -> Mapping[str, Any]:
    """The settings that were told to this process."""
    told: Mapping[str, Any] = json.loads(os.environ[_CHOICES])
    return told
