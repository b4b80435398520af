"""The command line: problems, run, show, evaluate, export, figures, doctor, demo."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from workbench.cli import commands
from workbench.cli.arguments import parser
from workbench.records import WorkbenchError

OK, FAILED, INTERRUPTED = 0, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 1 the workbench failed, 2 wrong arguments, 3 the kernel did not
    pass, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal that has no µ gets a question mark
    asked = parser().parse_args(arguments)
    try:
        code = commands.COMMANDS[asked.command](asked)
        sys.stdout.flush()
        return code
    except WorkbenchError as error:
        for words in (error, *getattr(error, "__notes__", ())):
            print(f"workbench: {words}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has gone, `| head` say; nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
