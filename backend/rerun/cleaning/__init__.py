"""Cleans a result: leaves out the records behind its worst rows where they overlap least with those of its best rows, and replays."""
