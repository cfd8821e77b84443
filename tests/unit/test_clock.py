"""The system's clock and ids."""

import uuid
from datetime import UTC

from hindsight_ray.adapters.clock import SystemClock, SystemIds


def test_the_clock_is_aware_and_the_count_of_seconds_never_falls() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    counts = [clock.steady_s() for _ in range(100)]
    assert counts == sorted(counts)


def test_event_ids_are_uuid7_and_rise() -> None:
    ids = SystemIds()
    made = [ids.event_id() for _ in range(2_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    for text in made[:10]:
        parsed = uuid.UUID(text)
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)


def test_tokens_are_32_hex_digits_and_differ() -> None:
    ids = SystemIds()
    tokens = {ids.token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 32 and int(token, 16) >= 0 for token in tokens)
