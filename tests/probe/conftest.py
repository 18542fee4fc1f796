from __future__ import annotations

import sys
from pathlib import Path

# The tests of the probe share a few samples and a stub server.
sys.path.insert(0, str(Path(__file__).parent))
