"""Messages that a person must see, even if the summary is off."""

from __future__ import annotations

import sys

NOT_IN_MODE_OFF = "skipFailing is NOT in effect, because the mode is off; a failing record fails the job"


def tell(text: str) -> None:
    sys.stderr.write(f"headwater: {text}.\n")
    sys.stderr.flush()
