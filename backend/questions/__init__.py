"""Questions about records, answered in processes that can be ended: by a deadline, by the caller's leaving, by too much memory."""

from headwater.backend.process.child_errors import QuestionEndedError, TooManyQuestionsError
from headwater.backend.questions.jobs import JobState, TraceJob, TraceJobs
from headwater.backend.questions.pool import CallersQuestions, QuestionPool

__all__ = ["CallersQuestions", "JobState", "QuestionEndedError", "QuestionPool", "TooManyQuestionsError", "TraceJob", "TraceJobs"]
