"""Tickets: what their key signed, in their time, and nothing else."""

import base64
import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hindsight_ray.adapters.policy.tickets import (
    KEY_FILE,
    PUBLIC_FILE,
    TicketSigner,
    create_operator_key,
    load_signer,
    load_verifier,
    retire_operator_key,
    rotate_operator_key,
)
from hindsight_ray.domain.caller import TicketRequest
from hindsight_ray.errors import HomeInvalid, InvalidInput, InvalidTicket, Unavailable
from tests.worlds import START

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
SIGNER = TicketSigner(KEY)
CLAIMS = {
    "iss": "hindsight-ray",
    "jti": "0" * 32,
    "tenant": "acme",
    "agent": "operator",
    "exp": int((START + timedelta(hours=1)).timestamp()),
}


def _request(**fields: object) -> TicketRequest:
    return TicketRequest.model_validate({"tenant": "acme", "agent": "planner", **fields})


def _signed(claims: dict[str, object], key: Ed25519PrivateKey = KEY, **headers: object) -> str:
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": SIGNER.kid, **headers})


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _without(*names: str) -> dict[str, object]:
    return {name: value for name, value in CLAIMS.items() if name not in names}


PUBLIC_RAW = KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
GOOD = _signed(dict(CLAIMS))
BAD: dict[str, Callable[[], object]] = {
    "nothing": lambda: "",
    "no token": lambda: "let me in",
    "no text": lambda: None,
    "a number": lambda: 5,
    "bytes": GOOD.encode,
    "two parts": lambda: ".".join(GOOD.split(".")[:2]),
    "a cut token": lambda: GOOD[:-2],
    "a huge token": lambda: GOOD + "A" * 100_000,
    "no algorithm": lambda: f"{_part({'alg': 'none', 'kid': SIGNER.kid})}.{_part(CLAIMS)}.",
    "an HMAC by the public key": lambda: jwt.encode(
        dict(CLAIMS), PUBLIC_RAW, algorithm="HS256", headers={"kid": SIGNER.kid}
    ),
    "another key": lambda: _signed(dict(CLAIMS), OTHER),
    "another key under its own name": lambda: _signed(
        dict(CLAIMS), OTHER, kid=TicketSigner(OTHER).kid
    ),
    "no key name": lambda: jwt.encode(dict(CLAIMS), KEY, algorithm="EdDSA"),
    "an odd key name": lambda: _signed(dict(CLAIMS), kid="../operator.key"),
    "other claims under a good signature": lambda: ".".join(
        [GOOD.split(".")[0], _part({**CLAIMS, "tenant": "globex"}), GOOD.split(".")[2]]
    ),
    "no end": lambda: _signed(_without("exp")),
    "an end that is text": lambda: _signed({**CLAIMS, "exp": "tomorrow"}),
    "an end that is true": lambda: _signed({**CLAIMS, "exp": True}),
    "an endless end": lambda: _signed({**CLAIMS, "exp": 10**30}),
    "no id": lambda: _signed(_without("jti")),
    "no tenant": lambda: _signed(_without("tenant")),
    "nobody": lambda: _signed(_without("agent")),
    "a tenant pattern": lambda: _signed({**CLAIMS, "tenant": "*"}),
    "an agent pattern": lambda: _signed({**CLAIMS, "agent": "{self}"}),
    "an unknown action": lambda: _signed({**CLAIMS, "actions": ["everything"]}),
    "no age": lambda: _signed({**CLAIMS, "age": None}),
    "an age that is text": lambda: _signed({**CLAIMS, "age": "none"}),
    "another issuer": lambda: _signed({**CLAIMS, "iss": "somebody"}),
    "expired": lambda: _signed({**CLAIMS, "exp": int(START.timestamp())}),
}


@pytest.mark.covers("G5.tickets")
@pytest.mark.parametrize("name", BAD)
async def test_whatever_is_no_ticket_is_refused_with_one_text(name: str) -> None:
    with pytest.raises(InvalidTicket) as refusal:
        await SIGNER.verify(BAD[name](), START)  # type: ignore[arg-type]
    assert refusal.value.message == "`ticket` is not valid here; ask the operator for a new one"
    assert refusal.value.details == {}


async def test_a_ticket_says_who_its_holder_is() -> None:
    asked = _request(
        user="alice", session="s1", scopes=frozenset({"user:alice"}), actions=frozenset({"read"})
    )
    ticket = await SIGNER.issue(asked, START)
    caller = await SIGNER.verify(ticket.token, START)
    assert caller == ticket.caller
    assert (caller.tenant, caller.agent, caller.user, caller.session) == (
        "acme", "planner", "alice", "s1",
    )  # fmt: skip
    assert (caller.scopes, caller.actions) == ({"user:alice"}, {"read"})
    assert caller.expires_at == START + timedelta(hours=12)


async def test_a_ticket_is_of_the_first_tenant_of_its_name_unless_it_says_otherwise() -> None:
    tickets = [await SIGNER.issue(_request(), START, age=age) for age in (0, 3, None)]
    read = [await SIGNER.verify(ticket.token, START) for ticket in tickets]
    assert [caller.age for caller in read] == [0, 3, None]
    old = await SIGNER.verify(GOOD, START)  # made before tickets said so
    assert old.age == 0


