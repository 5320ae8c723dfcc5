"""Stores static files under names with a hash of their content."""

from collections.abc import Callable
from re import Match
from typing import override

from whitenoise.storage import CompressedManifestStaticFilesStorage

# Our own scripts; those of packages have imports in their comments, too.
_OWN = "js/"


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also puts the names with hashes into the imports of Jenny's own scripts."""

    support_js_module_import_aggregation = True

    @override
    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[Match[str]], str]:
        is_import = template is not None and template.startswith(("import", "export"))
        if is_import and not name.startswith(_OWN):
            return lambda found: found[0]
        converter: Callable[[Match[str]], str] = super().url_converter(name, hashed_files, template)
        return converter
