"""`python -m tests.reference > docs/reference/library.md`"""

import sys

from tests.reference.page import page

sys.stdout.write(page())
