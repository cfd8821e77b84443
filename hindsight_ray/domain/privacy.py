"""What a tenant wants done with secrets and personal data in texts."""

from typing import Literal

from hindsight_ray.domain.base import Value

Handling = Literal["mask", "refuse", "keep"]
DataClass = Literal["secrets", "personal"]


class Privacy(Value):
    """`mask` puts a mark in its place, `refuse` refuses a text that is to be kept, `keep` keeps it.

    Under `refuse` what is only recorded (events, imports, questions) is masked: what happened is
    not lost over it. Under `mask` a name by which things are told apart (a topic, a project, a key)
    is refused: two that are masked alike would be one.
    """

    secrets: Handling = "mask"
    personal: Handling = "mask"


SECRETS_ALONE = Privacy(personal="keep")
EVERYTHING = Privacy()
