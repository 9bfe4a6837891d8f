"""Each test here runs in several processes, which have one device each."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the processes of the ranks inherit it
