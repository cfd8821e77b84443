"""Does a user say that they are not content? Careful word lists, English and Chinese.

A list errs on the side of silence: a review too many costs work, and one that starts from a polite
"no problem" teaches nonsense. So plain words such as "wrong" or "no" count only in phrases that are
about the work just done. A negated complaint ("not wrong at all", 没有问题), one that somebody else
made or that is the matter in hand ("the customer wrote that it is useless", 投诉电话), and what is
only supposed ("if it does not work") is none.
"""

import re

_NOT = r"(?:is|was|does|did|do|has|have|are|were|wo|ca)(?:n't| not)"
_MUCH = r"(?:very |so |really |quite |extremely |getting |a bit |still |just |again |clearly )*"
_JUST = r"(?:still |completely |totally |just |simply |all |clearly |again )*"
_BAD = r"(?:wrong|incorrect|useless|unacceptable|ridiculous|nonsense|terrible|awful)"
_WRONG = rf"(?:{_BAD}|a mistake|garbage|rubbish|crap|a mess|a joke|a disaster)"
# After an adjective: the end, or what goes on about the work, and not a thing that it describes.
_ENDS = r"(?=\Z|[,.!;:)]| (?:again|still|now|here|too|and|but|because|since|for the)\b)"
_IN_GENERAL = r"(?! (?:on|with|for|in|under|without|if|when|unless|as)\b)"
_MENDS = r"(?:fix|solve|resolve|address|answer)"
_MADE = (
    r"(?:answer|results?|output|response|solution|code|fix|change|script|total|date|link|number)"
)
_DONE = r"(?:\w+ed|sent|gave|chose|took|made|wrote|put|ran|told|got|did|built|picked|used)"
_ABOUT_OTHERS = (
    r"(?!(?: right now| today)? (?:with|at|about|by|over|because) "
    r"(?!you|this|that|the (?:answer|result|way)))"
)
_ENGLISH = (
    (
        r"that(?:'s| is| was) (?:still )?not (?:right|correct|true|it|what i \w+|acceptable"
        r"|good enough|helpful)(?! (?:for|to) )"
    ),
    rf"that {_NOT} (?:right|correct|true|it|what i \w+|acceptable|helpful|help|work){_IN_GENERAL}",
    rf"(?:that|this|it|they|the answer)(?:'s| is| was| are| were|'re) {_JUST}{_WRONG}{_ENDS}",
    rf"(?:the|this|your) {_MADE}(?: you \w+)?(?: is| was| are| were) {_JUST}{_WRONG}{_ENDS}",
    rf"your {_MADE} (?:still )?{_NOT} (?:even )?(?:work|run|compile|help|{_MENDS})",
    rf"your (?:\w+ ){{1,2}}(?:is|was|are|were) {_JUST}(?:{_WRONG}|not (?:right|correct|helpful))",
    rf"(?:it|this|that) (?:still )?{_NOT} (?:even )?(?:work|working|help|helping){_IN_GENERAL}",
    rf"(?:it|this|that) (?:still )?{_NOT} (?:even )?{_MENDS}",
    r"(?:it|this|they)(?:'s| is| are|'re) still (?:broken|failing|wrong|not \w+)",
    r"(?:it|this) (?:still (?:crash|fail|break)(?:e?s)|(?:crash|fail|break)(?:e?s|ed) again)",
    (
        r"\A(?:ugh,? |and |again,? |still )*(?:the |that )?same "
        r"(?:error|problem|mistake|issue|result)(?: again| as (?:before|last time)|\Z)"
    ),
    r"(?:losing|lost|out of) (?:my )?patience",
    r"that(?:'s not| is not| was not| wasn't| isn't) my question",
    r"this is (?:already )?the (?:third|fourth|fifth|\d+th) time",
    r"(?:this|that|it) (?:still )?makes no sense",
    r"(?:this|it|that)(?:'s| is) taking (?:forever|(?:way |far )?too long)",
    (
        r"(?:the|that's the|that is the) (?:second|third|fourth|fifth|\d+(?:nd|rd|th)) time "
        r"(?:you|i(?:'ve| have)? (?:tell|told|ask|asked|say|said))"
    ),
    r"(?:that|this)(?:'s| is| was) the wrong \w+",
    r"not what i (?:asked|wanted|meant|said|ordered|requested|needed)",
    (
        rf"(?:i|we)(?:'m| am| are|'re) {_MUCH}(?:frustrated|disappointed|annoyed|unhappy"
        rf"|dissatisfied|upset|angry|not (?:happy|satisfied|pleased|impressed)){_ABOUT_OTHERS}"
    ),
    (
        r"(?:so|very|really|quite|extremely|how|this is|that is|that's) "
        r"(?:frustrating|disappointing|annoying|unhelpful)"
    ),
    (
        rf"you(?:'re| are| were) {_MUCH}(?:wrong|mistaken|useless"
        r"|not (?:listening|helping|understanding|being helpful|getting it))"
    ),
    (
        rf"you {_MUCH}(?:made a mistake|got (?:it|that|this) wrong|misunderstood"
        r"|ignored (?:me|my|what)|forgot(?! nothing|\?)|messed|got the \w+ wrong"
        r"|mixed up (?:the|my)|broke|missed (?:the|my|what)"
        r"|made (?:it|this|that|things) (?:even |much )?worse)"
    ),
    rf"you (?:\w+ly |just )?{_DONE} (?:me )?the wrong \w+",
    (
        r"you(?:'ve| have)? (?:just )?(?:deleted|removed|overwrote|overwritten|lost|ruined) "
        r"(?:my|our|everything|all (?:my|our|the))"
    ),
    (
        rf"you {_NOT} (?:even |really )?(?:listen|listening|understand|do what|help|helping|answer"
        r"|answered|read what|follow)"
    ),
    r"you should(?:'ve| have) (?:asked|told|checked|known|waited|listened|warned)",
    r"(?:i|we)(?:'ve| have)? already (?:told you|said|asked you|explained|answered)",
    r"(?:i|we)(?:'ve| have)? already (?:provided|mentioned|gave|given) (?:you|it|that|this|them)\b",
    r"(?:i|we)(?:'ve| have)? told you (?:\w+ )?(?:already|before|times|twice)",
    r"as i(?:'ve| have)? (?:already |just )(?:said|mentioned|told|explained)|as i told you",
    r"as i (?:said|mentioned|explained) (?:before|already)",
    (
        r"(?:i|we) just (?:told you|said (?:that|so|it)|asked you|explained (?:that|this)"
        r"|gave you (?:that|it|this|the|my))"
    ),
    r"(?:i|we) (?:said|asked for|wanted|meant|ordered|expected) [^.!?;]{1,40}, not ",
    r"(?:i|we) (?:specifically |clearly |explicitly )(?:asked|told) you",
    r"(?:i|we) (?:never asked|did(?:n't| not) ask) (?:for|you)|(?:nobody|no one) asked you",
    (
        r"(?:how many times|why (?:do|did) you keep"
        r"|why (?:is|are|does|do) (?:it|this|that|you) still(?! work))"
        r"|why are you (?:deleting|removing|ignoring|overwriting)"
    ),
    r"you keep (?:asking|making|doing|saying|getting|ignoring|repeating)",
    r"why did you (?:delete|remove|overwrite|cancel|ignore)|without (?:even )?asking(?: me)?\b",
    r"(?:are you|did you) even",
    r"just do what i (?:ask|asked|said|say|want)",
    r"stop (?:asking|repeating|ignoring|guessing|apologi[sz]ing|doing (?:that|this|it))",
    r"(?:waste|wasting) (?:of )?(?:my |our )(?:\w+ )?time|a waste of time",
    r"(?:we are|we're|you are|you're|this is) going (?:around |round )?in circles",
    r"(?:this|that) (?:really |just )?sucks|what a (?:mess|joke|disaster|waste)",
    r"(?:this|that|it)(?:'s| is) (?:even |much |far )?worse than (?:before|it was)",
    r"(?:no|stop),? (?:that's|that is|this is|you are|you're) (?:wrong|not)",
    (
        r"(?:speak|talk) (?:to|with) (?:a |an |your )?(?:real |actual |live )?"
        r"(?:manager|supervisor|human|real person|live agent)"
    ),
    r"give up on (?:this|you)",
)
# Said alone, with nothing that it could be about but the work.
_ALONE = re.compile(
    rf"(?:no |nope |still |again |this is |that is |that's |it's |what |such |a |an )*"
    rf"(?:no no|{_BAD}|broken|not (?:good enough|helpful|right|correct|true|it)"
    r"|(?:terrible|horrible|awful|poor|bad|worst) (?:service|answer|job|experience|support|work))"
    r"(?: again| still| try again| work| job)*"
)
_CHINESE = (
    r"(?<![对正])(?:不对|不正确)(?!劲|吗|吧|称|外|我|你|他|她|的话|就|请)",
    r"(?:错了(?!会|就|怎|时|的话|吗|该)|搞错|弄错|做错|写错|答错|改错|理解错|弄反了|搞反了)",
    r"(?:结果|答案|这|那|都|还)是错误?的(?=[，。！!,.]|\Z)|我(?:说|要|想要)的是.{1,12}[，,]而?不是",
    r"没有?按照?(?:我的?)?(?:要求|指示|说的)|(?:太|真)?让人失望|受够了|说人话|听懂人话|这也叫|再这样我",
    r"同样的(?:错误|问题)又|认真(?:读|看|听)(?:一下)?我|你总是(?:忘|不|错)|你忘了(?!吗|没)",
    r"不是我(?:想|要|说|问|需要|的意思)|我(?:想|要|说|问)的不是",
    r"不是(?:这个|那个)意思|我不是这个意思",
    r"(?:不满意(?!度|率)|很失望|太失望|真失望|很生气|太气人|气死|受不了|烦死|太烦|无语(?!言|音|法|义|料))",
    r"(?:没什么用|不好用|不靠谱|不管用(?=[了啊呀，。！!,.\s]|\Z))",
    (
        r"(?:\A|[，。！？,.!?\s]|你们?|这也?|那|真是?|效果|服务|质量|回答|结果|速度|回复)"
        r"(?:太差|很差|太慢|太糟|很糟)"
    ),
    r"(?:真|太|好|简直是?|就是|都是|什么)垃圾(?!桶|邮件|箱|分类|袋|车|文件|回收|数据|短信|信息)",
    r"没有?用(?=[了的啊呀嘛，。！!,.\s]|\Z)|一点用(?:都|也)?没有|毫无(?:帮助|用处)|没有?(?:什么)?帮助",
    r"(?:还是|仍然|依然|又)(?:不行|不对|错|失败|有问题|老样子|没有?解决|没有?成功|报错|不能用|出错|崩溃|卡)",
    r"问题(?:还是?在|依然存在|仍然存在)|没有?解决(?:我的)?问题",
    r"(?:根本|完全)(?:不行|不对|不是|没用|没有?解决)",
    r"我?(?:已经|刚才|刚刚|早就)(?:跟你|和你|给你|都)?(?:说过|说了|告诉过?你|讲过|回答过|提供过)",
    r"(?:说|讲|问|告诉你)[了过]?(?:很多|多少|好多|几|无数|[两二三四五六七八九十\d]+)[次遍]",
    r"你?(?:没有?|根本没|完全没)(?:听懂|理解|明白|看懂|搞懂|按我|照我|看我|听我|看清)",
    r"(?<!不)(?:浪费|耽误)(?:我的?|大家的?)?时间",
    (
        r"(?:怎么|为什么|为啥)(?:又|还是?|老是|总是)"
        r"(?:不|没|错|失败|报错|出错|这个错|这样|一样|老样子|改|删|问|让我|要我|丢|忘|漏)"
    ),
    r"别再(?:这样|问|重复|浪费|改)|(?:能不能|可不可以)(?:认真|别|不要)|(?:不要|别)乱(?:改|动|删|来)",
    r"谁[让叫](?:你|你们)|不是[让叫]你|你(?:们)?在搞什么|搞什么(?:啊|呢|鬼)|你?到底(?:会不会|懂不懂|行不行)",
    r"你们?把.{1,12}(?:删|丢|弄丢|弄坏|改坏|搞坏|覆盖|弄没)了(?!吗|没|吧)",
    r"你?(?:漏了|漏掉了)",
    r"不是这样的|答非所问|牛头不对马嘴|胡说八道|什么(?:玩意|破)|不负责任|越改越(?!好)",
    r"(?:\A|[，。！!\s])(?:差评(?!率)|错)(?=[，。！!\s]|\Z)",
    r"(?:(?:我要|我想|去|要|会)投诉(?!电话|信|率)|投诉你|叫你们?经理|找你们?经理|转人工(?!服?务?的|率|按钮))",
)
_NEGATED_ENGLISH = re.compile(
    r"\b(?:not|never|no longer|\w+n't|without|hardly|if|unless|in case|whether|far from|when|once"
    r"|until|where|told|tells?|says?|wrote|writes?|claims?|claimed|thinks?|complains?|message"
    r"|or)\b[\w ',]{0,14}\Z"
)
_NEGATED_CHINESE = re.compile(
    r"(?:没|并不|不算|不会|不觉得|不是|不要|别|没有|如果|要是|万一|是不是|有没有|会不会|以为|哪[里儿个]?|[他她它]们?)"
    r"[^，。！？,.!?]{0,3}\Z|对(?!你|您|这|结果|回答|答案|服务)[^，。！？,.!?]{1,6}\Z"
)
_OWN_FAULT_ENGLISH = re.compile(r"\b(?:i|we)(?: was|'m| am| were|'re| are) (?:wrong|mistaken)\b")
_OWN_FAULT_CHINESE = re.compile(
    r"(?:我们?|他们?|她们?|它)(?:自己)?(?:搞|弄|说|写|看|记|填|输|选|买|订|理解)?\Z"
)
# Work to do: what follows is its matter. And who says thanks has been helped.
_MATTER_ENGLISH = re.compile(
    r"\A(?:please |can you |could you |now |then )*(?:write|add|translate|summari[sz]e|draft|print"
    r"|quote|reply|list|count|find|document|describe|mark|classify|show|test|log|ask|tell|explain|check|verify)\b"
)
_MATTER_CHINESE = re.compile(
    r"\A(?:请|请你|帮我|麻烦你?|现在|再)*(?:写|加|翻译|总结|统计|列出|查找|查询|标出|标红|分类|修复|删除|把)"
)
_HELPED = re.compile(
    r"\bthank|\bcheers\b|, so you can\b|请继续|继续吧|就行|就好|很好|谢谢|不错|辛苦|方案可以"
)
_AGAIN_ENGLISH = re.compile(r"\b(?:already|just|as) ")
_AGAIN_CHINESE = re.compile(r"\A我?(?:已经|刚才|刚刚|早就)")
_COMPLAINTS_ENGLISH = tuple(re.compile(rf"\b(?:{pattern})") for pattern in _ENGLISH)
_COMPLAINTS_CHINESE = tuple(re.compile(pattern) for pattern in _CHINESE)
_QUOTED = re.compile(
    r"“[^”]*”|\"[^\"]*\"|「[^」]*」|(?<!\w)'[^'\n]{2,200}'(?!\w)|```.*?```", re.DOTALL
)
_NAMED_NEXT = re.compile(r"了?的[\u4e00-\u9fff]")
_LETTER = re.compile(r"[a-z]")
_SENTENCES = re.compile(r"[.!;\n。！；]+|(?<=[?？])")
_TRADITIONAL = str.maketrans(
    "錯對說過講滿覺費時間沒還這個氣煩爛無語結質務復轉經問題總會給誰讓麼為來樣變丟刪亂認點幫寫電話訴舊難",
    "错对说过讲满觉费时间没还这个气烦烂无语结质务复转经问题总会给谁让么为来样变丢删乱认点帮写电话诉旧难",
)


