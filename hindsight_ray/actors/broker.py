"""Brokers: decide, search and write. They hold no operator key and no models."""

from hindsight_ray.actors.shell import Shell


class Broker(Shell):
    """Answers every command that has no actor of its own.

    **Guarantees** (beside those of `Shell`)
    - Which broker answers makes no difference to the answer: all read one ledger, and decide in
      the transaction that reads the rows. A revoke that has returned holds on every one of them.
    """
