"""Do these entries still hold each other? Hashes of a chain, and the first place that is off.

An entry's hash covers its own words, its tenant, writer and place, and the hash before it: to
change, drop or move one means to change every later hash, and with them the head that was signed.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from hindsight_ray.domain.audit import AuditFault, Chained, Fault, Head, Seal
from hindsight_ray.domain.rows import AuditEntry

BEGINNING = ""  # what comes before the first entry


def entry_hash(before: str, entry: AuditEntry, writer: str, place: int) -> str:
    """64 hex digits over the entry, where it stands and what came before."""
    words = [
        before, entry.tenant, writer, place, entry.at.isoformat(), entry.principal, entry.verb,
        entry.object, entry.effect, entry.rule, entry.revision, entry.digest,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(words, ensure_ascii=True).encode("ascii")).hexdigest()


def sealed_text(seal: Seal) -> bytes:
    """What is signed: the tenant, the time, and every head in the order of the writers."""
    heads = sorted((one.writer, one.place, one.hash) for one in seal.heads)
    words = ["hindsight-ray audit", seal.tenant, seal.at.isoformat(), heads]
    return json.dumps(words, ensure_ascii=True).encode("ascii")


class ChainCheck:
    """Follows one writer's chain, fed in the order of places, and remembers what it must not lose.

    `wanted` are places whose hash somebody has signed: the chain must reach each with that hash.
    """

    def __init__(self, writer: str, wanted: Iterable[Head]) -> None:
        self.writer = writer
        self.fault: AuditFault | None = None
        self.entries = 0
        self._before = BEGINNING
        self._number = 0
        self._wanted: Mapping[int, set[str]] = _by_place(wanted)

    def feed(self, ones: Sequence[Chained]) -> None:
        """The next entries; the last of them is looked at when its successor is known."""
        for one in ones:
            self.entries += 1
            if self.fault is None:
                self._look(one)

    def finish(self) -> None:
        """The chain ends here: whatever was signed beyond is missing."""
        last = max(self._wanted, default=0)
        if self.fault is None and last > self.entries:
            self._found(self.entries + 1, "truncated")

    def _look(self, one: Chained) -> None:
        place = self.entries
        if one.place < place:
            self._found(one.place, "reordered")
        elif one.place > place:
            self._found(place, "dropped")
        elif one.number <= self._number:
            self._found(place - 1, "reordered")  # this one was written before the last
        elif entry_hash(self._before, one.entry, self.writer, place) != one.hash:
            self._found(place, "flipped")
        elif self._wanted.get(place, {one.hash}) != {one.hash}:
            self._found(place, "forged")
        self._before, self._number = one.hash, one.number

    def _found(self, place: int, fault: Fault) -> None:
        self.fault = AuditFault(writer=self.writer, place=place, fault=fault)


def _by_place(heads: Iterable[Head]) -> Mapping[int, set[str]]:
    found: dict[int, set[str]] = {}
    for head in heads:
        found.setdefault(head.place, set()).add(head.hash)
    return found
