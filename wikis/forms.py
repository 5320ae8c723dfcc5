"""What the wikis' pages ask for."""

from django import forms

from jenny.workspace.errors import WorkspaceError
from wikis import feedback, names, pages


class WikiForm(forms.Form):
    """A new wiki."""

    name = forms.CharField(
        label="Name",
        max_length=200,
        help_text=(
            "Letters from a to z, digits, dots, dashes and underscores, such as small-garden. It "
            "is the name of its folder."
        ),
        widget=forms.TextInput(
            attrs={"autocapitalize": "none", "autocomplete": "off", "autofocus": True}
        ),
    )
    scope = forms.CharField(
        label="What it is about",
        max_length=2_000,
        help_text="One line. Jenny reads it in every chat to know when this wiki matters.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_scope(self) -> str:
        """The scope as one line."""
        try:
            return names.checked_scope(str(self.cleaned_data["scope"]))
        except WorkspaceError as error:
            raise forms.ValidationError(error.sentence) from error


class ScopeForm(forms.Form):
    """What a wiki is about."""

    scope = forms.CharField(
        label="What it is about",
        max_length=2_000,
        help_text="One line. Jenny reads it in every chat to know when this wiki matters.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class NewPageForm(forms.Form):
    """A new page."""

    page = forms.CharField(
        label="Page",
        max_length=400,
        help_text="Such as Slugs, or concepts/Slugs. A folder that is not there yet is made.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )
    text = forms.CharField(required=False, strip=False)
    link = forms.BooleanField(label="Link it from the first page", required=False, initial=True)

    def clean_page(self) -> str:
        """Where it goes, from the wiki's folder."""
        try:
            return pages.new_path(str(self.cleaned_data["page"]))
        except WorkspaceError as error:
            raise forms.ValidationError(error.sentence) from error


class RenameForm(forms.Form):
    """Another name for a page."""

    to = forms.CharField(
        label="New name",
        max_length=400,
        help_text="With its folder. Links to the page are changed with it; you see them first.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )

    def clean_to(self) -> str:
        """Where it goes, from the wiki's folder."""
        try:
            return pages.new_path(str(self.cleaned_data["to"]))
        except WorkspaceError as error:
            raise forms.ValidationError(error.sentence) from error


class FeedbackForm(forms.Form):
    """A comment on a passage of a page."""

    passage = forms.CharField(
        label="Passage",
        max_length=10_000,
        help_text="Words of the page, as they stand there. Selecting them on the page fills this.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    before = forms.CharField(required=False, max_length=1_000, widget=forms.HiddenInput)
    severity = forms.ChoiceField(label="Kind", choices=list(feedback.SEVERITIES.items()))
    comment = forms.CharField(
        label="Comment",
        max_length=feedback.COMMENT_CHARS,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class ResolveForm(forms.Form):
    """What came of a comment."""

    answer = forms.CharField(
        label="What was done",
        required=False,
        max_length=feedback.COMMENT_CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
