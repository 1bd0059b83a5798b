"""``python -m bigdebug.cli`` is ``bigdebug``."""

import sys

from bigdebug.cli.main import main

sys.exit(main())
