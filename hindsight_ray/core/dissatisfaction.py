"""Does a user say that they are not content? Careful word lists, English and Chinese.

A list errs on the side of silence: a review too many costs work, and one that starts from a polite
"no problem" teaches nonsense. So plain words such as "wrong" or "no" count only in phrases that are
about the work just done, and a negated complaint ("not wrong at all", 没有问题) is none.
"""

import re

_NOT = r"(?:is|was|does|did|do|has|have|are|were|wo|ca)(?:n't| not)"
_MUCH = r"(?:very |so |really |quite |extremely |getting |a bit |still |just |again |clearly )*"
_WRONG = r"(?:wrong|incorrect|a mistake|useless|unacceptable|ridiculous|nonsense|terrible|awful)"
_ENGLISH = (
    (
        r"that(?:'s| is| was) (?:still )?not "
        r"(?:right|correct|true|it|what i \w+|acceptable|good enough|helpful)"
    ),
    r"that " + _NOT + r" (?:right|correct|true|it|what i \w+|acceptable|helpful|help|work)",
    r"(?:that|this|it|they|the answer)(?:'s| is| was| are| were|'re)"
    r" (?:still |completely |totally |just |simply |all )*" + _WRONG,
    r"(?:it|this|that) (?:still )?" + _NOT + r" (?:even )?(?:work|working|help|helping)",
    r"not what i (?:asked|wanted|meant|said|ordered|requested|need)",
    r"(?:i|we)(?:'m| am| are|'re) " + _MUCH + r"(?:frustrated|disappointed|annoyed|unhappy"
    r"|dissatisfied|upset|angry|not (?:happy|satisfied|pleased|impressed))",
    (
        r"(?:so|very|really|quite|extremely|how|this is|that is|that's) "
        r"(?:frustrating|disappointing|annoying|unhelpful)"
    ),
    r"you(?:'re| are| were) " + _MUCH + r"(?:wrong|mistaken|useless"
    r"|not (?:listening|helping|understanding|being helpful))",
    r"you " + _MUCH + r"(?:made a mistake|got (?:it|that|this) wrong|misunderstood"
    r"|ignored (?:me|my|what)|forgot|messed|broke|missed (?:the|my|what))",
    r"you " + _NOT + r" (?:even |really )?"
    r"(?:listen|listening|understand|do what|help|helping|answer|read what|follow)",
    (
        r"(?:i|we)(?:'ve| have)? already "
        r"(?:told you|said|asked you|explained|answered|provided|mentioned|gave you|given you)"
    ),
    r"(?:i|we) just (?:told you|said (?:that|so|it)|asked you|gave you|explained (?:that|this))",
    r"(?:how many times|why (?:do|did) you keep|you keep (?:asking|making|doing|saying|getting))",
    r"(?:waste|wasting) (?:of )?(?:my |our )?time",
    r"(?:terrible|horrible|awful|poor|bad|worst) (?:service|answer|job|experience|support|work)",
    r"(?:no|stop),? (?:that's|that is|this is|you are|you're) (?:wrong|not)",
    r"speak (?:to|with) (?:a |your )?(?:manager|supervisor|human being)",
    r"give up on (?:this|you)",
)
_CHINESE = (
    r"(?<![对正])(?:不对|不正确)(?!劲|吗|吧|称|外|我|你|他|她|的话|就|请)",
    r"(?:错了|搞错|弄错|做错|写错|答错|理解错|弄反了|搞反了)",
    r"不是我(?:想|要|说|问|需要|的意思)",
    r"不是(?:这个|那个)意思",
    r"(?:不满意|很失望|太失望|真失望|很生气|太气人|受不了|烦死|太烦|无语)",
    r"(?:太差|很差|太慢了|太糟|很糟|没什么用|不管用|不好用|不靠谱)",
    r"垃圾(?!桶|邮件|箱|分类|袋|车|文件|回收)",
    r"没有?用(?=[了的啊呀嘛，。！!,.\s]|\Z)",
    r"(?:还是|仍然|依然|又)(?:不行|不对|错|失败|没有?解决|没有?成功|报错|不能用|出错)",
    r"我?(?:已经|刚才|刚刚|早就)(?:跟你|和你|给你|都)?(?:说过|说了|告诉过?你|讲过|回答过|提供过)",
    r"(?:说了|讲了|问了)(?:很多|多少|好多|几|无数)[次遍]",
    r"你?(?:没有?|根本没|完全没)(?:听懂|理解|明白|看懂|搞懂|按我|照我)",
    r"(?:浪费|耽误)(?:我的?|大家的?)?时间",
    r"(?:怎么|为什么)(?:又|还是|老是|总是)",
    r"别再(?:这样|问|重复|浪费)",
    r"(?:投诉|叫你们?经理|找你们?经理|转人工)",
)
_NEGATED_ENGLISH = re.compile(
    r"\b(?:not|never|no longer|\w+n't|without|hardly|if|unless|in case|whether|far from)\b"
    r"[\w ',]{0,14}\Z"
)
_NEGATED_CHINESE = re.compile(
    r"(?:没|并不|不算|不会|不觉得|不是|不要|别|没有|如果|要是|万一|是不是|有没有|会不会|以为)"
    r"[^，。！？,.!?]{0,3}\Z"
)
_OWN_FAULT_ENGLISH = re.compile(r"\b(?:i|we)(?: was|'m| am| were|'re| are) (?:wrong|mistaken)\b")
_OWN_FAULT_CHINESE = re.compile(r"我(?:自己)?(?:搞|弄|说|写|看|记)?\Z")
_COMPLAINTS_ENGLISH = tuple(re.compile(rf"\b{pattern}\b") for pattern in _ENGLISH)
_COMPLAINTS_CHINESE = tuple(re.compile(pattern) for pattern in _CHINESE)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|```.*?```", re.DOTALL)


def dissatisfied(text: str) -> bool:
    """Whether what a user said holds a complaint about the work, not negated and not quoted."""
    plain = _QUOTED.sub(" ", text.replace("’", "'")).casefold()
    return _english(plain) or _chinese(plain)


def _english(text: str) -> bool:
    spaced = " ".join(_OWN_FAULT_ENGLISH.sub(" ", text).split())
    return any(
        not _NEGATED_ENGLISH.search(_clause_before(spaced, found.start()))
        for pattern in _COMPLAINTS_ENGLISH
        for found in pattern.finditer(spaced)
    )


def _chinese(text: str) -> bool:
    return any(
        not _NEGATED_CHINESE.search(before) and not _own_fault(before, found.group())
        for pattern in _COMPLAINTS_CHINESE
        for found in pattern.finditer(text)
        for before in (text[max(0, found.start() - 8) : found.start()],)
    )


def _own_fault(before: str, complaint: str) -> bool:
    return "错" in complaint and _OWN_FAULT_CHINESE.search(before) is not None


def _clause_before(text: str, start: int) -> str:
    """The words before a match, back to the last stop: a negation does not reach across one."""
    return re.split(r"[.!?;:\n]", text[max(0, start - 40) : start])[-1]
