"""What each tenant has said of secrets and personal data."""

from typing import Protocol

from hindsight_ray.domain.privacy import Privacy


class PrivacyLog(Protocol):
    """One word per tenant; None until its administrator has said one."""

    async def get(self, tenant: str) -> Privacy | None: ...

    async def put(self, tenant: str, privacy: Privacy) -> None: ...
