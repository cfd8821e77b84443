"""The home's audit key: signs where the audit's chains stand, and knows what it has signed."""

import base64
from pathlib import Path

from cryptography.exceptions import InvalidSignature

from hindsight_ray.adapters.policy.key_files import KeyPair, key_id
from hindsight_ray.adapters.policy.tickets import KEY_FILE
from hindsight_ray.core.audit_chain import sealed_text
from hindsight_ray.domain.audit import Seal

AUDIT_KEYS = KeyPair("audit.key", "audit.pub")


class AuditKey:
    """`Sealer` by the keys of a home. Makes them where the operator's key is and they are not.

    A process of another machine has a folder without keys: it signs nothing, and what it wrote is
    signed by the next that can.
    """

    def __init__(self, home: Path) -> None:
        if (home / KEY_FILE).exists():
            AUDIT_KEYS.create(home)
        there = (home / AUDIT_KEYS.private).exists()
        self._key = AUDIT_KEYS.load(home) if there else None
        self._kid = "" if self._key is None else key_id(self._key.public_key())
        self._known = AUDIT_KEYS.known(home) if (home / AUDIT_KEYS.public).exists() else {}

    def sealed(self, seal: Seal) -> Seal | None:
        if self._key is None:
            return None
        signature = base64.b64encode(self._key.sign(sealed_text(seal))).decode("ascii")
        return seal.model_copy(update={"kid": self._kid, "signature": signature})

    def good(self, seal: Seal) -> bool:
        public = self._known.get(seal.kid)
        if public is None:
            return False
        try:
            public.verify(base64.b64decode(seal.signature, validate=True), sealed_text(seal))
        except (InvalidSignature, ValueError):
            return False
        return True
