"""Tickets as signed tokens: EdDSA (Ed25519) JSON Web Tokens, made and verified with PyJWT.

Who may sign holds `operator.key`; everybody else needs `operator.pub` alone, which lists the public
keys by their `kid`. A new key can therefore be brought in while tickets of the old one run out, and
an old one be retired: whoever verifies reads the files again as soon as they have been written.
"""

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from jwt.types import Options

from hindsight_ray.adapters.policy.key_files import KeyPair, key_id
from hindsight_ray.domain.caller import Caller, Ticket, TicketRequest, expired
from hindsight_ray.errors import InvalidInput, InvalidTicket, Unavailable

KEY_FILE = "operator.key"
PUBLIC_FILE = "operator.pub"
OPERATOR_KEYS = KeyPair(KEY_FILE, PUBLIC_FILE)
LIFETIME_S_MAX = 366 * 24 * 3600
TOKEN_CHARACTERS_MAX = 16_384
SCOPES_MAX = 64
_ISSUER = "hindsight-ray"
_ALGORITHM = "EdDSA"
_VERIFIED_KEPT = 4_096
_ANY_AGE = "any"
_REFUSAL = "`ticket` is not valid here; ask the operator for a new one"
# Times are judged by the home's clock, in `verify`, and not by this machine's.
_CHECKS: Options = {
    "verify_exp": False, "verify_iat": False, "verify_nbf": False, "require": ["exp", "jti"],
}  # fmt: skip


class TicketVerifier:
    """Verifies tickets against public keys by `kid`. Times are judged by the caller's `now`.

    A verified token is remembered, since its signature cannot change; its expiry is checked anew.
    """

    def __init__(self, public_keys: Mapping[str, Ed25519PublicKey]) -> None:
        self._public_keys = dict(public_keys)
        self._verified: OrderedDict[str, Caller] = OrderedDict()

    async def issue(
        self,
        request: TicketRequest,  # noqa: ARG002 - port
        now: datetime,  # noqa: ARG002 - port
        *,
        age: int | None = 0,  # noqa: ARG002 - port
    ) -> Ticket:
        raise Unavailable(
            f"`{KEY_FILE}` is not held here, so no ticket can be issued; ask where the home is"
        )

    async def verify(self, token: str, now: datetime) -> Caller:
        try:
            self._refresh()
            caller = self._verified.get(token)
            if caller is None:
                caller = self._read(token)
                self._verified[token] = caller
                while len(self._verified) > _VERIFIED_KEPT:
                    self._verified.popitem(last=False)
            valid = not expired(caller, now)
        except Exception:  # noqa: BLE001 - whatever goes wrong here is a refusal, and one text
            valid = False
            caller = None
        if caller is None or not valid:
            raise InvalidTicket(_REFUSAL)
        return caller

    def vouched_for(self, token: str) -> Caller | None:
        try:
            self._refresh()
            return self._read(token)
        except Exception:  # noqa: BLE001 - whatever goes wrong here, nobody vouches for it
            return None

    def _refresh(self) -> None:
        """Keys that were given do not change."""

    def _learn(self, public_keys: Mapping[str, Ed25519PublicKey]) -> None:
        """Know these keys from now on; what others have signed is verified no longer."""
        self._public_keys = dict(public_keys)
        self._verified.clear()

    def _read(self, token: str) -> Caller:
        if type(token) is not str or len(token) > TOKEN_CHARACTERS_MAX:
            raise InvalidTicket(_REFUSAL)
        key = self._public_keys[jwt.get_unverified_header(token)["kid"]]
        claims = jwt.decode(token, key, algorithms=[_ALGORITHM], issuer=_ISSUER, options=_CHECKS)
        return _caller(claims)


