"""The rows of an answer's blocks, each written with its place in the conversation's stream.

Each write is fenced: a worker whose lease was taken writes nothing.
"""

from typing import Any

from django.db import transaction

from jenny.agent.watch import Watch
from jenny.chat import events
from jenny.chat.models import Block, Message, Turn
from jenny.chat.stream import Position
from jenny.chat.tasks.answers import answer_at
from jenny.chat.tasks.publish import Publisher, Tell
from jenny.chat.tasks.rendering import render_block, render_newest


class Blocks:
    """Writes the blocks of one turn, and tells pages of them."""

    def __init__(self, turn: Turn, watch: Watch) -> None:
        self.turn = turn
        # Made when there is something to say; another one behind each message taken in.
        self.answers: list[Message] = []
        self.publisher = Publisher(turn.conversation)
        self._watch = watch
        self._needs_answer = True

    def _insert(self, **fields: Any) -> Block:
        """Store a new block and tell of it; with it the answer that it begins."""
        begins = self._needs_answer
        with transaction.atomic():
            # The answer before it is told of once more: it is no longer the turn's last.
            before = self.answers[-1:] if begins else []
            number = self.turn.conversation.next_event_number(1 + len(before))
            self._fence()
            answer = answer_at(self.turn, number) if begins else self.answers[-1]
            block = Block.insert(turn=self.turn, message=answer, event_number=number, **fields)
        told = [self._whole(block)]
        if begins:
            self._needs_answer = False
            told = [self.publisher.item(row)() for row in before]
            told.append(events.item(f"m{answer.pk}", render_newest(answer, [block])))
            self.answers.append(answer)
        first = Position(number - len(before))
        self.publisher.send(first, lambda: told, lambda: self._renumber(block, len(told)))
        return block

    def _drop(self, blocks: list[Block]) -> None:
        """Take *blocks* away from the answer; the list is empty then."""
        while blocks:
            block = blocks.pop(0)
            with transaction.atomic():
                number = self.turn.conversation.next_event_number()
                self._fence()
                Block.objects.filter(pk=block.pk).delete()
            self._tell_gone(block, number)

    def _tell_gone(self, block: Block, number: int) -> None:
        self.publisher.tell(lambda: events.drop(f"b{block.pk}"), number=number)

    def _whole(self, block: Block) -> events.Event:
        return events.block(f"m{block.message_id}", f"b{block.pk}", render_block(block))

    def _send(self, block: Block, event: events.Event) -> None:
        """Send an event that leaves *block* as it was stored just before, whatever a page holds."""
        position = Position(block.event_number, block.event_count)
        self.publisher.send(position, lambda: [event], lambda: self._renumber(block))

    def _send_piece(self, block: Block, event: events.Event) -> bool:
        """Send what changes in *block*, at its next position, before it is stored.

        ``False``: the block got a new number, and was told whole with it. A page that read the
        row without having heard of the number holds this piece already, and would show it twice.
        """
        number = block.event_number
        block.event_count += 1

        def told() -> list[events.Event]:
            return [event if block.event_number == number else self._whole(block)]

        position = Position(number, block.event_count)
        self.publisher.send(position, told, lambda: self._renumber(block))
        return block.event_number == number

    def _tell_behind(self, block: Block, *parts: Tell) -> None:
        """Tell of something else at *block*'s next positions, so that the words that follow need
        no number of their own."""
        first = Position(block.event_number, block.event_count + 1)
        block.event_count += len(parts)
        self.publisher.tell(*parts, first=first)

    def _store(self, block: Block) -> None:
        """Write the row; a closed block takes one more position, for the event that says so."""
        if not block.is_open:
            block.event_count += 1
        with transaction.atomic():
            self._fence()
            block.store()

    def _renumber(self, block: Block, count: int = 1) -> Position:
        """Give the block a new event number and store it whole. *count*: events that are sent,
        of which its own is the last."""
        with transaction.atomic():
            block.event_number = self.turn.conversation.next_event_number(count)
            block.event_count = 0
            self._fence()
            block.store()
        return Position(block.event_number - count + 1)

    def _fence(self) -> None:
        """Inside a transaction: hold the turn's row, and stop when it is no longer ours."""
        if not self.turn.renew():
            self._watch.cancel("lost")
            self._watch.check()
