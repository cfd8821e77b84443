"""Tickets as signed tokens: EdDSA (Ed25519) JSON Web Tokens, made and verified with PyJWT.

Who may sign holds `operator.key`; everybody else needs `operator.pub` alone, which lists the public
keys by their `kid`. A new key can therefore be brought in while tickets of the old one run out.
"""

import base64
import hashlib
import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from jwt.types import Options

from hindsight_ray.domain.caller import Caller, Ticket, TicketRequest, expired
from hindsight_ray.errors import HomeInvalid, InvalidInput, InvalidTicket, Unavailable

KEY_FILE = "operator.key"
PUBLIC_FILE = "operator.pub"
LIFETIME_S_MAX = 366 * 24 * 3600
TOKEN_CHARACTERS_MAX = 16_384
SCOPES_MAX = 64
_ISSUER = "hindsight-ray"
_ALGORITHM = "EdDSA"
_VERIFIED_KEPT = 4_096
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

    async def issue(self, request: TicketRequest, now: datetime) -> Ticket:  # noqa: ARG002 - port
        raise Unavailable(
            f"`{KEY_FILE}` is not held here, so no ticket can be issued; ask where the home is"
        )

    async def verify(self, token: str, now: datetime) -> Caller:
        try:
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
        public = key.public_key()
        self.kid = key_id(public)
        super().__init__({**(public_keys or {}), self.kid: public})
        self._key = key

    async def issue(self, request: TicketRequest, now: datetime) -> Ticket:
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
        claims = _claims(request, now)
        token = jwt.encode(claims, self._key, algorithm=_ALGORITHM, headers={"kid": self.kid})
        return Ticket(token=token, caller=_caller(claims))


def key_id(public: Ed25519PublicKey) -> str:
    """The `kid` of a key: 16 hex digits of its SHA-256."""
    return hashlib.sha256(_raw(public)).hexdigest()[:16]


def create_operator_key(home: Path) -> None:
    """Make the home's operator key unless there is one. Of two processes that try, one does.

    The file appears whole and with mode 0600, or not at all.
    """
    if not (home / KEY_FILE).exists():
        _write_once(home / KEY_FILE, _pem(Ed25519PrivateKey.generate()))
    if not (home / PUBLIC_FILE).exists():
        public = _load_key(home).public_key()
        _replace(home / PUBLIC_FILE, _public_text({key_id(public): public}), mode=0o644)


def rotate_operator_key(home: Path) -> str:
    """Sign with a new key from now on and return its `kid`; tickets of the old keys stay valid."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key()
    known = {**_load_public(home), key_id(public): public}
    _replace(home / PUBLIC_FILE, _public_text(known), mode=0o644)  # first: verifiers need it
    _replace(home / KEY_FILE, _pem(key), mode=0o600)
    return key_id(public)


def retire_operator_key(home: Path, kid: str) -> None:
    """Refuse every ticket signed with an old key, once processes have read the list again."""
    known = _load_public(home)
    if kid not in known:
        raise InvalidInput(f"`kid` {kid!r} is none of this home's keys: {sorted(known)}")
    if kid == key_id(_load_key(home).public_key()):
        raise InvalidInput(f"`kid` {kid!r} is the key that signs now; rotate before retiring it")
    del known[kid]
    _replace(home / PUBLIC_FILE, _public_text(known), mode=0o644)


def load_signer(home: Path) -> TicketSigner:
    """The home's signer. Raises `HomeInvalid` if the key is missing, damaged or open to others."""
    return TicketSigner(_load_key(home), _load_public(home))


def load_verifier(home: Path) -> TicketVerifier:
    """The home's verifier, which needs no private key."""
    return TicketVerifier(_load_public(home))


def _claims(request: TicketRequest, now: datetime) -> dict[str, Any]:
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
    }
    return {name: value for name, value in claims.items() if value is not None}


def _caller(claims: Mapping[str, Any]) -> Caller:
    ends = claims["exp"]
    if type(ends) is not int:
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
    )


def _raw(public: Ed25519PublicKey) -> bytes:
    return public.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public_text(keys: Mapping[str, Ed25519PublicKey]) -> bytes:
    listed = [
        {"kid": kid, "kty": "OKP", "crv": "Ed25519", "x": base64.b64encode(_raw(key)).decode()}
        for kid, key in sorted(keys.items())
    ]
    return json.dumps({"keys": listed}, indent=2).encode() + b"\n"


def _load_key(home: Path) -> Ed25519PrivateKey:
    path = home / KEY_FILE
    try:
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            raise HomeInvalid(
                f"`{path}` can be read by others (mode {mode:04o}); run `chmod 600` on it",
                path=str(path),
            )
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise HomeInvalid(f"`{path}` cannot be read as an operator key", path=str(path)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise HomeInvalid(f"`{path}` is no Ed25519 key", path=str(path))
    return key


def _load_public(home: Path) -> dict[str, Ed25519PublicKey]:
    path = home / PUBLIC_FILE
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["keys"]
        keys = [Ed25519PublicKey.from_public_bytes(base64.b64decode(one["x"])) for one in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HomeInvalid(f"`{path}` cannot be read as public keys", path=str(path)) from error
    return {key_id(key): key for key in keys}


def _write_once(path: Path, data: bytes) -> None:
    """Put `data` at `path` with mode 0600 unless the file is there by then."""
    draft = _draft(path, data, 0o600)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first, and its key is the home's
    finally:
        draft.unlink()
    _sync_folder(path.parent)


def _replace(path: Path, data: bytes, *, mode: int) -> None:
    _draft(path, data, mode).replace(path)
    _sync_folder(path.parent)


def _draft(path: Path, data: bytes, mode: int) -> Path:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)  # whatever the umask is
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return draft


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
