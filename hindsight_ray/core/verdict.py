"""What becomes of a statement among those already kept: a new record, a duplicate, a merger, a
newer value.

Pure, and decided within the transaction that commits, so that fifty equal writes at once make one
record and nobody's edit is lost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hindsight_ray.core.audience import contained, doubted
from hindsight_ray.core.claims import Clash, clash, same_claim
from hindsight_ray.core.conflict import (
    Likeness,
    Reading,
    Ruling,
    denies,
    distinguishing,
    likeness,
    of_one_subject,
    read,
    rule_on_topic,
    rule_on_weight,
    same_value,
    unlike,
)
from hindsight_ray.core.lookalikes import undisguised
from hindsight_ray.core.opinion import Opinion, Opinions, Pair, believed
from hindsight_ray.core.whose import lasts, may_reword, outweighs, sourced, twin_adds
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.domain.text import TAGS_MAX

CLAIMING = ("fact", "preference")  # types of which a thing may be said to have one value


@dataclass(frozen=True, slots=True)
class Kept:
    """A record that is there, and the cosine of its text with the new one's."""

    memory: Memory
    similarity: float
    nearest: bool = True  # of the nearest few; of others only what they claim is looked at


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do. Exactly one of `duplicate_of` and `merged` is set, or neither: then the
    statement is stored, `pending` or not, with `tags` beside its own."""

    duplicate_of: Memory | None = None
    taken_over: Memory | None = None  # the duplicate's next revision, as the new source's word
    merged: Memory | None = None  # the kept record's next revision
    new_text: bool = False  # whether `merged` has the new statement's text
    outdated: tuple[Memory, ...] = ()  # superseded by the new one
    set_aside: tuple[Memory, ...] = ()  # to wait for a person together with the new one
    pending: bool = False
    otherwise: str = ""  # why it would wait, were what it is taken for not there
    tags: tuple[str, ...] = ()
    why: str = ""
    asks: tuple[Pair, ...] = ()  # what rules are not sure of and no judge has been asked

    @property
    def found_again(self) -> bool:
        """Whether a kept record says it already, or does from now on."""
        return self.duplicate_of is not None or self.merged is not None


@dataclass(frozen=True, slots=True)
class Terms:
    """What a verdict is reached under."""

    space: EmbeddingSpace
    now: datetime
    window_s: float
    opinions: Opinions = field(default_factory=Opinions)
    has_judge: bool = True  # whether there is somebody to ask about what rules leave open


def judge(
    draft: Draft, content: str, near: Sequence[Kept], on_topic: Iterable[Memory], terms: Terms
) -> Verdict:
    """Judge one statement (a part's `content`) among the nearest records and those of its topic.

    All of them are ones that the author may read and that ask nothing of a reader that the new one
    does not ask too.
    """
    new = read(content)
    verdict = _among_near(draft, new, content, near, terms)
    if verdict.found_again or draft.topic is None:
        return verdict
    return _on_topic(draft, new, on_topic, verdict, terms)


def equal_readers(draft: Draft, kept: Memory) -> bool:
    """Whether the two have the same readers: only then may one change the other."""
    if kept.audience == draft.audience and kept.labels == draft.labels:
        return True
    return set(kept.audience) == set(draft.audience) and set(kept.labels) == set(draft.labels)


def may_change(draft: Draft, kept: Memory) -> bool:
    """Whether the draft may touch the kept record: text from outside never touches what somebody
    said or has accepted, and what is quarantined touches nothing that is answered."""
    if not doubted(kept) and not draft.source.trusted:
        return False
    return draft.status != "quarantined" or kept.status == "quarantined"


def comparable(draft: Draft, kept: Memory) -> bool:
    """Whether the kept record asks nothing of a reader that the draft does not."""
    return contained(kept.audience, draft.audience) and contained(kept.labels, draft.labels)


def _among_near(
    draft: Draft, new: Reading, content: str, near: Sequence[Kept], terms: Terms
) -> Verdict:
    verdict = Verdict()
    for kept in near:
        if not _same_frame(draft, kept.memory):
            continue
        like = _like(new, kept, terms)
        equal = equal_readers(draft, kept.memory)
        if like in ("same", "briefer") or says_the_same(draft, content, kept.memory):
            if twin := _duplicate(draft, kept.memory, equal=equal):
                return twin
            continue
        equal = equal and may_change(draft, kept.memory)
        if like == "fuller" and equal and may_reword(draft, kept.memory):
            return _merged(draft, kept.memory, content)
        if like == "opposite":
            verdict = _opposed(draft, new, kept.memory, verdict, terms, equal=equal)
        elif found := _clash(draft, content, kept.memory):
            verdict = _clashing(draft, Pair(content, kept.memory), verdict, terms, found)
        elif kept.nearest and _worth_asking(new, kept, terms):
            verdict = _by_judge(draft, Pair(content, kept.memory), like, verdict, terms)
        if verdict.found_again:
            return verdict
    return verdict


def _worth_asking(new: Reading, kept: Kept, terms: Terms) -> bool:
    """Whether a judge should see the two: alike, or about one thing that both name."""
    if kept.similarity >= terms.space.merge_at:
        return True
    return terms.has_judge and of_one_subject(new, read(kept.memory.content))


def _like(new: Reading, kept: Kept, terms: Terms) -> Likeness:
    content = kept.memory.content
    if not kept.nearest or told_apart(new, content, kept.similarity, terms):
        return "different"  # or "unsure", which nobody would be asked about
    return likeness(new, read(content), kept.similarity, terms.space)


def told_apart(new: Reading, kept: str, similarity: float, terms: Terms) -> bool:
    """Whether a look tells that two statements are unlike, and there is nobody to be asked."""
    far = similarity < min(terms.space.duplicate_at, terms.space.merge_at)
    return far and not terms.has_judge and unlike(new, kept)


def _by_judge(draft: Draft, pair: Pair, like: Likeness, verdict: Verdict, terms: Terms) -> Verdict:
    """Alike, and rules are not sure: what a judge has said of the two, else that one be asked."""
    new, kept = read(pair.new), pair.kept
    opinion = terms.opinions.of(pair.new, kept)
    relation = "different"
    if opinion is None:
        verdict = replace(verdict, asks=(*verdict.asks, pair))
    elif not opinion.failed:
        relation = believed(opinion, new, kept)
        if relation == "same":
            return _judged_same(draft, pair, opinion) or verdict
        if relation == "contradicts" and equal_readers(draft, kept) and kept.status == "active":
            return _judged_contrary(draft, kept, verdict, opinion, terms)
    return _tagged(draft, new, kept, verdict) if like == "different" else verdict


def _judged_same(draft: Draft, pair: Pair, opinion: Opinion) -> Verdict | None:
    """One statement in two wordings: the fuller stays, where the new one may change the kept."""
    verdict: Verdict | None
    new, kept = pair.new, pair.kept
    equal = equal_readers(draft, kept)
    fuller = len(set(read(new).stems)) > len(set(read(kept.content).stems))
    touches = equal and may_change(draft, kept)
    if fuller and touches and may_reword(draft, kept):
        verdict = _merged(draft, kept, new)
    else:
        verdict = _duplicate(draft, kept, equal=equal)
    return verdict and replace(verdict, why=_by(verdict.why, opinion))


def _judged_contrary(
    draft: Draft, kept: Memory, verdict: Verdict, opinion: Opinion, terms: Terms
) -> Verdict:
    """Both cannot hold. The part that is contradicted is not quoted in what the new one's history
    keeps: it is the kept one's text, and goes with that."""
    ruling = _on_one_thing(draft, kept, terms)
    why = _by(f"it contradicts {kept.id}, and {ruling.why}", opinion)
    return _contrary(draft, kept, verdict, ruling, why)


def says_the_same(draft: Draft, content: str, kept: Memory) -> bool:
    """Whether another form gives the same thing the same value."""
    return draft.type in CLAIMING and same_claim(content, kept.content)


def _clash(draft: Draft, content: str, kept: Memory) -> Clash | None:
    """What the form of two statements says; where both name the topic, that decides instead."""
    if draft.type not in CLAIMING or (draft.topic is not None and draft.topic == kept.topic):
        return None
    if kept.status != "active" or not equal_readers(draft, kept):
        return None
    seen = undisguised(content)
    if seen == content:
        return clash(content, kept.content)
    looks = read(seen).words == read(kept.content).words
    return Clash(False) if looks or clash(seen, kept.content) else None


def _clashing(draft: Draft, pair: Pair, verdict: Verdict, terms: Terms, found: Clash) -> Verdict:
    """Another value for one thing. Where the form only suggests that one excludes the other, a
    judge decides; without one the new statement waits for a person and the kept one stays."""
    kept = pair.kept
    if found.certain:
        ruling = _on_one_thing(draft, kept, terms)
        why = f"{kept.id} gives the same thing another value, and {ruling.why}"
        return _contrary(draft, kept, verdict, ruling, why)
    opinion = terms.opinions.of(pair.new, kept)
    if opinion is not None and not opinion.failed:
        return _by_judge(draft, pair, "different", verdict, terms)
    asks = verdict.asks if opinion is not None else (*verdict.asks, pair)
    why = f"{kept.id} may give the same thing another value"
    return replace(verdict, pending=True, outdated=(), why=why, asks=asks)


def _on_one_thing(draft: Draft, kept: Memory, terms: Terms) -> Ruling:
    return _ruling(draft, kept, terms, what="the same thing")


def _ruling(draft: Draft, kept: Memory, terms: Terms, what: str | None = None) -> Ruling:
    source = draft.source
    return rule_on_topic(
        source.weight,
        source.user,
        kept,
        terms.now,
        terms.window_s,
        what=what,
        reviewed=source.reviewed_by is not None,
    )


def _contrary(draft: Draft, kept: Memory, verdict: Verdict, ruling: Ruling, why: str) -> Verdict:
    """Both cannot hold: as of two values for a topic."""
    if ruling.verdict == "new pending" or not may_change(draft, kept):
        return replace(verdict, pending=True, outdated=(), why=why)
    if ruling.verdict == "both pending":
        aside = (*verdict.set_aside, kept)
        return replace(verdict, pending=True, outdated=(), set_aside=aside, why=why)
    if verdict.pending:
        return verdict
    return replace(verdict, outdated=(*verdict.outdated, kept), why=why)


def _by(why: str, opinion: Opinion) -> str:
    return f"{why} ({opinion.by})" if opinion.by else why


def _same_frame(draft: Draft, kept: Memory) -> bool:
    """Whether two statements of equal words would be one: same steps, topic, project and scene."""
    if draft.topic is not None and kept.topic is not None and draft.topic != kept.topic:
        return False
    if draft.steps != kept.steps or draft.project != kept.project:
        return False
    if draft.scene is None or kept.scene is None:
        return draft.scene is kept.scene
    return (draft.scene.task_type, draft.scene.sharing) == (
        kept.scene.task_type,
        kept.scene.sharing,
    )


def _duplicate(draft: Draft, kept: Memory, *, equal: bool) -> Verdict | None:
    """The same statement; what the new one knows beyond it is added. One whose word counts for more
    makes it its own: else whoever says first what others will say holds it.

    None where the kept one ends sooner and may not be made to last: soon nobody would have it."""
    if not equal or not may_change(draft, kept):
        same = Verdict(duplicate_of=kept, why=f"{kept.id} says the same")
        return same if lasts(draft, kept) else None
    changes = twin_adds(draft, kept)
    if changes is None:
        return None
    if outweighs(draft, kept):
        own = {
            "source": sourced(draft, kept),
            "importance": max(kept.importance, draft.importance),
            "confidence": max(kept.confidence, draft.confidence),
            "derived_from": draft.derived_from,
        }
        if not changes:
            why = f"{kept.id} says the same, and is from now on the word of the new source"
            return Verdict(duplicate_of=kept, taken_over=kept.model_copy(update=own), why=why)
        changes |= own
    if not changes:
        return Verdict(duplicate_of=kept, why=f"{kept.id} says the same")
    return Verdict(merged=kept.model_copy(update=changes), why=f"added to {kept.id}")


def _merged(draft: Draft, kept: Memory, content: str) -> Verdict:
    changes = {
        "content": content,
        "topic": kept.topic or draft.topic,
        "tags": tuple(dict.fromkeys((*kept.tags, *draft.tags)))[:TAGS_MAX],
        "importance": max(kept.importance, draft.importance),
        "confidence": max(kept.confidence, draft.confidence),
        "source": draft.source,
        "derived_from": tuple(dict.fromkeys((*kept.derived_from, *draft.derived_from))),
        "expires_at": kept.expires_at if lasts(draft, kept) else draft.expires_at,
    }
    merged = kept.model_copy(update=changes)
    return Verdict(merged=merged, new_text=True, why=f"it says the same as {kept.id}, more fully")


def _opposed(
    draft: Draft, new: Reading, kept: Memory, verdict: Verdict, terms: Terms, *, equal: bool
) -> Verdict:
    """The same words, turned. Where one denies the other they are two values for one thing; where
    opposed words part them both may hold, and of equal weight both stay, dated and tagged."""
    ruling = rule_on_weight(draft.source.weight, kept)
    if ruling.verdict == "new pending":
        return replace(verdict, pending=True, why=f"it contradicts {kept.id}, and {ruling.why}")
    if equal and denies(new, read(kept.content)) and kept.status == "active":
        ruling = _ruling(draft, kept, terms, what="the statement")
        if ruling.verdict == "new pending":
            return replace(verdict, pending=True, outdated=(), why=ruling.why)
        if ruling.verdict == "both pending":
            aside = (*verdict.set_aside, kept)
            return replace(verdict, pending=True, outdated=(), set_aside=aside, why=ruling.why)
        return replace(verdict, outdated=(*verdict.outdated, kept), why=ruling.why)
    if draft.source.weight > kept.source.weight and equal:
        return replace(verdict, outdated=(*verdict.outdated, kept), why=ruling.why)
    return _tagged(draft, new, kept, verdict)


def _tagged(draft: Draft, new: Reading, kept: Memory, verdict: Verdict) -> Verdict:
    apart = distinguishing(new, read(kept.content))
    known = (*draft.tags, *verdict.tags)
    room = max(0, TAGS_MAX - len(known))
    more = tuple(tag for tag in apart if tag not in known)[:room]
    return replace(verdict, tags=(*verdict.tags, *more))


def _on_topic(
    draft: Draft, new: Reading, on_topic: Iterable[Memory], verdict: Verdict, terms: Terms
) -> Verdict:
    """Another value for a topic. Only records with the same readers are touched."""
    for kept in on_topic:
        if not equal_readers(draft, kept) or not _may_conflict(kept, draft):
            continue
        value = read(kept.content)
        if same_value(new, value, kept.topic or "") or (
            value.words == new.words and value.symbols == new.symbols
        ):
            twin = kept.status == "active" and kept.steps == draft.steps
            if twin and (found := _duplicate(draft, kept, equal=True)):
                return found
            continue
        ruling = _ruling(draft, kept, terms)
        if ruling.verdict == "both pending":
            doubtful = kept.status != "active" or not may_change(draft, kept)
            aside = () if doubtful else (kept,)
            verdict = replace(
                verdict, pending=True, set_aside=(*verdict.set_aside, *aside), why=ruling.why
            )
        elif kept.status != "active":
            continue  # what waits for a person already is settled by nobody else
        elif ruling.verdict == "new pending" or not may_change(draft, kept):
            verdict = replace(verdict, pending=True, why=ruling.why)
        elif kept not in verdict.outdated:
            verdict = replace(
                verdict,
                outdated=(*verdict.outdated, kept),
                why=verdict.why if verdict.pending else ruling.why,
            )
    # A newcomer that has to wait outdates nothing.
    return replace(verdict, outdated=()) if verdict.pending else verdict


def _may_conflict(kept: Memory, draft: Draft) -> bool:
    return kept.topic == draft.topic and kept.project == draft.project
