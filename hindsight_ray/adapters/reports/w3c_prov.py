"""A run and its credit as a W3C PROV document, PROV-JSON, built by the `prov` library.

Steps are activities of agents, informed by the steps that they rest on; memories are entities that
steps used, each at its revision; the outcome is an entity made by whoever asserted it, after the
steps that the run ended with; credit is an entity about its target, attributed to this software.
"""

from prov.constants import PROV, PROV_TYPE
from prov.identifier import Namespace
from prov.model import ProvDocument

from hindsight_ray.core.attribution.provenance import ruling_outcome
from hindsight_ray.core.digest import derived_uuid
from hindsight_ray.domain.credit import Attribution, Credit
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import Trajectory

_WORDS = "urn:hindsight-ray:"  # what the attributes and types are named in
_HR = Namespace("hr", _WORDS)
_THINGS = "urn:uuid:"
_SOFTWARE = "hr:hindsight-ray"


def prov_json(trajectory: Trajectory, attribution: Attribution) -> str:
    """The document as PROV-JSON text."""
    document = _document(trajectory, attribution)
    return document.serialize(format="json", indent=2) or ""


def _document(trajectory: Trajectory, attribution: Attribution) -> ProvDocument:
    document = ProvDocument()
    document.add_namespace(_HR)
    document.add_namespace("id", _THINGS)
    document.add_namespace("agent", _WORDS + "agent:")
    document.add_namespace("user", _WORDS + "user:")
    document.agent(_SOFTWARE, {PROV_TYPE: PROV["SoftwareAgent"]})
    run = f"id:{trajectory.run.run_id}"
    document.entity(run, {PROV_TYPE: _HR["Run"], "hr:goal": trajectory.run.goal})
    for agent in sorted({str(event.agent) for event in trajectory.events}):
        document.agent(f"agent:{agent}", {PROV_TYPE: PROV["SoftwareAgent"]})
    _steps(document, trajectory.events, timed=trajectory.run.timed)
    _outcome(document, trajectory, run)
    for number, credit in enumerate((*attribution.credits, *attribution.beside)):
        _credit(document, attribution, credit, number)
    if attribution.abstained is not None:
        document.entity(
            f"id:{derived_uuid('prov abstention', attribution.run_id, attribution.method)}",
            {PROV_TYPE: _HR["Abstention"], "hr:method": attribution.method,
             "hr:reason": attribution.abstained.reason},
        )  # fmt: skip
    return document


def _steps(document: ProvDocument, events: tuple[Event, ...], *, timed: bool) -> None:
    known = {str(event.event_id) for event in events}
    memories: set[str] = set()
    for event in events:
        name = f"id:{event.event_id}"
        told = [(PROV_TYPE, _HR[event.kind]), ("prov:label", event.summary)]
        if event.tool is not None:
            told += [("hr:tool", event.tool.name), ("hr:status", event.tool.status)]
        at = event.timestamp if timed else None
        document.activity(name, at, at, told)
        document.wasAssociatedWith(name, f"agent:{event.agent}")
        for cause in dict.fromkeys(map(str, event.causes)):
            if cause in known:
                how = {"hr:evidence": event.edge_evidence}
                document.wasInformedBy(name, f"id:{cause}", other_attributes=how)
        for ref in dict.fromkeys(event.used):
            memory = f"id:{derived_uuid('prov memory', str(ref.id), ref.revision)}"
            if memory not in memories:
                memories.add(memory)
                fields = {"hr:memory": str(ref.id), "hr:revision": ref.revision}
                document.entity(memory, {PROV_TYPE: _HR["Memory"], **fields})
            document.used(name, memory)


def _outcome(document: ProvDocument, trajectory: Trajectory, run: str) -> None:
    outcome = ruling_outcome(trajectory.outcomes)
    if outcome is None:
        return
    name = f"id:{derived_uuid('prov outcome', outcome.outcome_id, outcome.revision)}"
    by = outcome.by if outcome.by.startswith(("agent:", "user:")) else f"agent:{outcome.by}"
    if not document.get_record(by):
        document.agent(by)
    fields = {"hr:value": outcome.value, "hr:evaluator": outcome.evaluator}
    document.entity(name, {PROV_TYPE: _HR["Outcome"], **fields})
    document.wasAttributedTo(name, by)
    document.wasDerivedFrom(name, run)


def _credit(document: ProvDocument, attribution: Attribution, credit: Credit, number: int) -> None:
    name = f"id:{derived_uuid('prov credit', attribution.run_id, credit.method, number)}"
    document.entity(
        name,
        {
            PROV_TYPE: _HR["Credit"],
            "hr:target": credit.target.id,
            "hr:targetKind": credit.target.kind,
            "hr:value": credit.value,
            "hr:low": credit.low,
            "hr:high": credit.high,
            "hr:method": credit.method,
            "hr:evidenceClass": credit.evidence,
            "hr:evaluations": credit.evaluations,
        },
    )
    document.wasAttributedTo(name, _SOFTWARE)
    document.wasDerivedFrom(name, f"id:{attribution.run_id}")
    if credit.target.kind == "event":
        document.influence(name, f"id:{credit.target.id}")
    elif credit.target.kind == "agent":
        document.influence(name, f"agent:{credit.target.id}")
