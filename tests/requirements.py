"""What the product promises, one line per requirement, each with the test that would notice.

A test names what it shows with `@pytest.mark.covers("G1.search")`. `tests/architecture` checks both
ways: a requirement without a test fails, and so does a marker without a requirement. `source` says
where `docs/architecture.md` (or the module named) states it; `deferred` says why there is no test
yet, and must then have none.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise: what a user may rely on, where it is stated, and why it waits if it does."""

    behaviour: str
    source: str
    deferred: str | None = None


_R = Requirement
_WAY = "One way in"
_RECORD = "One place of record"
_RUN = "Two ways to run"
_WORK = "From work to memory"
_AUDIT = "hindsight_ray/domain/audit.py"
_PRIVACY = "hindsight_ray/service/privacy.py"
_ERASE = "hindsight_ray/service/erase.py"
_OUTSIDE = "hindsight_ray/service/outside.py"
_MODEL = "hindsight_ray/service/asking.py"
_HEALTH = "hindsight_ray/adapters/watching.py"
_CREDIT = "hindsight_ray/core/attribution"
_PEOPLE = "hindsight_ray/service/pending.py"
_CLAIMS = "hindsight_ray/core/claims.py"
_WAITS = "hindsight_ray/core/confirm.py"
_SAMPLES = "hindsight_ray/core/samples.py"
_RETENTION = "hindsight_ray/core/retention.py"
_LIFE = "hindsight_ray/core/lifecycle.py"
_UPKEEP = "hindsight_ray/service/maintain.py"
_KNOWLEDGE = "hindsight_ray/service/knowledge.py"
_SPACE = "hindsight_ray/service/reembed.py"
_REPORT = "hindsight_ray/core/report"
_SERIES = "hindsight_ray/adapters/ledger/sql/series.py"
_LEDGER = "hindsight_ray/adapters/ledger/sql/connection.py"

