"""The small interfaces that services rest on. Every method is mandatory, every one async."""

from hindsight_ray.ports.asking import AskingLog, ChatModel
from hindsight_ray.ports.credits import (
    CreditLog,
    OutcomeLog,
)
from hindsight_ray.ports.erasing import Erasing, Wiped
from hindsight_ray.ports.ledger import (
    AudienceKeys,
    AuditLog,
    CommandLog,
    EmbeddingSpaces,
    IntentLog,
    LayerLog,
    Ledger,
    Memories,
    MemoryStats,
    PolicyLog,
    RecallLog,
    Unit,
)
from hindsight_ray.ports.outside import (
    Background,
    Clock,
    Embedder,
    IdSource,
    MemoryStore,
    PolicyEngine,
    Purpose,
    StoreBeside,
    Tickets,
)
from hindsight_ray.ports.privacy import PrivacyLog
from hindsight_ray.ports.replaying import (
    Done,
    Evaluations,
    TaskRunner,
)
from hindsight_ray.ports.reviewing import ReviewLog
from hindsight_ray.ports.runs import Appended, Batch, RunLog
from hindsight_ray.ports.stored import Intent, Placed, StoredObject, Vector
from hindsight_ray.ports.upkeep import Apart, InHand, SpacesApart, Text, UpkeepLog, VectorsBeside

__all__ = [
    "Apart",
    "Appended",
    "AskingLog",
    "AudienceKeys",
    "AuditLog",
    "Background",
    "Batch",
    "ChatModel",
    "Clock",
    "CommandLog",
    "CreditLog",
    "Done",
    "Embedder",
    "EmbeddingSpaces",
    "Erasing",
    "Evaluations",
    "IdSource",
    "InHand",
    "Intent",
    "IntentLog",
    "LayerLog",
    "Ledger",
    "Memories",
    "MemoryStats",
    "MemoryStore",
    "OutcomeLog",
    "Placed",
    "PolicyEngine",
    "PolicyLog",
    "PrivacyLog",
    "Purpose",
    "RecallLog",
    "ReviewLog",
    "RunLog",
    "SpacesApart",
    "StoreBeside",
    "StoredObject",
    "TaskRunner",
    "Text",
    "Tickets",
    "Unit",
    "UpkeepLog",
    "Vector",
    "VectorsBeside",
    "Wiped",
]
