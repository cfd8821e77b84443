"""Does anything leak? A suite that plants secrets and asks for them as everybody else.

Runs over an open home or a live deployment, in two tenants of its own that nothing else uses. In
one it plants; the other is the same without. Every verb is asked by every other kind of caller in
both: what comes back must hold nothing of what was planted, and must be the same in both, so that
not even a count or the wording of a refusal tells that something is there.
"""

from hindsight_ray.entry.leakcheck.check import Finding, Report, check

__all__ = ["Finding", "Report", "check"]