class TicketSigner(TicketVerifier):
    """Issues tickets too. Lives only where the operator key is."""

    def __init__(
        self, key: Ed25519PrivateKey, public_keys: Mapping[str, Ed25519PublicKey] | None = None
    ) -> None:
        super().__init__({})
        self._sign_with(key, public_keys or {})

    def _sign_with(
        self, key: Ed25519PrivateKey, public_keys: Mapping[str, Ed25519PublicKey]
    ) -> None:
        public = key.public_key()
        self.kid = key_id(public)
        self._key = key
        self._learn({**public_keys, self.kid: public})

    async def issue(self, request: TicketRequest, now: datetime, *, age: int | None = 0) -> Ticket:
        if now.tzinfo is None:
            raise InvalidInput("`now` has no time zone", field="now")
        if not 1 <= request.lifetime_s <= LIFETIME_S_MAX:
            raise InvalidInput(
                f"`lifetime_s` is {request.lifetime_s}; from 1 to {LIFETIME_S_MAX} are possible",
                field="lifetime_s",
            )
        if request.scopes is not None and len(request.scopes) > SCOPES_MAX:
            raise InvalidInput(
                f"`scopes` has {len(request.scopes)} entries; at most {SCOPES_MAX} fit a ticket",
                field="scopes",
            )
        claims = _claims(request, now, age)
        token = jwt.encode(claims, self._key, algorithm=_ALGORITHM, headers={"kid": self.kid})
        return Ticket(token=token, caller=_caller(claims))


class HomeVerifier(TicketVerifier):
    """Verifies by the public keys in a home, as they are there at each call."""

    def __init__(self, home: Path) -> None:
        super().__init__(OPERATOR_KEYS.known(home))
        self._home = home
        self._stamp = OPERATOR_KEYS.stamps(home)[1]

    def _refresh(self) -> None:
        stamp = OPERATOR_KEYS.stamps(self._home)[1]
        if stamp != self._stamp:
            self._learn(OPERATOR_KEYS.known(self._home))
            self._stamp = stamp


class HomeSigner(TicketSigner):
    """Signs with the key that a home has at the moment, and verifies by its public ones."""

    def __init__(self, home: Path) -> None:
        self._stamps = OPERATOR_KEYS.stamps(home)
        super().__init__(OPERATOR_KEYS.load(home), OPERATOR_KEYS.known(home))
        self._home = home

    async def issue(self, request: TicketRequest, now: datetime, *, age: int | None = 0) -> Ticket:
        self._refresh()
        return await super().issue(request, now, age=age)

    def _refresh(self) -> None:
        stamps = OPERATOR_KEYS.stamps(self._home)
        if stamps != self._stamps:
            self._sign_with(OPERATOR_KEYS.load(self._home), OPERATOR_KEYS.known(self._home))
            self._stamps = stamps


def create_operator_key(home: Path) -> None:
    """Make the home's operator key unless there is one. Of two processes that try, one does.

    The file appears whole and with mode 0600, or not at all.
    """
    OPERATOR_KEYS.create(home)


def rotate_operator_key(home: Path) -> str:
    """Sign with a new key from now on and return its `kid`; tickets of the old keys stay valid."""
    return OPERATOR_KEYS.rotate(home)


def retire_operator_key(home: Path, kid: str) -> None:
    """Refuse every ticket signed with an old key, from the next call on."""
    OPERATOR_KEYS.retire(home, kid)


def load_signer(home: Path) -> TicketSigner:
    """The home's signer. Raises `HomeInvalid` if the key is missing, damaged or open to others."""
    return HomeSigner(home)


def load_verifier(home: Path) -> TicketVerifier:
    """The home's verifier, which needs no private key."""
    return HomeVerifier(home)


def _claims(request: TicketRequest, now: datetime, age: int | None) -> dict[str, Any]:
    claims: dict[str, Any] = {
        "iss": _ISSUER,
        "jti": secrets.token_hex(16),
        "iat": int(now.timestamp()),
        "exp": int((now + timedelta(seconds=request.lifetime_s)).timestamp()),
        "tenant": request.tenant,
        "agent": request.agent,
        "user": request.user,
        "session": request.session,
        "scopes": None if request.scopes is None else sorted(request.scopes),
        "actions": None if request.actions is None else sorted(request.actions),
        "age": _ANY_AGE if age is None else age or None,
    }
    return {name: value for name, value in claims.items() if value is not None}


def _caller(claims: Mapping[str, Any]) -> Caller:
    ends = claims["exp"]
    age = claims.get("age", 0)
    if type(ends) is not int or (age != _ANY_AGE and type(age) is not int):
        raise InvalidTicket(_REFUSAL)
    return Caller(
        tenant=claims["tenant"],
        agent=claims.get("agent"),
        user=claims.get("user"),
        session=claims.get("session"),
        ticket_id=claims["jti"],
        expires_at=datetime.fromtimestamp(ends, UTC),
        scopes=None if "scopes" not in claims else frozenset(claims["scopes"]),
        actions=None if "actions" not in claims else frozenset(claims["actions"]),
        age=None if age == _ANY_AGE else age,
    )
