"""Make ``python -m bdpcap`` the command line."""

import sys

from bdpcap.cli import main

sys.exit(main())