async def test_an_empty_narrowing_is_not_the_absence_of_one() -> None:
    ticket = await SIGNER.issue(_request(scopes=frozenset(), actions=frozenset()), START)
    caller = await SIGNER.verify(ticket.token, START)
    assert (caller.scopes, caller.actions) == (frozenset(), frozenset())


async def test_no_two_tickets_have_one_id() -> None:
    tickets = [await SIGNER.issue(_request(), START) for _ in range(50)]
    assert len({ticket.caller.ticket_id for ticket in tickets}) == 50


@pytest.mark.covers("G5.tickets")
async def test_expiry_is_checked_each_time_also_of_a_known_token() -> None:
    ticket = await SIGNER.issue(_request(lifetime_s=60), START)
    await SIGNER.verify(ticket.token, START + timedelta(seconds=59))
    for now in (START + timedelta(seconds=60), START + timedelta(days=1)):
        with pytest.raises(InvalidTicket):
            await SIGNER.verify(ticket.token, now)


@pytest.mark.parametrize("lifetime_s", [0, -1, 366 * 24 * 3600 + 1])
async def test_a_lifetime_has_its_limits(lifetime_s: int) -> None:
    with pytest.raises(InvalidInput):
        await SIGNER.issue(_request(lifetime_s=lifetime_s), START)


async def test_a_naive_time_is_refused() -> None:
    with pytest.raises(InvalidInput):
        await SIGNER.issue(_request(), datetime(2026, 3, 2))  # noqa: DTZ001 - what is refused


async def test_a_ticket_names_no_more_scopes_than_fit() -> None:
    with pytest.raises(InvalidInput):
        await SIGNER.issue(_request(scopes=frozenset(f"user:u{n}" for n in range(65))), START)


async def test_as_many_scopes_as_are_allowed_make_a_token_that_verifies() -> None:
    scopes = frozenset(f"user:{'u' * 120}{n}" for n in range(64))
    ticket = await SIGNER.issue(_request(scopes=scopes), START)
    assert (await SIGNER.verify(ticket.token, START)).scopes == scopes


@pytest.mark.covers("home.key")
def test_a_new_home_gets_a_key_that_only_its_owner_may_read(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        create_operator_key(tmp_path)
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [KEY_FILE, PUBLIC_FILE]


def test_making_the_key_again_changes_nothing(tmp_path: Path) -> None:
    create_operator_key(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    create_operator_key(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_of_several_that_open_a_new_home_at_once_all_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(create_operator_key, [tmp_path] * 24))
        kids = {signer.kid for signer in pool.map(load_signer, [tmp_path] * 8)}
    assert len(kids) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [KEY_FILE, PUBLIC_FILE]


async def test_a_verifier_needs_the_public_keys_only_and_issues_nothing(tmp_path: Path) -> None:
    create_operator_key(tmp_path)
    ticket = await load_signer(tmp_path).issue(_request(), START)
    (tmp_path / KEY_FILE).unlink()
    verifier = load_verifier(tmp_path)
    assert await verifier.verify(ticket.token, START) == ticket.caller
    with pytest.raises(Unavailable):
        await verifier.issue(_request(), START)


@pytest.mark.covers("G5.tickets")
async def test_a_ticket_of_another_home_is_refused(tmp_path: Path) -> None:
    homes = [tmp_path / "a", tmp_path / "b"]
    for home in homes:
        home.mkdir()
        create_operator_key(home)
    ticket = await load_signer(homes[0]).issue(_request(), START)
    with pytest.raises(InvalidTicket):
        await load_verifier(homes[1]).verify(ticket.token, START)


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o644])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    create_operator_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)
    with pytest.raises(HomeInvalid, match="chmod 600"):
        load_signer(tmp_path)


@pytest.mark.parametrize("data", [b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n", b"\xff" * 64])
def test_a_damaged_key_is_named(tmp_path: Path, data: bytes) -> None:
    create_operator_key(tmp_path)
    (tmp_path / KEY_FILE).write_bytes(data)
    with pytest.raises(HomeInvalid, match=KEY_FILE):
        load_signer(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": [{"x": "AAAA"}]}', '{"keys": [1]}'])
def test_damaged_public_keys_are_named(tmp_path: Path, text: str) -> None:
    create_operator_key(tmp_path)
    (tmp_path / PUBLIC_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(HomeInvalid, match=PUBLIC_FILE):
        load_verifier(tmp_path)


async def test_keys_rotate_and_old_tickets_stay_until_their_key_is_retired(tmp_path: Path) -> None:
    create_operator_key(tmp_path)
    first = load_signer(tmp_path)
    old = await first.issue(_request(), START)
    rotate_operator_key(tmp_path)
    second = load_signer(tmp_path)
    new = await second.issue(_request(), START)
    assert second.kid != first.kid
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    for ticket in (old, new):
        await load_verifier(tmp_path).verify(ticket.token, START)

    retire_operator_key(tmp_path, first.kid)
    await load_verifier(tmp_path).verify(new.token, START)
    with pytest.raises(InvalidTicket):
        await load_verifier(tmp_path).verify(old.token, START)


def test_the_key_that_signs_is_not_retired_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    create_operator_key(tmp_path)
    with pytest.raises(InvalidInput, match="signs now"):
        retire_operator_key(tmp_path, load_signer(tmp_path).kid)
    with pytest.raises(InvalidInput, match="none of this home's keys"):
        retire_operator_key(tmp_path, "0000")
