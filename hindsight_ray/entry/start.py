"""What `hindsight-ray` starts with: it loads the command line, and an interrupt is no traceback.

Apart from the command line, whose modules take some tenths of a second to load: whoever presses
Ctrl-C meanwhile leaves as quietly as later.
"""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def _leave(_signal: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)  # nothing has been begun that would have to be ended


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    from hindsight_ray.entry import cli  # noqa: PLC0415 - loads slowly, and may be interrupted

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = cli.main()
    except KeyboardInterrupt:
        code = INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was to be done is done
    sys.exit(code)
