"""Make the news articles of a day: a file of JSON lines in a folder.

Usage: corpus.py FOLDER DAY

A day always has the same articles. Each site puts its own lines around its articles. Some articles are copies of earlier ones
from another site, with a word or two changed.
"""

import json
import random
import sys
from pathlib import Path

SITES = ("gazette", "herald", "courier", "observer")
PER_SITE = 5
WHO = ("the mayor", "a farmer", "the river board", "a teacher", "the tram company", "a local band", "the museum", "a young chemist")
DID = ("opened", "repaired", "sold", "measured", "promised", "cancelled", "discovered", "painted")
WHAT = ("a bridge", "forty boats", "the old mill", "a new timetable", "the town clock", "a rare beetle", "the market hall", "a long wall")
WHERE = ("near the harbour", "behind the station", "on the eastern hill", "in the main square", "beside the canal", "at the school")


def frame_of(site: str, day: int) -> tuple[list[str], list[str]]:
    """Return the lines that a site puts before and after each article. The herald changes its last line on day 3."""
    ending = "All rights reserved" if site != "herald" or day < 3 else "Printed on recycled paper"
    return [f"The {site.title()}, your daily news"], [f"Read more in the {site.title()} tomorrow", ending]


def sentences(chance: random.Random) -> list[str]:
    return [f"On that day {chance.choice(WHO)} {chance.choice(DID)} {chance.choice(WHAT)} {chance.choice(WHERE)}" for _ in range(4)]


def change_word(chance: random.Random, text: list[str]) -> list[str]:
    changed = list(text)
    place = chance.randrange(len(changed))
    changed[place] = changed[place].replace("On that day", "Yesterday")
    return changed


def articles(day: int) -> list[dict[str, object]]:
    """Return the articles of a day, in the order of their ids."""
    chance = random.Random(day)  # noqa: S311 - for a corpus, not for a secret
    own = [sentences(chance) for _ in range(len(SITES) * PER_SITE)]
    yesterday = random.Random(day - 1)  # noqa: S311
    before = [sentences(yesterday) for _ in range(8)] if day > 1 else own
    found = []
    for number, text in enumerate(own):
        site = SITES[number % len(SITES)]
        copied = chance.random() < 0.3
        body = change_word(chance, chance.choice(before)) if copied else text
        first, last = frame_of(site, day)
        found.append({"id": day * 1000 + number, "site": site, "day": day, "text": "\n".join([*first, *body, *last])})
    return found


def main(folder: str, day: str) -> None:
    target = Path(folder) / f"day-{day}.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    hidden = target.with_name(f".{target.name}")  # hidden until it is complete
    hidden.write_text("".join(json.dumps(article) + "\n" for article in articles(int(day))), encoding="utf-8")
    hidden.rename(target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
