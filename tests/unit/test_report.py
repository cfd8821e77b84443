"""The figure of a run, and the page, image and document that are made of it."""

import io
import json
import re
import struct
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from prov.model import ProvDocument
from rich.console import Console

from hindsight_ray.adapters.reports.png import png
from hindsight_ray.adapters.reports.w3c_prov import prov_json
from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.core.report.colours import credit_colour, text_colour
from hindsight_ray.core.report.page import heading, page
from hindsight_ray.core.report.shapes import Arrow, Box, Disc, Words
from hindsight_ray.core.report.svg import svg
from hindsight_ray.core.report.timeline import STEPS_MAX, timeline
from hindsight_ray.domain.credit import Attribution, Credit
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.entry.cli import show_credit
from tests.trajectories import Story, event_id, run_value

_NASTY = "</svg><script>alert('$x$')</script> & “撤回”"


def _told() -> tuple[Trajectory, Attribution]:
    """A run of two agents with a failed call, and credit as replays give it."""
    story = Story("observed")
    story.decide("look", "Look at the metrics")
    story.call("read", "metrics.read", 1, causes=["look"], error="TimeoutError")
    story.decide("guess", _NASTY, agent="executor", causes=["read"], evidence="inferred")
    story.decide("act", "Roll back", agent="executor", causes=["guess", "read"])
    run = story.trajectory(1.0)
    found = provenance(run, {})
    values = {"look": 0.5, "guess": -0.25, "act": 0.75}
    given = tuple(
        Credit(
            target=one.target, value=value, low=value - 0.1, high=value + 0.1, method="shapley",
            evidence="replayed",
        )
        for one in found.credits
        for name, value in values.items()
        if one.target.id == event_id(name)
    )  # fmt: skip
    return run, found.model_copy(update={"credits": given, "method": "shapley"})


@pytest.mark.covers("report.figure")
def test_a_figure_has_a_disc_for_each_decision_coloured_by_its_credit() -> None:
    run, given = _told()
    shapes = timeline(run, given).shapes
    discs = {shape.text: shape for shape in shapes if isinstance(shape, Disc) and shape.text}
    assert list(discs) == ["1", "3", "4"]
    assert discs["4"].fill == credit_colour(1.0, 1.0)
    assert discs["3"].fill == credit_colour(-0.25, 0.75)
    assert "credit +0.500 (+0.400 to +0.600), shapley, replayed" in discs["1"].title
    lanes = [shape.text for shape in shapes if isinstance(shape, Words) and shape.bold]
    assert lanes[:2] == ["planner", "executor"]


@pytest.mark.covers("report.figure")
def test_arrows_lead_from_causes_to_effects_and_show_how_they_are_known() -> None:
    run, given = _told()
    figure = timeline(run, given)
    steps = [shape for shape in figure.shapes if isinstance(shape, Disc | Box) and shape.title]
    at = {int(shape.title[1]): shape.x for shape in steps}
    arrows = [shape for shape in figure.shapes if isinstance(shape, Arrow)][:4]
    assert [arrow.gaps is None for arrow in arrows] == [True, False, True, True]
    assert all(arrow.x0 < arrow.x1 for arrow in arrows)
    assert at[1] < at[2] < at[3] < at[4]


def test_steps_at_one_moment_do_not_cover_each_other() -> None:
    story = Story()
    for number in range(40):
        story.decide(f"d{number}")
    now = story.events[0].timestamp
    run = Trajectory(
        run=run_value(),
        events=tuple(event.model_copy(update={"timestamp": now}) for event in story.events),
    )
    discs = [
        shape for shape in timeline(run, provenance(run, {})).shapes
        if isinstance(shape, Disc) and shape.text
    ]  # fmt: skip
    places = [disc.x for disc in discs]
    assert all(b - a > 2 * discs[0].radius for a, b in pairwise(places))


def test_a_long_run_is_drawn_in_part_and_says_so() -> None:
    story = Story()
    for number in range(STEPS_MAX):
        story.user(f"u{number}", "hm")
        story.decide(f"d{number}")
    run = story.trajectory(1.0)
    figure = timeline(run, provenance(run, {}))
    assert figure.note == f"{STEPS_MAX} of {2 * STEPS_MAX} steps are drawn"
    texts = [shape.text for shape in figure.shapes if isinstance(shape, Disc) and shape.text]
    assert texts[:2] == ["2", "4"]


def test_a_run_without_events_has_a_figure_too() -> None:
    run = Trajectory(run=run_value(), events=())
    assert "<svg" in page(run, provenance(run, {}))