def dissatisfied(text: str) -> bool:
    """Whether what a user said holds a complaint about the work, not negated and not quoted."""
    straight = text.replace("’", "'").replace("‘", "'").translate(_TRADITIONAL)
    plain = _QUOTED.sub(" ", straight).casefold()
    return any(
        _english(" ".join(said.split())) or _chinese(said) for said in _SENTENCES.split(plain)
    )


def _english(said: str) -> bool:
    if not _LETTER.search(said) or _MATTER_ENGLISH.match(said):
        return False
    spaced = _OWN_FAULT_ENGLISH.sub(" ", said)
    words = " ".join(re.findall(r"[\w']+", spaced))
    if words and not spaced.endswith("?") and _ALONE.fullmatch(words):
        return True
    return any(
        not _NEGATED_ENGLISH.search(spaced[max(0, found.start() - 40) : found.start()])
        and not (_AGAIN_ENGLISH.search(found.group()) and _HELPED.search(spaced))
        for pattern in _COMPLAINTS_ENGLISH
        for found in pattern.finditer(spaced)
    )


def _chinese(said: str) -> bool:
    if said.isascii() or _MATTER_CHINESE.match(said.strip()):
        return False
    return any(
        not _NEGATED_CHINESE.search(before)
        and not _own_fault(before, found.group())
        and not _describes(said[found.end() :])
        and not (_AGAIN_CHINESE.match(found.group()) and _HELPED.search(said))
        for pattern in _COMPLAINTS_CHINESE
        for found in pattern.finditer(said)
        for before in (said[max(0, found.start() - 8) : found.start()],)
    )


def _own_fault(before: str, complaint: str) -> bool:
    return ("错" in complaint or "漏" in complaint) and bool(_OWN_FAULT_CHINESE.search(before))


def _describes(after: str) -> bool:
    """Whether the words describe a thing that is named next (没用的变量)."""
    return _NAMED_NEXT.match(after) is not None
