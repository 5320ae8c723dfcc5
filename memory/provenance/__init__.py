"""Origins of the lines of memory files.

A table has a row for every line that was added, moved, reworded or removed: the SHA-256 of its
normal form, the file, the author and run, and the history entries on which the write rests. It
holds no texts. Writes note their rows in the workspace first (``record``), and
``memory.services.origins`` stores them.
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
