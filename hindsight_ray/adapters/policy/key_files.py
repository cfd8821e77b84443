"""Key files of a home: made once, rotated and retired without a process noticing a gap.

A private key lies in one file that its owner alone may read; beside it a list of public keys by
their `kid`. Files appear whole or not at all, so that a process may read them at any moment.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from hindsight_ray.adapters.whole_files import (
    PRIVATE,
    as_before_unless_done,
    replace_file,
    write_once,
)
from hindsight_ray.errors import HomeInvalid, InvalidInput

Stamp = tuple[int, int, int]  # which writing of a file this is


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A private key's file and the list of public ones, both in the home."""

    private: str
    public: str

    def create(self, home: Path) -> None:
        """Make the key unless there is one. Of two processes that try, one does."""
        if not (home / self.private).exists():
            write_once(home / self.private, _pem(Ed25519PrivateKey.generate()), mode=PRIVATE)
        if not (home / self.public).exists():
            public = self.load(home).public_key()
            replace_file(home / self.public, _public_text({key_id(public): public}))

    def rotate(self, home: Path) -> str:
        """Sign with a new key from now on and return its `kid`; the old ones stay good."""
        key = Ed25519PrivateKey.generate()
        public = key.public_key()
        known = {**self.known(home), key_id(public): public}
        replace_file(home / self.public, _public_text(known))  # first: verifiers need it
        replace_file(home / self.private, _pem(key), mode=PRIVATE)
        return key_id(public)

    def retire(self, home: Path, kid: str) -> None:
        """Refuse whatever an old key has signed, from the next call on."""
        known = self.known(home)
        if kid not in known:
            raise InvalidInput(f"`kid` {kid!r} is none of this home's keys: {sorted(known)}")
        if kid == self.current(home):
            raise InvalidInput(
                f"`kid` {kid!r} is the key that signs now; rotate before retiring it"
            )
        del known[kid]
        replace_file(home / self.public, _public_text(known))

    def as_before_unless_done(self, home: Path) -> AbstractContextManager[None]:
        """Within it the keys may change; if it fails, they are what they were."""
        return as_before_unless_done([home / self.private, home / self.public])

    def current(self, home: Path) -> str:
        """The `kid` that signs now."""
        return key_id(self.load(home).public_key())

    def load(self, home: Path) -> Ed25519PrivateKey:
        """The private key. Raises `HomeInvalid` if it is missing, damaged or open to others."""
        path = home / self.private
        try:
            mode = path.stat().st_mode & 0o777
            if mode & 0o077:
                raise HomeInvalid(
                    f"`{path}` can be read by others (mode {mode:04o}); run `chmod 600` on it",
                    path=str(path),
                )
            key = load_pem_private_key(path.read_bytes(), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise HomeInvalid(
                f"`{path}` cannot be read as an operator key", path=str(path)
            ) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise HomeInvalid(f"`{path}` is no Ed25519 key", path=str(path))
        return key

    def known(self, home: Path) -> dict[str, Ed25519PublicKey]:
        """The public keys by `kid`. Raises `HomeInvalid`."""
        path = home / self.public
        try:
            listed = json.loads(path.read_text(encoding="utf-8"))["keys"]
            keys = [
                Ed25519PublicKey.from_public_bytes(base64.b64decode(one["x"])) for one in listed
            ]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise HomeInvalid(f"`{path}` cannot be read as public keys", path=str(path)) from error
        return {key_id(key): key for key in keys}

    def stamps(self, home: Path) -> tuple[Stamp | None, Stamp | None]:
        """Which writings of the two files these are; None for one that is not there."""
        return _stamp(home / self.private), _stamp(home / self.public)


def key_id(public: Ed25519PublicKey) -> str:
    """The `kid` of a key: 16 hex digits of its SHA-256."""
    return hashlib.sha256(_raw(public)).hexdigest()[:16]


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)


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
