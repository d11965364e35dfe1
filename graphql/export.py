"""`python -m headwater.graphql.export` writes the schema to graphql/schema.graphql, from which the page's types are generated."""

from __future__ import annotations

from pathlib import Path

from headwater.graphql.schema import schema

TARGET = Path(__file__).with_name("schema.graphql")


def sdl() -> str:
    return schema.as_str() + "\n"


if __name__ == "__main__":
    TARGET.write_text(sdl(), encoding="utf-8")
