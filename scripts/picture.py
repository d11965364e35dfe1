"""Take the README's picture again: `python scripts/picture.py FOLDER`, after `headwater demo --no-serve --folder FOLDER`.

The name of the folder is in the picture, so choose a plain one. Needs `make page`, and Chromium (`CHROMIUM` may name another path than
/usr/bin/chromium).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from headwater.backend.home.settings import load_settings
from headwater.backend.process.logs import configure
from headwater.backend.serving import LocalService

ROOT = Path(__file__).resolve().parent.parent


def main(folder: Path, picture: Path) -> None:
    """Serve the demo's home, and let Chromium click the wrong number in its report."""
    settings = load_settings(home=folder / "home", port=0, log_level="warning")
    configure(settings.log_level, settings.log_format)
    service = LocalService(settings)
    service.start()
    try:
        environment = os.environ | {
            "HEADWATER_E2E_LINK": service.link(),
            "PICTURE_FILE": str(picture),
            "PICTURE_DATASET": "report",
            "PICTURE_VALUE": "1048.36058",
        }
        subprocess.run([str(ROOT / "scripts" / "npm"), "run", "--silent", "picture"], env=environment, check=True)
    finally:
        service.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), ROOT / "docs" / "images" / "trace.png")
