"""How the people of a synthetic year put what they say.

Two vocabularies. The `plain` one is what the year was first told in. The other is *held out*: it
was written before the rules that read statements, from how teams speak of their work in English and
Chinese, and rules are not fitted to it. It also holds statements that look like another value and
are none (`beside`: two releases that failed, two people who reviewed), which must leave each other
alone.
"""

from dataclasses import dataclass

PEOPLE = ("Amara", "Bruno", "Chen", "Dana", "Emeka", "Farid", "Greta", "Hana")
CITIES = ("Oslo", "Lima", "Tokyo", "Accra", "Dublin", "Mumbai", "Quito", "Osaka")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_LANGUAGES = ("Go", "Rust", "Python", "Java", "Kotlin", "Elixir")
_TOOLS = ("RabbitMQ", "Kafka", "Redis", "NATS", "ZeroMQ")
_REN = ("王芳", "李雷", "张伟", "陈静", "刘洋", "赵敏")


@dataclass(frozen=True, slots=True)
class Attribute:
    """What can be said of a subject: in these forms, the first being the usual one, with one of
    these values. Only one holds at a time unless it is `beside`."""

    forms: tuple[str, ...]
    values: tuple[str, ...]
    beside: bool = False
    chinese: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Subjects are a name and a part, numbered; those in Chinese are of their own."""

    names: tuple[str, ...]
    parts: tuple[str, ...]
    attributes: dict[str, Attribute]
    chinese: tuple[str, ...] = ()
    beside: float = 0.0  # the share of writes that say another thing of the same subject
    plain: float = 0.02  # of another value without a topic
    topical: float = 0.6  # of facts for which an extraction names a topic
    reworded: bool = False  # whether another value may come in another form
    deploys: bool = True  # also what may and may not be done on a day


_THREE = (
    "The {attribute} of {subject} is {value}",
    "{subject} has {value} as its {attribute}",
    "For {subject}, {value} was chosen as {attribute}",
)

PLAIN = Vocabulary(
    names=(
        "billing", "checkout", "search", "login", "ledger", "mailer", "gateway", "catalogue",
        "invoice", "stock", "pricing", "refund", "session", "upload", "export", "audit", "report",
        "cart",
    ),
    parts=("service", "database", "queue", "cache", "worker", "cluster", "proxy", "job"),
    attributes={
        "owner": Attribute(_THREE, PEOPLE),
        "region": Attribute(_THREE, CITIES),
        "backup day": Attribute(_THREE, DAYS),
        "retry limit": Attribute(_THREE, ("3", "5", "8", "12", "20", "40")),
        "log format": Attribute(_THREE, ("JSON", "plain text", "CSV", "syslog")),
        "restart command": Attribute(_THREE, ("reload", "bounce", "recycle", "failover")),
    },
)  # fmt: skip

HELD_OUT = Vocabulary(
    names=(
        "payroll", "inventory", "northern", "southern", "customs", "loyalty", "returns", "tariff",
        "fleet", "harbour", "press", "museum", "ticket", "claims", "archive", "weather",
    ),
    parts=("warehouse", "portal", "robot", "team", "API", "pipeline", "app", "board"),
    chinese=("支付服务", "登录服务", "仓库系统", "订单队列", "报表任务", "搜索集群", "客服机器人"),
    attributes={
        "lead": Attribute(("{subject} is led by {value}", "{value} leads {subject}"), PEOPLE),
        "port": Attribute(
            ("{subject} listens on port {value}", "The port of {subject} is {value}"),
            ("8080", "8443", "9000", "9091"),
        ),
        "language": Attribute(
            ("{subject} is written in {value}", "{value} is what {subject} is written in"),
            _LANGUAGES,
        ),
        "version": Attribute(
            ("{subject} is on version {value}", "{subject} now runs version {value}"),
            ("1.4", "1.5", "2.0", "2.1", "3.0"),
        ),
        "meeting": Attribute(
            ("The weekly meeting about {subject} is on {value}",
             "We meet about {subject} every week on {value}"),
            DAYS,
        ),
        "start": Attribute(
            ("The night run of {subject} starts at {value}",
             "{value} is when the night run of {subject} starts"),
            ("01:00", "02:30", "03:15", "4 am"),
        ),
        "replicas": Attribute(
            ("{subject} has {value} replicas", "{subject} runs with {value} replicas"),
            ("2", "3", "five", "6", "9"),
        ),
        "timeout": Attribute(
            ("{subject}'s timeout is {value} seconds",
             "Requests to {subject} time out after {value} seconds"),
            ("5", "10", "30", "60"),
        ),
        "colour": Attribute(
            ("The dashboard colour of {subject} is {value}",
             "{subject} is {value} on the dashboard"),
            ("red", "green", "amber", "blue", "grey"),
        ),
        "approval": Attribute(
            ("Changes to {subject} need approval from {value}",
             "{value} has to approve changes to {subject}"),
            PEOPLE,
        ),
        "rotation": Attribute(
            ("Keys of {subject} are rotated every {value} days",
             "Every {value} days the keys of {subject} are rotated"),
            ("7", "30", "60", "90"),
        ),
        "on call": Attribute(
            ("On-call for {subject} is {value}", "{value} is on call for {subject}"), PEOPLE
        ),
        "budget": Attribute(
            ("{subject} has a monthly budget of {value} euros",
             "The monthly budget of {subject} is {value} euros"),
            ("200", "500", "1,200", "3,000"),
        ),
        "tool": Attribute(
            ("We use {value} for the queue of {subject}", "The queue of {subject} is {value}"),
            _TOOLS,
        ),
        "site": Attribute(
            ("{subject} is hosted in {value}", "The site of {subject} is {value}"), CITIES
        ),
        "负责人": Attribute(
            ("{subject}的负责人是{value}", "{subject}由{value}负责"), _REN, chinese=True
        ),
        "端口": Attribute(
            ("{subject}的端口是{value}", "{subject}使用端口{value}"),
            ("8080", "8443", "9000"), chinese=True,
        ),
        "备份时间": Attribute(
            ("{subject}的备份时间是{value}", "{subject}的备份时间定在{value}"),
            ("周一", "周三", "周五", "周日"), chinese=True,
        ),
        "release": Attribute(
            ("Release {value} of {subject} failed",), ("41", "42", "43", "57"), beside=True
        ),
        "reviewer": Attribute(("{value} reviewed {subject}",), PEOPLE, beside=True),
        "needs": Attribute(
            ("{subject} depends on the {value} library",), ("zlib", "curl", "jose"), beside=True
        ),
        "slow": Attribute(("{subject} was slow on {value}",), DAYS, beside=True),
        "member": Attribute(
            ("{value} is a member of the crew of {subject}",), PEOPLE, beside=True
        ),
        "problem": Attribute(
            ("A known problem of {subject} is {value}", "The problem of {subject} is {value}"),
            ("clock drift", "slow disks", "lost mail"), beside=True,
        ),
        "copy": Attribute(("{subject} was deployed to {value}",), CITIES, beside=True),
        "ticket": Attribute(
            ("Ticket {value} about {subject} is open",), ("311", "312", "340"), beside=True
        ),
        "one owner": Attribute(("One of the owners of {subject} is {value}",), PEOPLE, beside=True),
        "speaks": Attribute(("{subject} supports {value}",), _LANGUAGES, beside=True),
        "restart": Attribute(("{value} can restart {subject}",), PEOPLE, beside=True),
        "mails": Attribute(("{subject} sends a report to {value}",), PEOPLE, beside=True),
        "risk": Attribute(
            ("The risk of changing {subject} is {value}",), ("downtime", "cost", "delay"),
            beside=True,
        ),
        "owner of release": Attribute(
            ("The author of release {value} of {subject} is Hana",), ("41", "42", "43"), beside=True
        ),
        "评审": Attribute(("{value}参加了{subject}的评审",), _REN, beside=True, chinese=True),
        "依赖": Attribute(
            ("{subject}依赖{value}",), ("缓存", "数据库", "消息队列"), beside=True, chinese=True
        ),
    },
    beside=0.08,
    plain=0.08,
    topical=0.0,
    reworded=True,
    deploys=False,
)  # fmt: skip
