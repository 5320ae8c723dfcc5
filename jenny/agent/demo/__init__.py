"""The demo model: a small server of the Messages API that answers by rules.

With it a person can try the product without a key. It is no language model and says so. Nothing
outside this package knows its rules; it is asked like any other model.
"""

from jenny.agent.demo.server import PACE, DemoServer, serve

__all__ = ["PACE", "DemoServer", "serve"]
