"""`python -m workbench` from a bare checkout."""

import sys

from workbench.cli import main

sys.exit(main())
