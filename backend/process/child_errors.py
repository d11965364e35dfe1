"""Errors of queries that end without an answer."""

from __future__ import annotations

from headwater.errors import HeadwaterError


class QuestionEndedError(HeadwaterError):
    """A query was ended because it exceeded its deadline or its memory limit."""


class TooManyQuestionsError(HeadwaterError):
    """A caller has too many waiting queries."""

    transient = True
