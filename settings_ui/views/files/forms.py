"""What the file browser asks for."""

from django import forms

from jenny.workspace import names


class PathForm(forms.Form):
    """Where something is to be. Slashes part folders; missing folders are made."""

    to = forms.CharField(
        label="Path",
        max_length=names.PATH_CHARS,
        strip=True,
        help_text="Folders are parted by /. A folder that is not there yet is made.",
    )

    def clean_to(self) -> str:
        """A path from the workspace's folder."""
        return str(self.cleaned_data["to"]).strip().strip("/")


class NewForm(forms.Form):
    """A new file or folder in a folder."""

    name = forms.CharField(
        label="Name", max_length=names.PATH_CHARS, help_text="Such as notes.md, or ideas/2026.md."
    )
    kind = forms.ChoiceField(
        label="What", choices=[("file", "A text file"), ("folder", "A folder")], initial="file"
    )

    def clean_name(self) -> str:
        """The name, without slashes around it."""
        return str(self.cleaned_data["name"]).strip().strip("/")
