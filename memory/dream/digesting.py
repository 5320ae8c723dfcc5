"""Raw entries are summarised when Dream reaches them: their facts stand in for them in the batch.

A summariser that gives no answer is asked again, four times in all; then the entry is shown as it
is. A provider that cannot be reached is no failure of the entry's: the run ends, and the entry
waits. The history's file is not written to.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from jenny.agent.errors import AgentError
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
from jenny.agent.watch import Watch
from memory.dream.turn import OF_THE_REQUEST
from memory.history import consolidator, marks
from memory.history.consolidator import Reply
from memory.history.entries import Entry

logger = logging.getLogger(__name__)

ATTEMPTS = 4
NOTHING = "(nothing worth keeping was found in it)"


class Digester:
    """Summarises raw entries for one run, and adds up what that used."""

    def __init__(self, provider: Callable[[], Provider], watch: Watch, recorded: str = "") -> None:
        self._provider = provider
        self._watch = watch
        self._recorded = recorded
        self.usage = Usage()

    def __call__(self, entry: Entry) -> str | None:
        """The facts in a raw entry; ``None``: it is to be shown as it is.

        Raises:
            AgentError: the provider cannot be asked.
            Cancelled: the process is to end.
        """
        for _ in range(ATTEMPTS):
            try:
                found = consolidator.digest(entry.content, self._ask, recorded=self._recorded)
            except AgentError as error:
                if error.kind not in OF_THE_REQUEST:
                    raise
                found = marks.NoAnswer(error.kind)
            if isinstance(found, marks.Answer):
                return found.text or NOTHING
            logger.info("dream.not_digested", extra={"entry": entry.cursor, "why": found.reason})
        return None

    def _ask(self, system: SystemPrompt, text: str) -> Reply:
        asked = self._provider()
        # Thinking would use up the tokens that the facts may take.
        quick = Provider(asked.endpoint, replace(asked.preset, thinking="off"))
        reply = consolidator.asking(quick, self._watch)(system, text)
        self.usage += reply.usage
        return reply
