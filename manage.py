#!/usr/bin/env python
"""Jenny's command line: ``python manage.py help`` lists the commands."""

import os
import sys

from django.core.management import execute_from_command_line

from jenny.env import EnvironmentProblem

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jenny.settings")
    try:
        execute_from_command_line(sys.argv)
    except EnvironmentProblem as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        # Ctrl-C, in a command that had nothing to finish: as a shell counts it.
        sys.exit(130)
