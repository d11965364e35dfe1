"""Lineage that a program records itself: which records each actor read, and which records it made of them (Newt's capture API).

For Python programs without Spark. A session stands for a pipeline. Actors are registered in it. They read and write data with places:
rows of files, ranges of bytes, positions of streams, keys of tables. Answers contain these records next to the records of Spark's
queries. A call must take less than a microsecond, a fault of ours must never fail the program, and only committed associations count.

    session     a pipeline: registers actors and data, delivers committed associations
    actor       records associations: capture, add_input, add_output, reset, fail, commit, restart
    data        data with places, and references to them
    known       the data of a session, by number
    columns, parts         the columns in files, and the sources and sinks of a commit
    types       declared types of actors and data
    associations, encode   the associations before the commit, and as segments of the capture format
    manifest, events       the manifest of a commit, and the events of runs
    forks       locks in a forked process
    replayed    the session of a replay
    waiting     sessions of programs that run on an event loop

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
