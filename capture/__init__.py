"""Lineage of any program, by its own word: which records an actor read, and which it made of them (the capture API of Newt).

For programs that are not Spark, in Python. A session is a pipeline, what is registered in it are actors, and what they read and write is
data with places: rows of files, ranges of bytes, positions of streams, keys of tables. What a program records is in the same answers as
what Spark's queries record. It must cost a call less than a microsecond, must never fail the program for a fault of ours, and must
count only what was committed.

    session     a pipeline: registers actors and data, delivers what they recorded
    actor       what records associations: capture, add_input, add_output, reset, fail, commit, restart
    data        data with places, and references to them
    known       the data of a session, by number
    columns, parts         the columns that files state, and the sources and sinks of a commit
    types       declared types of actors and data
    associations, encode   the associations until they are committed, and as the segments of the capture format
    manifest, events       what a commit says of itself, and the events of runs
    forks       locks in a process that was forked
    replayed    what differs in a replay
    waiting     the same for programs that run on an event loop

    with Session("nightly") as session:
        words, counts = session.rows("words.txt"), session.table("counts")
        counter = session.register("count", "counter")
        counter.capture(words[0], counts["alpha"])
"""

from __future__ import annotations

from headwater.capture.actor import Actor
from headwater.capture.data import Bytes, Data, Rows, Stream, Table
from headwater.capture.session import Session
from headwater.capture.waiting import AsyncSession

__all__ = ["Actor", "AsyncSession", "Bytes", "Data", "Rows", "Session", "Stream", "Table"]
