"""Where each line of a memory file comes from.

A ledger in the database has a row for every line that came, moved, was reworded or left: the
SHA-256 of its normal form, the file, who wrote it in which run, and the entries of the history
that the write rests on. It holds no texts. Writes leave their rows in the workspace first
(``record``), and ``memory.management.origins`` takes them over.
"""

from memory.provenance.lines import Origin, derive
from memory.provenance.record import NAME, record, record_outside
from memory.provenance.values import Said, Speech, Why, WhyEntry, Writing, register_speech, speech

__all__ = [
    "NAME",
    "Origin",
    "Said",
    "Speech",
    "Why",
    "WhyEntry",
    "Writing",
    "derive",
    "record",
    "record_outside",
    "register_speech",
    "speech",
]
