"""The demo model: a small server that speaks the Messages API and answers by rules.

It lets somebody without a key walk through the product. It is no language model and says so.
Nothing outside this package knows its rules; it is asked like any other model.
"""

from jenny.agent.demo.server import DemoServer, serve

__all__ = ["DemoServer", "serve"]
