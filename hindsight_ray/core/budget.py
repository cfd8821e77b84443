"""What may one question to a model come to? Bounds from above, for reserving before it is put."""

from hindsight_ray.core.tokens import tokens_at_most
from hindsight_ray.domain.chat import Question

ANSWER_TOKENS_MAX = 8_192  # an answer that was cut is given twice the room, up to this
_FRAME_TOKENS = 64  # what a provider puts around messages


def tokens_in(question: Question) -> int:
    """What one attempt sends; the schema travels beside the prompt that holds it too."""
    texts = (question.system, question.user, question.answer_schema)
    return sum(map(tokens_at_most, texts)) + _FRAME_TOKENS


def tokens_out(question: Question, *, attempts: int, models: int) -> list[int]:
    """What each attempt's answer may take, over all models that may come to be asked."""
    most = max(question.tokens_max, ANSWER_TOKENS_MAX)
    return [min(question.tokens_max * 2**n, most) for n in range(attempts)] * models
