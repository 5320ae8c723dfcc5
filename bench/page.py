"""The page of a conversation of 1,000 messages, and of its older windows."""

import time

from bench.harness import Bar, Row, median, take_turns
from bench.instance import Visitor, running, scratch_folder
from bench.scripted import Model
from tests.support.stack import Stack

RUNS = 25
MESSAGES = 1_000

_FILL = '''
from jenny.accounts.models import Workspace
from jenny.chat.models import Block, Conversation, Message, Turn
from jenny.markdown.render import render
text = """Some *words* about the matter, with `code` and [a link](https://x.example).

- one
- two

```python
def f(x):
    return x + 1
```
"""
html = render(text)
chat = Conversation.objects.create(workspace=Workspace.objects.first(), title="Long")
for number in range(COUNT // 2):
    turn = Turn.objects.create(conversation=chat, state=Turn.State.DONE, model="scripted-model")
    base = {"conversation": chat, "turn": turn}
    asked = chat.next_event_number()
    Message.objects.create(kind="user", text=f"Question {number}?", event_number=asked, **base)
    said = chat.next_event_number()
    answer = Message.objects.create(kind="answer", event_number=said, **base)
    Block.objects.create(
        turn=turn, message=answer, kind="text", text=text, html=html, is_open=False, step=1,
        event_number=chat.next_event_number(),
    )
print("chat", chat.pk)
'''


def rows() -> list[Row]:
    """All rows of this module. No peer has such a page."""
    with (
        scratch_folder() as scratch,
        Model() as model,
        running(scratch / "data", model.server.url) as stack,
    ):
        chat = _filled(stack)
        visitor = Visitor(stack)
        sizes = [len(visitor.get(f"/chat/{chat}/")) for _ in range(3)]

        def once() -> float:
            visitor.connect()
            started = time.perf_counter()
            visitor.get(f"/chat/{chat}/")
            return (time.perf_counter() - started) * 1000

        times = take_turns(RUNS, ours=once)
    return [
        Row(
            f"page of a {MESSAGES:,}-message conversation",
            "ms",
            median(times["ours"]),
            None,
            Bar(limit=60),
            f"to the last byte at the client; {sizes[-1] // 1000} KB",
        )
    ]


def _filled(stack: Stack) -> str:
    code = _FILL.replace("COUNT", str(MESSAGES))
    return stack.manage("shell", "-v", "0", "-c", code).split()[-1]
