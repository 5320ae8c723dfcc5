"""``export``: writes a workspace to one backup file."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.snapshots.values import sized
from settings_ui.services.backups import exporter, storage


class Command(JSONCommand):
    help = (
        "Make a backup of a workspace: files, earlier states, conversations; encrypted, or with "
        "--plain as a zip. No keys and no passwords are in it. " + storage.PASSPHRASE_ABOUT
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", nargs="?", default="", help="a file (a name with the date, "
                            "in this folder)")  # fmt: skip
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")
        parser.add_argument("--plain", action="store_true", help="a zip that anybody can read")
        parser.add_argument(
            "--no-history", action="store_true", help="without snapshots and versions"
        )

    def answer(self, **options: Any) -> dict[str, Any]:
        workspace = workspace_called(options["workspace"])
        plain = options["plain"]
        target = Path(options["file"] or exporter.file_name(workspace, plain=plain)).absolute()
        try:
            file_key = None if plain else exporter.new_file_key(storage.ask_passphrase(twice=True))
            with_history = not options["no_history"]
            made = exporter.to_file(workspace, target, file_key=file_key, with_history=with_history)
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        size = target.stat().st_size
        lines = [f"{exporter.export_result(made)} It is {target} ({sized(size)}).", *made.left_out]
        return {
            "message": "\n".join(lines),
            "workspace": workspace.slug,
            "file": str(target),
            "bytes": size,
            "encrypted": not plain,
            "files": made.files,
            "conversations": made.conversations,
            "messages": made.messages,
            "snapshots": made.snapshots,
            "versions": made.versions,
            "left_out": list(made.left_out),
        }