@pytest.mark.covers("report.page")
def test_whatever_was_recorded_stands_in_the_page_as_text_only() -> None:
    text = page(*_told())
    assert "<script" not in text
    assert text.count("</svg>") == text.count("<svg")
    assert "default-src 'none'" in text
    assert not re.search(r"(?:src|href)=", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "&lt;/svg&gt;&lt;script&gt;" in text


@pytest.mark.covers("report.page")
def test_scores_are_called_so_and_never_summed() -> None:
    """Only shares sum to something: two scores of one agent are no score of the agent."""
    run, given = _told()
    scores = given.model_copy(update={"scale": "score", "method": "spectrum ochiai"})
    text = page(run, scores)
    assert "<h2>Score</h2>" in text
    assert "<th>score</th>" in text
    assert "score +0.500" in text
    for said in ("summed", "<th>credit</th>", "<h2>Credit</h2>", "credit +", "without credit"):
        assert said not in text
    assert "summed for each agent" in page(run, given)
    shown = io.StringIO()
    Console(file=shown, width=200).print(show_credit.attribution(scores, run))
    assert "score by spectrum" in shown.getvalue()
    assert "credit" not in shown.getvalue()


def test_the_figure_is_well_formed_xml() -> None:
    tree = ET.fromstring(svg(timeline(*_told())))  # noqa: S314 - our own
    assert tree.tag.endswith("svg")
    assert sum(1 for one in tree.iter() if one.tag.endswith("circle")) >= 3


@pytest.mark.covers("report.page")
def test_an_abstention_stands_on_the_page_with_its_reason() -> None:
    story = Story()
    story.decide("a")
    run = story.trajectory()
    assert "no outcome of this run is known" in page(run, provenance(run, {}))


@pytest.mark.covers("report.page")
def test_without_room_the_figure_says_that_it_scrolls_and_rows_name_their_numbers() -> None:
    run, given = _told()
    across = round(timeline(run, given).across)
    text = page(run, given)
    least = re.search(
        r"@container \(max-width: (\d+)px\) \{ \.wider \{ display: block; \} \}", text
    )
    assert least
    assert int(least[1]) < across
    assert f"min-width: {least[1]}px; max-width: {across}px" in text
    assert text.count('<div class="holder">') == 1
    head, row = re.findall(r"<tr.*</tr>", text)[:2]
    named = re.findall(r'data-name="(\w+)"', row)
    assert named == ["credit", "interval", "method", "evidence"]
    assert all(f"<th>{name}</th>" in head for name in named)


def test_nothing_is_said_to_have_led_to_an_outcome_that_is_not_there() -> None:
    story = Story()
    story.decide("a")
    run = story.trajectory()
    text = page(run, provenance(run, {}))
    assert "led to the outcome" not in text
    assert "of 1 step led to what the run ended with" in text
    assert "led to the outcome" in page(*_told())


@pytest.mark.parametrize("value", [-1.0, -0.3, 0.0, 0.3, 1.0])
def test_numbers_are_readable_on_their_colour(value: float) -> None:
    fill = credit_colour(value, 1.0)

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
                  for part in parts]  # fmt: skip
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted([light(fill), light(text_colour(fill))], reverse=True)
    assert (high + 0.05) / (low + 0.05) > 4.5


@pytest.mark.covers("report.image")
def test_the_image_is_a_png_of_the_figure_under_its_title() -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is an extra")
    figure = timeline(*_told())
    data = png(figure, heading(*_told()))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert b"Restore checkout" in data  # as its title, for programs
    across, down = struct.unpack(">II", data[16:24])
    assert across / down == pytest.approx(figure.across / (figure.down + 64), rel=0.01)
    assert data != png(figure, ("Restore checkout", "another run"))


@pytest.mark.covers("report.page")
def test_a_page_is_headed_by_a_line_and_a_longer_goal_stands_whole_below() -> None:
    run, given = _told()
    title, lead = heading(run, given)
    assert (title, lead) == (
        "Restore checkout", f"outcome +1.00, credit by shapley · run {run.run.run_id}",
    )  # fmt: skip
    assert page(run, given).count("Restore checkout") == 2  # the window's title and the heading
    goal = "I need to " + "change my flight and " * 20 + "go home."
    long = run.model_copy(update={"run": run.run.model_copy(update={"goal": goal})})
    title, _ = heading(long, given)
    assert len(title) <= 90
    made = page(long, given)
    assert f"<h1>{title}</h1>" in made
    assert f'<p class="goal">{goal}</p>' in made


@pytest.mark.covers("report.prov")
def test_the_provenance_document_says_who_did_what_because_of_what() -> None:
    run, given = _told()
    text = prov_json(run, given)
    document = ProvDocument.deserialize(content=text, format="json")
    fields = json.loads(text)
    assert len(fields["activity"]) == 4
    assert len(fields["wasInformedBy"]) == 4
    assert {one["hr:evidence"] for one in fields["wasInformedBy"].values()} == {
        "observed", "inferred"
    }  # fmt: skip
    assert set(fields["agent"]) == {
        "hr:hindsight-ray", "agent:planner", "agent:executor", "agent:judge"
    }  # fmt: skip
    credited = [one for one in fields["entity"].values() if "hr:method" in one]
    assert [one["hr:value"]["$"] for one in credited] == ["0.5", "-0.25", "0.75"]
    assert document == ProvDocument.deserialize(content=prov_json(run, given), format="json")


@pytest.mark.covers("report.prov")
def test_a_memory_is_an_entity_at_its_revision() -> None:
    story = Story()
    ref = MemoryRef.model_validate({"id": event_id("memory"), "revision": 3})
    story.decide("a", used=[ref])
    story.decide("b", used=[ref], causes=["a"])
    run = story.trajectory(1.0)
    fields = json.loads(prov_json(run, provenance(run, {})))
    memories = [one for one in fields["entity"].values() if "hr:memory" in one]
    assert len(memories) == 1
    assert len(fields["used"]) == 2
