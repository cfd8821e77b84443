"""Whatever text a run holds, reports hold it as text, and agree on what they show."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.adapters.reports.w3c_prov import prov_json
from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.core.report.page import page
from hindsight_ray.core.report.shapes import Disc
from hindsight_ray.core.report.timeline import timeline
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.errors import InvalidInput
from tests.trajectories import Story, run_value

_OURS = frozenset(
    {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "code", "div", "ul", "li"}
    | {"svg", "circle", "rect", "line", "path", "polygon", "text", "g", "table", "tr", "th", "td"}
)
_PLAIN = st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn"))
_TEXT = st.text(_PLAIN, min_size=1, max_size=60) | st.sampled_from(
    ["<script>x</script>", "<img src=x onerror=y>", '"><b>', "]]>", "&lt;b&gt;", "</title><i>"]
)


class _Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


def _run(texts: list[str], causes: list[int]) -> Trajectory | None:
    story = Story()
    try:
        for n, text in enumerate(texts):
            before = [f"d{causes[n] % n}"] if n and n < len(causes) else []
            agent = ("planner", "executor")[n % 2]
            story.decide(f"d{n}", text, agent=agent, causes=before)
        run = story.trajectory(-0.5)
        return run.model_copy(update={"run": run_value(goal=texts[0] if texts else "goal")})
    except (InvalidInput, ValueError):
        return None  # what cannot be recorded need not be shown


@pytest.mark.covers("report.page")
@settings(max_examples=80)
@given(st.lists(_TEXT, max_size=12), st.lists(st.integers(0, 20), max_size=12))
def test_no_recorded_text_becomes_markup(texts: list[str], causes: list[int]) -> None:
    run = _run(texts, causes)
    if run is None:
        return
    found = _Tags()
    found.feed(page(run, provenance(run, {})))
    assert found.tags <= _OURS
    assert not {one for one in found.attributes if one.startswith("on")}
    assert not found.attributes & {"src", "href", "action"}


@pytest.mark.covers("report.figure", "report.prov")
@settings(max_examples=60)
@given(st.lists(_TEXT, max_size=12), st.lists(st.integers(0, 20), max_size=12))
def test_figure_and_document_show_the_same_steps(texts: list[str], causes: list[int]) -> None:
    run = _run(texts, causes)
    if run is None:
        return
    given_ = provenance(run, {})
    figure = timeline(run, given_)
    discs = [one for one in figure.shapes if isinstance(one, Disc) and one.text]
    document = json.loads(prov_json(run, given_))
    assert len(discs) == len(run.events) == len(document.get("activity", {}))
    assert all(0 <= one.x <= figure.across and 0 <= one.y <= figure.down for one in discs)
