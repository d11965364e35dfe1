"""Reasons why a question has no answer."""

from __future__ import annotations

from headwater.errors import HeadwaterError


class QuestionEndedError(HeadwaterError):
    """The question was ended because it exceeded its deadline or its memory limit."""


class TooManyQuestionsError(HeadwaterError):
    """A caller has too many waiting questions."""

    transient = True
