"""One value for a topic in two wordings, and what is another value after all."""

import pytest

from hindsight_ray.core.conflict import denies, read, same_value


@pytest.mark.covers("write.conflict")
@pytest.mark.parametrize(
    ("new", "kept", "topic", "same"),
    [
        (
            "The owner of job 3 is Farid",
            "For job 3, Farid was chosen as owner",
            "job 3 owner",
            True,
        ),
        (
            "The owner of job 3 is Farid",
            "For job 3, Dana was chosen as owner",
            "job 3 owner",
            False,
        ),
        ("Dates as YYYY-MM-DD", "Use YYYY-MM-DD for dates", "date_format", True),
        ("Dates as YYYY-MM-DD", "Dates as DD.MM.YYYY", "date_format", False),
        ("Dates as YYYY-MM-DD", "Dates as YYYY-MM-DD except on bills", "date_format", False),
        ("The retry limit is 5", "The retry limit is 5 for admins", "retry_limit", False),
        ("Amara reports to Bruno", "Bruno reports to Amara", "reports", False),
        ("Use tabs", "Tabs are used", "indent", True),
        ("Use tabs", "Do not use tabs", "indent", False),
        ("Always answer in German", "Answer in German", "language", True),
        ("Only answer in German", "Answer in German", "language", False),
        ("It is so", "It is", "state", False),
        ("Lights on", "Lights off", "lights", False),
    ],
)
def test_wordings_of_one_value_are_told_from_other_values(
    new: str, kept: str, topic: str, *, same: bool
) -> None:
    assert same_value(read(new), read(kept), topic) is same
    assert same_value(read(kept), read(new), topic) is same


def test_a_denial_is_told_from_opposed_words() -> None:
    assert denies(read("You may deploy on Friday"), read("You may not deploy on Friday"))
    assert not denies(read("Lint before deploying"), read("Lint after deploying"))


@pytest.mark.covers("write.conflict")
@pytest.mark.parametrize(
    ("said", "denied"),
    [
        ("You can deploy on Friday", "You cannot deploy on Friday"),
        ("You can deploy on Friday", "You can't deploy on Friday"),
        ("You should ask first", "You shouldn't ask first"),
        ("The cache is shared", "The cache isn't shared"),
        ("The job will be retried", "The job won't be retried"),
        ("Deploying on Friday is allowed", "Deploying on Friday is forbidden"),
        ("Always lint before deploying", "Never lint before deploying"),
        ("周五可以部署", "周五不能部署"),
        ("允许周五部署", "禁止周五部署"),
        ("要先备份数据库", "别先备份数据库"),
    ],
)
def test_a_denial_is_known_in_the_forms_that_people_use(said: str, denied: str) -> None:
    assert denies(read(said), read(denied))
    assert denies(read(denied), read(said))


@pytest.mark.covers("write.conflict")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Allowed files are scanned", "Forbidden files are scanned"),
        ("Enabled accounts cost nothing", "Disabled accounts cost nothing"),
        ("Allow lists are cached", "Deny lists are cached"),
        ("允许的文件要扫描", "禁止的文件要扫描"),
        ("启用账户需要审批", "禁用账户需要审批"),
        ("已支付订单可以退款", "未支付订单可以退款"),
        ("Restart before the upgrade", "Restart after the upgrade"),
    ],
)
def test_a_word_that_describes_a_thing_denies_nothing(one: str, other: str) -> None:
    assert not denies(read(one), read(other))
    assert not denies(read(other), read(one))