REQUIREMENTS: dict[str, Requirement] = {
    # G1 no leak
    "G1.search": _R("a search gives only memories whose whole audience the caller may read", "G1"),
    "G1.statistics": _R("what a caller may not read changes neither order nor score", "G1"),
    "G1.get": _R("by id, a forbidden memory and an absent one look the same", "G1"),
    "G1.history": _R("history follows the same rule as get", "G1"),
    "G1.explain": _R("evidence shows only events and sources that the reader may read", "G1"),
    "G1.receipt": _R("a writer without `read` on the scope only ever learns `stored`", "G1"),
    "G1.admission": _R("a write is compared only with what its writer may read", "G1"),
    "G1.acting": _R("what an agent writes for a user carries that user's scope", "G1"),
    "G1.review": _R("what a review distils carries its run's audience", "G1"),
    "G1.offered": _R("it also carries the audience of what was offered on the way", "G1"),
    "G1.credit": _R("credits name only memories that the reader may read", "G1"),
    "G1.reports": _R("no report holds a memory that whoever asked for it may not read", "G1"),
    "G1.runs": _R("a trajectory is read only with `read` on the run's whole audience", "G1"),
    "G1.statuses": _R("pending and quarantined memories are shown only with `review`", "G1"),
    "G1.labels": _R("a denied label hides a record whatever its scope", "G1"),
    "G1.prompts": _R("what a model says asks of a reader whatever it was shown asked", "G1"),
    "G1.tenants": _R("nothing crosses from one tenant to another", "G1"),
    "G1.audit": _R("the audit tells metadata, never text", "G1"),
    "G1.two_worlds": _R("whatever A is answered is byte-equal whatever B wrote", "G1"),
    "G1.oracle": _R("everybody sees exactly what a plain model of the rules says", "G1"),
    "G1.leakcheck": _R("no verb, tool or command tells a stranger what was planted", "G1"),
    # G2 revocation is linearizable
    "G2.revoke": _R(
        "after `revoke` has returned, no later call is decided on the old policy", "G2"
    ),
    "G2.passed_on": _R("what was passed on ends with what it rested on, however that ended", "G2"),
    "G2.ticket": _R("a revoked ticket is refused by the next call", "G2"),
    "G2.dropped": _R("a ticket of a dropped tenant is none of a later one's of that name", "G2"),
    "G2.tickets_by_tenant": _R("a ticket is ended by its own tenant's administrator alone", "G2"),
    "G2.until": _R("a grant with an end is gone at that moment", "G2"),
    "G2.processes": _R("a revoke made in one process binds every other at once", "G2"),
    "G2.authorities": _R("of two authorities each acknowledges revisions of its own", "G2"),
    "G2.history": _R("no read begun after a revoke returned shows what was revoked", "G2"),
    "G2.partitioned": _R(
        "a process cut off from the ledger answers nothing and delays no revoke", "G2"
    ),
    "G2.frozen": _R("a frozen broker holds up no revoke and answers nothing stale", "G2"),
    "G2.killed": _R("a revoke survives the end of the authority in the middle of it", "G2"),
    "G2.decided_again": _R("a change decided before a revoke is decided again as it commits", "G2"),
    # G3 nothing acknowledged is lost, nothing is doubled
    "G3.commands": _R("a repeated command has one effect and is answered by its receipt", "G3"),
    "G3.reused": _R("a command id used again with another payload is refused", "G3"),
    "G3.kill": _R("what was acknowledged survives `kill -9` of the process", "G3"),
    "G3.restart": _R("a restarted actor has lost nothing acknowledged", "G3"),
    "G3.faults": _R("a fault before or after any effect leaves all of a command or nothing", "G3"),
    "G3.import": _R("importing a file again adds nothing", "G3"),
    # G4 nothing is lost silently
    "G4.buffer": _R("a full buffer blocks, fails or drops with a count, as the settings say", "G4"),
    "G4.cut": _R("a text that was cut says so", "G4"),
    "G4.gaps": _R("numbers that never arrived are reported as gaps", "G4"),
    "G4.dangling": _R("a cause that no event answers to is kept, marked and counted", "G4"),
    "G4.refused": _R("an import names every item that it left out, and why", "G4"),
    # G5 default deny
    "G5.empty": _R("an empty policy allows nothing", "G5"),
    "G5.loader": _R("a policy file with a fault is refused whole, naming the fault", "G5"),
    "G5.reload": _R("a refused policy leaves the last good one in force", "G5"),
    "G5.tenant": _R("an unknown tenant is denied", "G5"),
    "G5.verb": _R("a command that is not in the table of verbs is denied", "G5"),
    "G5.tickets": _R("forged, expired and foreign tickets are refused alike", "G5"),
    "G5.narrowed": _R(
        "a ticket narrowed to scopes neither administers nor audits the tenant unless it says so",
        "G5",
    ),
    "G5.agree": _R("enforce, compiled access, row filter and explain always agree", "G5"),
    "G5.handles": _R("a handle to an actor gives nothing without a ticket", "G5"),
    "G5.fuzz": _R("no text grants more than a strict reading of it", "G5"),
    "G5.carried": _R("a policy carried on by its changes is the policy read as a whole", "G5"),
    "G5.profile": _R("the default profile gives each role exactly what its scenarios say", "G5"),
    # G6 every answer explains itself
    "G6.score": _R("a hit's contributions sum to its score", "G6"),
    "G6.decision": _R("a decision names its rule, role path and revision", "G6"),
    "G6.experience": _R("an experience cites the events it rests on", "G6"),
    "G6.decisions": _R("an experience names the decisions behind it and their credit", "G6"),
    "G6.credit": _R("a credit names its method and class of evidence", "G6"),
    # G7 honest credit
    "G7.sum": _R("credits sum to the outcome where nothing abstains", "G7"),
    "G7.abstains": _R("without enough evidence there is an abstention with its reason", "G7"),
    "G7.names": _R("renaming agents renames credit and changes nothing else", "G7"),
    "G7.outcomes": _R("who asserted an outcome comes from the ticket", "G7"),
    # G8 one embedding space, G9 bounded
    "G8.pinned": _R("another model or dimension is refused before anything is written", "G8"),
    "G1.labelled_runs": _R(
        "a run bears the labels of what was shown in it: who is denied one reads neither it nor"
        " what was learned from it, and who reads it carries them on",
        "G1",
    ),
    "G9.texts": _R("texts, names, times and vectors are checked where they enter", "G9"),
    "G9.unread": _R(
        "who may not read a scope leaves so many memories there, whatever others wrote", "G9"
    ),
    "G9.quota": _R(
        "a scope takes no more memories than its limit of what its author may be shown or made",
        "G9",
    ),
    "G9.recording": _R("a host takes apart only so much at once of what is recorded", "G9"),
    # From work to memory
    "record.gaps": _R("missing numbers are found at the cost of what is new", _SERIES),
    "record.far": _R("a number far beyond those before it is refused by name", _WORK),
    "record.left": _R("what a process leaves unshipped when it exits is told, counted", "G4"),
    "record.order": _R("a trajectory holds each agent's events in order", _WORK),
    "record.flush": _R("`flush` returns when all events so far are durable", _WORK),
    "record.conflict": _R("an event id or number with other content is refused", _WORK),
    "record.layers": _R(
        "working state belongs to a run, the short-term window to a session", _WORK
    ),
    "record.window": _R("a full window is summarised; it is bounded and counts its notes", _WORK),
    "review.triggers": _R("reviews start at a run's end and where something went wrong", _WORK),
    "review.stated": _R(
        "without a model, a fact or a general preference is extracted where a user states it in a"
        " fixed form, in English and Chinese, and nothing from noise",
        "hindsight_ray/core/standing.py",
    ),
    "review.procedures": _R(
        "without a model, a procedure is extracted where two comparable runs ended well by the same"
        " calls in the same order, one of them after failures",
        "hindsight_ray/core/procedures.py",
    ),
    "review.each": _R(
        "what a review finds in the same words for several is kept for each, and known when asked"
        " for again",
        "G4",
    ),
    "review.wishes": _R("what a user says outright for good is kept as a preference", _WORK),
    "review.rules": _R("the rule reviewer claims only what the structure proves", _WORK),
    "model.gateway": _R("a model is asked within bounds of time, attempts and money", _MODEL),
    "model.answers": _R("what a model answers is repaired, or fails under a name", _MODEL),
    "model.review": _R("a model's claims stand only with events that it was shown", _MODEL),
    "model.extract": _R("what is kept is new, actionable and lasting, and says why", _MODEL),
    "model.prompt": _R("no prompt is longer than its limit, however long the run", _MODEL),
    "model.marked": _R("the version and hash of each prompt are kept with what came of it", _MODEL),
    "model.reserved": _R(
        "a question's tokens and money are reserved before it is put, retries included, and settled"
        " after: callers at once never overrun a budget",
        _MODEL,
    ),
    "model.budget": _R("a budget that is spent stops politely, and rules go on", _MODEL),
    "model.failed": _R("a review that a model failed at is kept, listed and retried", _MODEL),
    "model.idempotent": _R("an answer that was had is not asked for again", _MODEL),
    "write.equal": _R("fifty equal writes at once make one memory, different ones one each", _WORK),
    "write.duplicate": _R("an equal statement is not stored twice", _WORK),
    "write.claims": _R(
        "another value for a thing that has one is found by the statements' form, without a topic;"
        " where the form only suggests it, the new one waits for a person",
        _CLAIMS,
    ),
    "people.claims": _R(
        "whoever decides what waits is shown which other values it contradicts, with a topic or"
        " without, and accepting it outdates them",
        _PEOPLE,
    ),
    "life.restored": _R(
        "what is restored where another value has been kept since waits for a person", _UPKEEP
    ),
    "write.unrelated": _R("facts about other things never retire each other", _CLAIMS),
    "write.signs": _R(
        "signs, currencies, scripts and letters are part of what is said: nothing that differs in"
        " them is taken for the same",
        _CLAIMS,
    ),
    "write.lasts": _R(
        "what a write is told is kept stays for as long as that write asked, whoever else said it",
        "G3",
    ),
    "write.whose": _R(
        "a statement is the word of the heaviest who says it; nothing lighter silences, rewords or"
        " outdates it, or gives it a topic or another end, nor an equal one what was accepted",
        _WORK,
    ),
    "write.linear": _R("reading a text takes time in proportion to its length", _CLAIMS),
    "write.skimmed": _R("what a look at words rules out, every rule rules out", _CLAIMS),
    "write.conflict": _R("another value for a topic supersedes or waits for a person", _WORK),
    "write.judged": _R("a judge is believed where it can be checked, and blocks nobody", _WORK),
    "write.split": _R("a long text becomes linked parts", _WORK),
    "write.redact": _R("secrets are taken out before anything is kept", _WORK),
    "search.routes": _R("meaning, words and time are three routes, fused into one order", _WORK),
    "search.chinese": _R("keyword search works for Chinese, Japanese and Korean", _WORK),
    "search.render": _R(
        "hits are rendered for a prompt: dated, apart by type, advice as advice", _WORK
    ),
    "promote": _R("promotion drops scopes from the audience on purpose and on record", _WORK),
    "import.formats": _R("message lists and multi-agent logs become runs", _WORK),
    "import.untrusted": _R("what an untrusted log teaches is quarantined", _WORK),
    # People in the loop and the life of a memory
    "people.pending": _R(
        "what waits is decided by people with `review`; a decision settles its contradictions",
        _PEOPLE,
    ),
    "people.deciding": _R(
        "deciding what waits needs what saying it or taking it away would, and is not for whoever"
        " wrote what is quarantined",
        _PEOPLE,
    ),
    "update.guards": _R(
        "an update ends nothing sooner without `forget`, changes or prolongs no heavier or accepted"
        " word of others' without `review`, lowers by `write` alone no equal one, whoever worded it"
        " last, and brings no text from outside into anybody's word",
        "hindsight_ray/service/update.py",
    ),
    "access.begun_later": _R(
        "a run that is begun or joined takes over what the session was shown in its open runs, and"
        " one that is begun asks the same of its readers",
        "hindsight_ray/service/runs.py",
    ),
    "access.joining": _R(
        "nobody brings another user into a run whose scope they may not read, and ending it tells"
        " them of their own events",
        "hindsight_ray/service/runs.py",
    ),
    "access.leaving": _R(
        "a run is ended by who began it, owns its scope or administers; anybody else ends their own"
        " part, and what the others were shown goes on following them",
        "hindsight_ray/service/runs.py",
    ),
    "access.remarks": _R(
        "reasons, names of judgements and submitted credit are refused of who was shown, in an open"
        " run, what the record's readers may not read",
        "hindsight_ray/service/remarks.py",
    ),
    "people.confirm": _R(
        "a statement that waits is active once it is said with confidence", _WAITS
    ),
    "people.samples": _R(
        "samples say how many memories are bad, with an interval, over time", _SAMPLES
    ),
    "life.retention": _R("retention is the formula", _RETENTION),
    "life.tiers": _R("memories are hot for 30 days, warm for 90, then cold if never used", _LIFE),
    "life.warm": _R("warm memories are found, below hot ones that say as much", _LIFE),
    "life.cold": _R("cold memories are archived, found by nobody, and restorable", _LIFE),
    "life.archive_first": _R("nothing is let go that was not archived before", _LIFE),
    "life.quota": _R("over its quota a scope archives what it keeps least", _LIFE),
    "life.share": _R(
        "who holds less than an equal share of a full scope loses nothing to what others wrote, its"
        " owner nothing to guests",
        "hindsight_ray/core/least.py",
    ),
    "life.quota_outside": _R(
        "text from outside pushes out nothing but its like, and goes first for anybody's word",
        "hindsight_ray/service/room.py",
    ),
    "life.archive_quota": _R(
        "an archive holds a multiple of its scope's quota; the least kept are let go, on record",
        "hindsight_ray/service/away.py",
    ),
    "life.project": _R("closing a project archives its memories", _LIFE),
    "life.slices": _R("upkeep goes in bounded slices and goes on where it stopped", _UPKEEP),
    "life.steward": _R("a deployment looks after itself as its clock says", _UPKEEP),
    "life.layers": _R("each layer lets go by its own rule", _WORK),
    "life.year": _R(
        "a year of writes keeps each fact once, contradictions apart, and all of it", _LIFE
    ),
    "knowledge.export": _R(
        "approved experience leaves as documents, as far as one may read", _KNOWLEDGE
    ),
    "space.switch": _R(
        "another embedding model takes over in one transaction; spaces never mix", _SPACE
    ),
    "space.verified": _R("a space that is not what its model says is not switched to", _SPACE),
    "space.killed": _R("a change of the model that was killed goes on where it was", _SPACE),
    "space.apart": _R(
        "a store apart is given another space beside, killed or not; what was left is dropped",
        "hindsight_ray/service/elsewhere.py",
    ),
    "space.at_once": _R(
        "several changes of the model at once mix nothing, lose nothing and leave nothing", _SPACE
    ),
    "space.late": _R(
        "what is put beside while its author is erased or its tenant dropped does not stay, and no"
        " erasure is proven before",
        "hindsight_ray/service/elsewhere.py",
    ),
    "space.calibrate": _R("a model's thresholds follow from labelled pairs", _SPACE),
    # Text from outside
    "poison.apart": _R(
        "text from outside is quarantined in `global` and in scopes shared by grant", _OUTSIDE
    ),
    "poison.marked": _R("where its author alone reads it, it is found and marked", _OUTSIDE),
    "poison.untouched": _R("it changes nothing that somebody said or has accepted", _OUTSIDE),
    "poison.run": _R(
        "who recalled it in a run writes nothing wider than its readers in that run", _OUTSIDE
    ),
    "poison.author": _R(
        "an unreviewed author fills one place of an answer from a shared scope", _OUTSIDE
    ),
    "poison.flood": _R(
        "a flood of what a reader is not shown pushes nothing out of their answers", _OUTSIDE
    ),
    # Audiences
    "audience.many": _R("ten thousand audiences in a tenant are answered right", "G1"),
    "audience.revoked": _R("revoking one scope hides at once what was derived from it", "G1"),
    "audience.two_users": _R("an agent that serves two users carries nothing between them", "G1"),
    "audience.laundering": _R("no way leads through `global` from one user to another", "G1"),
    # Secrets and personal data
    "privacy.personal": _R("addresses, phones, identity and account numbers are found", _PRIVACY),
    "privacy.everywhere": _R("what is masked is so before it is kept anywhere", _PRIVACY),
    "privacy.names": _R("two names that would be masked alike are refused, not made one", _PRIVACY),
    "privacy.tenant": _R("each tenant says what is masked, refused or kept", _PRIVACY),
    # Erasing a user
    "erase.bytes": _R("afterwards no byte of the user's texts is in any file of a home", _ERASE),
    "erase.derived": _R(
        "what rests on the user's texts is retracted, or says again what it said before", _ERASE
    ),
    "erase.meanwhile": _R(
        "what was read of the user before and is thought about since is kept nowhere",
        "hindsight_ray/service/basis.py",
    ),
    "erase.others": _R("what others said, and other tenants, stay as they are", _ERASE),
    "erase.audit": _R("the audit keeps ids and stays whole", _ERASE),
    "erase.rights": _R("only who administers the tenant erases", _ERASE),
    "erase.servers": _R(
        "on servers every interface is asked; the proof says what they still hold, how long", _ERASE
    ),
    "erase.restore": _R("a restored backup is erased again when it is opened", _ERASE),
    # Attribution
    "credit.exact": _R("Shapley, Banzhaf and Owen values equal two other implementations", _CREDIT),
    "credit.intervals": _R("sampled 95 % intervals hold the truth 93 to 98 % of the time", _CREDIT),
    "credit.abstains": _R("too few runs, evaluations or effects: no number, a reason", _CREDIT),
    "credit.replay": _R("replayed credit finds a planted culprit, and nobody else", _CREDIT),
    "credit.zero": _R("a decision the record rules out gets exactly nothing", _CREDIT),
    "credit.memories": _R("useful, idle and harmful memories are told apart", _CREDIT),
    "credit.faithful": _R(
        "an environment that does not reproduce the record credits nobody", _CREDIT
    ),
    "credit.resumed": _R("a killed game goes on where it was and ends the same", _CREDIT),
    "credit.bounded": _R(
        "of one run so many methods' credit is kept of each author, and answered by the page", "G9"
    ),
    "credit.submitted": _R("credit is checked against the record and kept for reviewers", _CREDIT),
    "credit.spectrum": _R("comparable runs rank decisions and weigh memories", _CREDIT),
    "credit.workers": _R("credit is the same for any number of workers, whoever dies", _CREDIT),
    "credit.feedback": _R("over sessions harmful memories sink and useful ones rise", _CREDIT),
    "credit.decision": _R("memories are credited for one decision, without an outcome", _CREDIT),
    "credit.utility": _R("opinion and structure move no memory's utility", _CREDIT),
    # Looking after the policy
    "policy.who": _R("`policy who` lists every kind of caller that sees a scope, and why", "G6"),
    "policy.sees": _R("`policy sees` lists what a caller may do, and where", "G6"),
    "policy.why": _R("`why` tells rule, way, revision and audience, of allow and deny", "G6"),
    "policy.diff": _R("`policy diff` lists who would gain and lose what", "G6"),
    "policy.lint": _R("`policy lint` finds rules that do nothing or too much", "G6"),
    "policy.check": _R("`policy check` refuses what `policy load` would refuse", "G5"),
    "key.rotate": _R("keys are rotated and retired while processes run", "docs/security.md"),
    # The audit
    "audit.chain": _R("an entry that was flipped, dropped or reordered is named", _AUDIT),
    "audit.seal": _R("a seal kept elsewhere notices whatever was cut off or written anew", _AUDIT),
    "audit.strangers": _R(
        "calls without a good ticket leave entries: in the tenant's audit as far as a signature"
        " names it, else in the deployment's own; a flood leaves few, and its number",
        _AUDIT,
    ),
    "audit.keys": _R("rotating and retiring a key is on record, or not done", _AUDIT),
    "audit.same": _R("absent and forbidden leave the same entry", _AUDIT),
    "audit.refused": _R("what cannot be written down is not done", _AUDIT),
    # PostgreSQL
    "postgres.away": _R("a server that cannot be used is named within 10 s, with the remedy", _RUN),
    "postgres.broken": _R("a connection that breaks acknowledges nothing and is made anew", _RUN),
    "postgres.kill": _R("what was acknowledged survives `kill -9` of the server", "G3"),
    "postgres.order": _R("writers of all processes follow one another", _RECORD),
    "postgres.home": _R("a home may keep its ledger on a server, its address in no file", _RUN),
    # A memory store apart
    "store.at_once": _R(
        "a memory is found as soon as its write has returned, on any store", _RECORD
    ),
    "store.filter": _R("the access filter goes to the store, and holds exactly", _RECORD),
    "store.thaw": _R("a writer stopped between ledger and store loses nobody's change", _RECORD),
    "store.outage": _R(
        "while the store is down a change is refused or queued, never said to be stored", _RECORD
    ),
    "store.server": _R(
        "a server that is away, too old, closed to us or half-started is named, with the remedy",
        _RECORD,
    ),
    "store.poison": _R(
        "what the store will not take is tried so often, then set aside; what was before returns",
        _RECORD,
    ),
    "store.begin": _R("a home that changes its store tells the new one of every memory", _RECORD),
    "store.sweep": _R("objects that nobody counts are swept", _RECORD),
    "store.hot": _R("a bounded number of tenants is hot; a cold one wakes on use", _RECORD),
    "store.anew": _R("a tenant that is made anew is empty", _RECORD),
    "store.space": _R("a collection of another dimension or of something else is refused", _RECORD),
    "store.restart": _R("a store that went and came back unasked is told again", _RECORD),
    "store.lost": _R("what a server has lost is found at once and told again", _RECORD),
    "store.kept": _R("a statement is compared with what a process keeps, not by a server", _RECORD),
    "store.kill": _R("what was acknowledged survives `kill -9` of the store's server", _RECORD),
    "schema.models": _R("migrations make exactly the tables that the models say", _RECORD),
    "schema.older": _R("an older ledger is brought up when opened, or refused by name", _RECORD),
    "schema.newer": _R("a ledger of a newer release is refused by name", _RECORD),
    "ledger.brief": _R("a short call takes no thread, and never beside another", _LEDGER),
    "ledger.lanes": _R(
        "who is interrupted, or whose event loop is closed, while they wait for a connection or"
        " have it holds nobody up, and nothing of theirs is kept by halves",
        _LEDGER,
    ),
    "copy.same": _R("a copy put back holds the same, row by row, on any ledger", _RECORD),
    "tenant.dropped": _R("a tenant that was dropped comes back empty in every process", _RECORD),
    "copy.refused": _R("a copy that is not whole is refused, and leaves nothing behind", _RECORD),
    "deploy.valid": _R("deployment files are what their schemas say", "deploy/README.md"),
    "deploy.secrets": _R(
        "no deployment file holds a secret; Ray asks for its token", "deploy/README.md"
    ),
    "health.line": _R("each call is one line of JSON with no text in it", _HEALTH),
    "health.numbers": _R("calls, refusals, times and what is in hand are counted", _HEALTH),
    # Shape
    "home.key": _R("a new home makes an operator key that only its owner may read", _RUN),
    "home.shared": _R("several processes may use one embedded home", _RUN),
    "home.returning": _R("a home stays its deployment's while the authority restarts", _RUN),
    "home.deployed": _R("a home that a deployment uses refuses embedded opens by name", _RUN),
    "cluster.scale": _R("scaling amid work loses neither order nor a record", _RUN),
    "cluster.crew": _R("whoever answers for a deployment was begun by it and is counted", _RUN),
    "cluster.ended": _R(
        "a start or an end that was cut short leaves nothing that the next does not put right", _RUN
    ),
    "cluster.settings": _R(
        "settings that cannot be are refused before anything is started, by `up` as by `connect`",
        _RUN,
    ),
    "cluster.node": _R("a node that is lost amid work loses nothing acknowledged", _RUN),
    "cluster.place": _R("every actor starts on the node that is meant for it", _RUN),
    "review.pool": _R("a deployment's reviewers make the reviews that nobody asked for", _RUN),
    "review.resumed": _R("a review whose maker was stopped is made by another", _RUN),
    "health.policy": _R("each process tells which policy it read last, and when", _HEALTH),
    "health.waiting": _R("how many wait in each queue of a process is told", _HEALTH),
    "health.spans": _R("calls are spans of whatever the process was told to set up", _HEALTH),
    "cluster.servers": _R(
        "a deployment over PostgreSQL and Weaviate comes up, is used, and comes up again", _RUN
    ),
    "health.exported": _R("each node of a deployment exports its numbers to Prometheus", _HEALTH),
    "cluster.token": _R("a cluster takes nobody in who does not bring its token", _RUN),
    "cluster.one": _R("twenty who start a deployment at once get one, and use it at once", _RUN),
    "cluster.same": _R("client calls look the same on Ray as embedded", _RUN),
    "cluster.away": _R(
        "whose cluster goes away is told so, parts from it, and is never ended by Ray",
        "hindsight_ray/actors/presence.py",
    ),
    "cluster.slow": _R("a Ray that starts slowly is told from one that refuses the token", _RUN),
    "door.one": _R("every door ends in the table of verbs", _WAY),
    "shape.layers": _R("imports point inward", "Shape"),
    "shape.budgets": _R("modules have at most 400 lines, functions 70", "Shape"),
    "shape.names": _R("the public names are the pinned ones", "Shape"),
    "shape.light": _R(
        "importing hindsight_ray loads no cluster, database, model or web library", "Shape"
    ),
    "shape.errors": _R("every error survives pickling", "Shape"),
    "shape.portable": _R("no tracked file names a machine's path or an index's host", "Shape"),
    # Doors
    "cli.options": _R(
        "`--home`, `--address` and `--json` work before and after a command",
        "hindsight_ray/entry/cli",
    ),
    "cli.json": _R(
        "`--json` prints one JSON document on standard output and nothing else",
        "hindsight_ray/entry/cli",
    ),
    "cli.errors": _R(
        "an error is one line; exit 1 for a refusal, 2 for misuse", "hindsight_ray/entry/cli"
    ),
    "cli.places": _R(
        "a mistyped home, tenant, ticket or name is refused with what is there; what is refused"
        " begins nothing",
        "hindsight_ray/entry/cli",
    ),
    "cli.advice": _R(
        "every command that is printed as advice or example runs as printed",
        "hindsight_ray/entry/cli",
    ),
    "cli.help": _R("every command has its help, an example and a group", "hindsight_ray/entry/cli"),
    "cli.interrupt": _R(
        "an interrupt at any moment is a quiet exit with 130", "hindsight_ray/entry/start.py"
    ),
    "cli.lists": _R("a list says whether there is more", "hindsight_ray/entry/cli"),
    "mcp.words": _R(
        "a refused argument is named, with what is allowed, in one sentence",
        "hindsight_ray/entry/mcp_tools.py",
    ),
    "inputs.hostile": _R(
        "whatever an argument must not be is `InvalidInput` naming it, and nothing is changed",
        "hindsight_ray/domain/faults.py",
    ),
    "search.similarity_min": _R(
        "what is less like a question than a setting says is left out, and counted",
        "hindsight_ray/service/search.py",
    ),
    "cli.light": _R("one-shot commands on a home never load Ray", "hindsight_ray/entry/cli"),
    "cli.story": _R(
        "write, search, forget, import, review, attribute work from a shell",
        "hindsight_ray/entry/cli",
    ),
    "cli.outcome": _R(
        "whoever may judge a run scores it from a shell, and an abstention says by which verb",
        "hindsight_ray/entry/cli/runs.py",
    ),
    "cli.policy": _R(
        "`policy` checks a file, explains a decision and runs scenarios", "hindsight_ray/entry/cli"
    ),
    "cli.doctor": _R(
        "`doctor` names what is wrong and what to do", "hindsight_ray/entry/doctor.py"
    ),
    "mcp.tools": _R(
        "four typed tools, none of which widens access", "hindsight_ray/entry/mcp_server.py"
    ),
    "mcp.stdio": _R(
        "over stdio the caller is fixed by the command line", "hindsight_ray/entry/mcp_server.py"
    ),
    "mcp.ticket": _R(
        "over HTTP each request is the caller of its own ticket",
        "hindsight_ray/entry/mcp_server.py",
    ),
    "mcp.absent": _R(
        "over HTTP a request without a ticket is refused", "hindsight_ray/entry/mcp_server.py"
    ),
    "mcp.hosts": _R(
        "over HTTP a foreign Host or Origin is refused", "hindsight_ray/entry/mcp_server.py"
    ),
    "mcp.rate": _R(
        "searches above the rate are refused and say when to return",
        "hindsight_ray/entry/mcp_server.py",
    ),
    "mcp.rate_writes": _R(
        "changes above the rate are refused and say when to return",
        "hindsight_ray/entry/mcp_server.py",
    ),
    "http.verbs": _R(
        "each verb of the door has one path over HTTP, described at /openapi.json",
        "hindsight_ray/entry/http",
    ),
    "http.ticket": _R(
        "over HTTP each request is the caller of its own ticket; without one it is refused",
        "hindsight_ray/entry/bearer.py",
    ),
    "http.errors": _R(
        "each error has its status and says what to do; bad bodies change nothing",
        "hindsight_ray/entry/http/answers.py",
    ),
    "http.retry": _R(
        "a request sent again with its Idempotency-Key has one effect", "hindsight_ray/entry/http"
    ),
    "http.rate": _R(
        "searches and changes above a ticket's rate are refused and say when to return",
        "hindsight_ray/entry/rate.py",
    ),
    "http.hosts": _R("over HTTP a foreign Host is refused", "hindsight_ray/entry/http/app.py"),
    "http.connections": _R(
        "silent connections end, and there are never more of them than the process can bear",
        "hindsight_ray/entry/listening.py",
    ),
    "http.leaks": _R("no route tells a stranger anything", "hindsight_ray/entry/leakcheck"),
    "demo": _R("the demo's second session does better, by the figures of its own runs", "examples"),
    # model judges and stages
    "judge.strategies": _R("a model is asked all at once, step by step or by halving", _CREDIT),
    "judge.exact": _R("a judge's answer counts only if it names a shown decision in full", _CREDIT),
    "judge.opinion": _R("what a judge says is opinion, says so, and is kept nowhere", _CREDIT),
    "judge.access": _R("a judge is shown only what whoever asks may read", _CREDIT),
    "staged.shortlist": _R("stages replay the most suspect decisions first", _CREDIT),
    "staged.budget": _R("all replays of all stages stay within one budget", _CREDIT),
    "staged.prior": _R("a learned prior counts only where it is handed over", _CREDIT),
    "environment.zoo": _R("an environment of PettingZoo's replays, here and on Ray", _CREDIT),
    # reports
    "report.figure": _R(
        "a figure shows decisions in time, coloured by credit, and what caused what", _REPORT
    ),
    "report.page": _R("a page needs nothing else and holds what was recorded as text", _REPORT),
    "report.image": _R("the figure leaves as an image", _REPORT),
    "report.prov": _R("a run and its credit leave as a W3C PROV document", _REPORT),
}
