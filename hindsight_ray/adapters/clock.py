"""The system's clock and its source of fresh ids."""

import secrets
import threading
import time
from datetime import UTC, datetime


class SystemClock:
    """Wall time in UTC, and a steady count of seconds that setting the wall clock does not move."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def steady_s(self) -> float:
        return time.monotonic()


class SystemIds:
    """Ids from the operating system's randomness; event ids are UUIDv7, rising in this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._last = 0

    def event_id(self) -> str:
        digits = f"{self._uuid7(time.time_ns()):032x}"  # a `UUID` object would cost twice as much
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def token(self) -> str:
        return secrets.token_hex(16)

    def _uuid7(self, now_ns: int) -> int:
        """RFC 9562: 48 bits of milliseconds, 12 of their fraction (method 3), 62 random bits."""
        milliseconds, rest_ns = divmod(now_ns, 1_000_000)
        stamp = milliseconds << 12 | rest_ns * 4096 // 1_000_000
        with self._guard:
            self._last = stamp = max(stamp, self._last + 1)
        value = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64
        return value | 0b10 << 62 | secrets.randbits(62)
