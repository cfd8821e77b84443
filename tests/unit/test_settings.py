"""Settings of a home: what is kept, what overrides it, and what is refused by name."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import InvalidSettings
from hindsight_ray.settings import keep_settings, load_settings


def test_a_home_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()


def test_what_is_given_wins_over_what_is_kept_and_none_is_not_given(tmp_path: Path) -> None:
    keep_settings(tmp_path, Settings(brokers=3, reviewers=2))
    loaded = load_settings(tmp_path, {"brokers": 5, "reviewers": None})
    assert (loaded.brokers, loaded.reviewers) == (5, 2)


def test_only_what_differs_from_the_defaults_is_kept(tmp_path: Path) -> None:
    keep_settings(tmp_path, Settings(brokers=3))
    assert (tmp_path / "settings.json").read_text() == '{\n  "brokers": 3\n}\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"brokers": 0}', "brokers"),
        ('{"brokerz": 1}', "brokerz"),
        ('{"below_confidence": "maybe"}', "below_confidence"),
        ("[1]", "settings.json"),
        ("{", "settings.json"),
        ("\x00", "settings.json"),
    ],
)
def test_a_faulty_file_is_refused_and_the_fault_named(
    tmp_path: Path, text: str, named: str
) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(InvalidSettings, match=named):
        load_settings(tmp_path)


def test_an_unknown_setting_names_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="recorder_hosts"):
        load_settings(tmp_path, {"hosts": 3})


def test_many_may_keep_settings_of_one_home_at_once(tmp_path: Path) -> None:
    chosen = Settings(lock_wait_s=3.5)
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(keep_settings, tmp_path, chosen) for _ in range(200)]:
            done.result()
    assert load_settings(tmp_path, {}).lock_wait_s == 3.5
    assert [one.name for one in tmp_path.iterdir()] == ["settings.json"]
