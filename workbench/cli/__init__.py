"""The command line: problems, run, show, evaluate, export, figures, doctor, demo."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from workbench.cli import commands
from workbench.cli.arguments import parser
from workbench.records import WorkbenchError

OK, FAILED, NOT_PASSED, INTERRUPTED = 0, 1, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 1 the workbench failed, 2 wrong arguments, 3 the kernel did not
    pass, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal that has no µ gets a question mark
    asked = parser().parse_args(arguments)
    try:
        return commands.COMMANDS[asked.command](asked)
    except WorkbenchError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone, `| head` say; nothing is wrong
        return OK
