"""What every ledger keeps of memories: revisions, changes, and which rows a filter lets through."""

from datetime import timedelta

import pytest

from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import MemoryStatistics, Scene
from hindsight_ray.errors import (
    NotFound,
    RevisionConflict,
)
from hindsight_ray.ports import Ledger
from tests.records import memory_of, name_of, put, rows, words
from tests.worlds import START, TENANT


async def test_a_memory_moves_on_by_one_revision_at_a_time(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        with pytest.raises(RevisionConflict):
            await put(unit, memory_of("a", revision=2))
        assert await put(unit, memory_of("a")) == 1
        with pytest.raises(RevisionConflict):
            await put(unit, memory_of("a"))
        changed = memory_of("a", revision=2, content="changed")
        assert await put(unit, changed) == 2
        with pytest.raises(RevisionConflict):
            await put(unit, memory_of("a", revision=4))
        assert await unit.memories.current(TENANT, [name_of("a"), name_of("b")]) == {
            changed.id: changed
        }


@pytest.mark.parametrize(
    "said",
    [
        '"content":"x" is \\"said\\"',
        "two\nlines\t\\",
        "名前は\u2028😀",
        '\\",\\"content\\":\\"',
    ],
)
async def test_what_a_record_states_is_known_before_the_rest_of_it(
    ledger: Ledger, said: str
) -> None:
    waits = memory_of("a", content=said, status="pending", tags=('"content":"',))
    hidden = memory_of("b", content=said, labels=("secret",), tags=('"labels":[]',))
    async with ledger.writing() as unit:
        await put(unit, waits)
        await put(unit, hidden)
    async with ledger.reading() as unit:
        asked = [waits.id, hidden.id, name_of("c")]
        stated = await unit.memories.stated(TENANT, asked)
    assert {name: (one.content, one.labelled) for name, one in stated.items()} == {
        waits.id: (said, False),
        hidden.id: (said, True),
    }
    assert [stated[name].status for name in asked[:2]] == ["pending", "active"]
    assert [stated[name].memory() for name in asked[:2]] == [waits, hidden]


async def test_a_change_without_a_vector_keeps_the_one_before(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        key = await unit.keys.ensure(TENANT, ("global",))
        more = {"key": key, "terms": {"a": 1}, "by": "b", "why": "w"}
        with pytest.raises(RevisionConflict):
            await unit.memories.put(memory_of("a"), None, **more)
        await put(unit, memory_of("a"))
        assert await unit.memories.put(memory_of("a", revision=2, tags=("x",)), None, **more) == 2


async def test_revisions_stay_readable_and_their_history_says_who_and_why(ledger: Ledger) -> None:
    first, second = memory_of("a"), memory_of("a", revision=2, content="changed")
    refs = [MemoryRef(id=first.id, revision=number) for number in (1, 2, 3)]
    async with ledger.writing() as unit:
        await put(unit, first)
        await put(unit, second)
        await unit.memories.forget(TENANT, first.id, by="user:alice", why="asked", at=START)
        found = await unit.memories.at(TENANT, refs)
        assert found == {refs[0]: first, refs[1]: second}
        assert await unit.memories.at("other", refs) == {}
        notes = await unit.memories.history(TENANT, first.id)
    assert [(note.revision, note.by, note.status, note.content) for note in notes] == [
        (1, "agent:writer", "active", "a"),
        (2, "agent:writer", "active", "changed"),
        (3, "user:alice", "forgotten", None),
    ]


async def test_a_forgotten_memory_is_on_no_route_and_never_comes_back(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await put(unit, memory_of("a", topic="date_format"))
        await unit.stats.touch([(TENANT, name_of("a"), START)])
    async with ledger.writing() as unit:
        await unit.memories.forget(TENANT, name_of("a"), by="b", why="w", at=START)
        with pytest.raises(NotFound):
            await unit.memories.forget(TENANT, name_of("a"), by="b", why="w", at=START)
        with pytest.raises(RevisionConflict):
            await put(unit, memory_of("a", revision=3))
    async with ledger.reading() as unit:
        every = rows(statuses=frozenset({"active", "outdated", "pending", "archived"}))
        assert await unit.memories.current(TENANT, [name_of("a")]) == {}
        assert await unit.memories.recent(every, limit=5) == []
        assert await unit.memories.on_topic(every, "date_format") == []
        assert await unit.memories.count(every) == 0
        matches = await unit.memories.keyword_matches(every, ["a"])
        assert (matches.documents, matches.total_length, dict(matches.lengths)) == (0, 0, {})
        assert await unit.stats.of(TENANT, [name_of("a")]) == {name_of("a"): MemoryStatistics()}


async def test_change_numbers_count_a_tenants_changes_and_name_a_scopes_last(
    ledger: Ledger,
) -> None:
    async with ledger.writing() as unit:
        await put(unit, memory_of("a", scope="user:a"))
        await put(unit, memory_of("b", scope="user:b"))
        await put(unit, memory_of("a", scope="user:a", revision=2))
        await put(unit, memory_of("c", tenant="other"))
        assert await unit.memories.change_number(TENANT) == 3
        assert await unit.memories.scope_change(TENANT, "user:a") == 3
        assert await unit.memories.scope_change(TENANT, "user:b") == 2
        assert await unit.memories.scope_change(TENANT, "user:c") == 0
        assert await unit.memories.changed_since(TENANT, "user:a", 1) == [name_of("a")]
        await unit.memories.forget(TENANT, name_of("b"), by="b", why="w", at=START)
        assert await unit.memories.changed_since(TENANT, "user:b", 3) == [name_of("b")]


async def test_rows_are_found_by_topic_and_by_age(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for number in range(4):
            made = START + timedelta(minutes=number)
            await put(unit, memory_of(f"m{number}", created_at=made, topic=f"t{number % 2}"))
    async with ledger.reading() as unit:
        assert words(await unit.memories.recent(rows(), limit=3)) == ["m3", "m2", "m1"]
        assert words(await unit.memories.on_topic(rows(), "t1")) == ["m3", "m1"]
        window = rows(since=START + timedelta(minutes=1), until=START + timedelta(minutes=3))
        assert words(await unit.memories.recent(window, limit=9)) == ["m2", "m1"]


async def test_sources_lead_to_what_was_derived_from_them(ledger: Ledger) -> None:
    source = MemoryRef(id=name_of("a"), revision=1)
    async with ledger.writing() as unit:
        await put(unit, memory_of("a"))
        await put(unit, memory_of("b", derived_from=(source,)))
        assert await unit.memories.derived_from(TENANT, [source.id]) == [name_of("b")]
        await put(unit, memory_of("b", revision=2))
        assert await unit.memories.derived_from(TENANT, [source.id]) == []


async def test_keyword_statistics_are_those_of_the_rows_that_pass(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await put(unit, memory_of("apple apple tree", scope="user:a"))
        await put(unit, memory_of("apple", scope="user:b"))
        await put(unit, memory_of("tree house", scope="user:a", labels=("secret",)))
        mine = await unit.keys.ensure(TENANT, ("user:a",))
    narrow = rows(keys=frozenset({mine}), denied_labels=frozenset({"secret"}))
    async with ledger.reading() as unit:
        matches = await unit.memories.keyword_matches(narrow, ["appl", "tree", "none"])
        found = name_of("apple apple tree")
        assert (matches.documents, matches.total_length) == (1, 3)
        assert matches.frequencies == {"appl": {found: 2}, "tree": {found: 1}, "none": {}}
        assert matches.lengths == {found: 3}


async def test_a_filter_of_thousands_of_keys_is_not_cut(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for number in range(30):
            await put(unit, memory_of(f"word {number}", scope=f"user:u{number}"))
        mine = set(await unit.keys.all(TENANT))
    many = rows(keys=frozenset(mine | {f"{number:032x}" for number in range(5_000)}))
    async with ledger.reading() as unit:
        assert await unit.memories.count(many) == 30
        matches = await unit.memories.keyword_matches(many, ["word"])
        assert len(matches.frequencies["word"]) == matches.documents == 30


def _experience(task_type: str) -> Scene:
    return Scene(task_type=task_type)


async def test_a_filter_leaves_out_what_it_says(ledger: Ledger) -> None:
    second = timedelta(seconds=1)
    async with ledger.writing() as unit:
        await put(unit, memory_of("plain"))
        await put(unit, memory_of("expired", expires_at=START))
        await put(unit, memory_of("lasting", expires_at=START + second))
        await put(unit, memory_of("outdated", status="outdated"))
        await put(unit, memory_of("pending", status="pending"))
        await put(unit, memory_of("dated", layer="episodic", type="episode"))
        for task in ("deploy", "search"):
            await put(unit, memory_of(task, type="experience", scene=_experience(task)))
        await put(unit, memory_of("foreign", tenant="other"))

        async def found(**fields: object) -> set[str]:
            narrowed = rows(**fields)
            listed = words(await unit.memories.recent(narrowed, limit=50))
            assert await unit.memories.count(narrowed) == len(listed)
            return set(listed)

        everyday = {"plain", "lasting", "outdated", "dated", "deploy", "search"}
        assert await found() == everyday
        assert await found(now=START + second) == everyday - {"lasting"}
        assert await found(statuses=frozenset({"pending"})) == {"pending"}
        assert await found(layers=frozenset({"episodic"})) == {"dated"}
        assert await found(types=frozenset({"experience"})) == {"deploy", "search"}
        assert await found(task_type="deploy") == everyday - {"search"}
        assert await found(scopes=frozenset({"user:a"})) == set()
        assert await found(keys=frozenset()) == set()
        assert await found(types=frozenset()) == set()
