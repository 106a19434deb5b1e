"""``python -m rapidchunk``: the command line."""

import sys

from rapidchunk.cli import main

sys.exit(main())
