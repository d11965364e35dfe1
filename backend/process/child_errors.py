"""Why a question got no answer."""

from __future__ import annotations

from headwater.errors import HeadwaterError


class QuestionEndedError(HeadwaterError):
    """A question that took longer than its deadline, or more memory than it may have, and was ended."""


class TooManyQuestionsError(HeadwaterError):
    """A caller has more questions waiting than one caller may."""

    transient = True
