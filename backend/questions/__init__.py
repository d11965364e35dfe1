"""Answers queries about records in processes that can be ended: at a deadline, when the caller leaves, or at a memory limit."""

from headwater.backend.process.child_errors import QuestionEndedError, TooManyQuestionsError
from headwater.backend.questions.jobs import JobState, TraceJob, TraceJobs
from headwater.backend.questions.pool import CallersQuestions, QuestionPool

__all__ = ["CallersQuestions", "JobState", "QuestionEndedError", "QuestionPool", "TooManyQuestionsError", "TraceJob", "TraceJobs"]
