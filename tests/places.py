"""What a Weaviate holds for a home, asked by the server's own interface."""

import json
import urllib.request
from typing import Any

from tests.servers.weaviate import Weaviate

Places = dict[str, set[str]]  # by collection


def asked(server: Weaviate, path: str, method: str = "GET") -> Any:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    request = urllib.request.Request(server.url + path, headers=headers, method=method)
    with urllib.request.urlopen(request) as got:
        return json.loads(got.read() or b"null")


def places_of(server: Weaviate) -> Places:
    """Which places each collection has."""
    classes = asked(server, "/v1/schema")["classes"]
    names = [one["class"] for one in classes if one["multiTenancyConfig"]["enabled"]]
    return {n: {t["name"] for t in asked(server, f"/v1/schema/{n}/tenants")} for n in names}


def new_places(server: Weaviate, before: Places, like: str) -> set[tuple[str, str]]:
    """Places made since then in collections of such a name, each after its collection."""
    return {
        (name, place)
        for name, places in places_of(server).items()
        if name.startswith(like)
        for place in places - before.get(name, set())
    }


def new_objects(server: Weaviate, before: Places, like: str) -> list[Any]:
    return [
        one
        for name, place in sorted(new_places(server, before, like))
        for one in asked(server, f"/v1/objects?class={name}&tenant={place}&limit=100")["objects"]
    ]
