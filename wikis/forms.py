"""Define the forms of the wikis' pages."""

from django import forms

from jenny.workspace.errors import WorkspaceError
from wikis import feedback, names, pages


class WikiForm(forms.Form):
    name = forms.CharField(
        label="Name",
        max_length=200,
        help_text="In any language, such as Moving house. Its folder is named after it.",
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off", "autofocus": True}),
    )
    scope = forms.CharField(
        label="What it is about",
        max_length=2_000,
        help_text="One line. Jenny reads it in every chat to know when this wiki matters.",
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )

    def clean_scope(self) -> str:
        try:
            return names.checked_scope(str(self.cleaned_data["scope"]))
        except WorkspaceError as error:
            raise forms.ValidationError(error.message) from error


class ScopeForm(forms.Form):
    scope = forms.CharField(
        label="What it is about",
        max_length=2_000,
        help_text="One line. Jenny reads it in every chat to know when this wiki matters.",
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )


class NewPageForm(forms.Form):
    page = forms.CharField(
        label="Page",
        max_length=400,
        help_text="Such as Slugs, or concepts/Slugs. A folder that is not there yet is made.",
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off", "autofocus": True}),
    )
    text = forms.CharField(required=False, strip=False)
    link = forms.BooleanField(label="Link it from the first page", required=False, initial=True)

    def clean_page(self) -> str:
        try:
            return pages.new_path(str(self.cleaned_data["page"]))
        except WorkspaceError as error:
            raise forms.ValidationError(error.message) from error


class RenameForm(forms.Form):
    to = forms.CharField(
        label="New name",
        max_length=400,
        help_text="With its folder. Links to the page are changed with it; you see them first.",
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off", "autofocus": True}),
    )

    def clean_to(self) -> str:
        try:
            return pages.new_path(str(self.cleaned_data["to"]))
        except WorkspaceError as error:
            raise forms.ValidationError(error.message) from error


class FeedbackForm(forms.Form):
    passage = forms.CharField(
        label="Passage",
        max_length=10_000,
        help_text="Words of the page, as they stand there. Selecting them on the page fills this.",
        widget=forms.Textarea(attrs={"dir": "auto", "rows": 2}),
    )
    before = forms.CharField(required=False, max_length=1_000, widget=forms.HiddenInput)
    severity = forms.ChoiceField(label="Kind", choices=list(feedback.SEVERITIES.items()))
    comment = forms.CharField(
        label="Comment",
        max_length=feedback.COMMENT_CHARS,
        widget=forms.Textarea(attrs={"dir": "auto", "rows": 3}),
    )


class ResolveForm(forms.Form):
    answer = forms.CharField(
        label="What was done",
        required=False,
        max_length=feedback.COMMENT_CHARS,
        widget=forms.Textarea(attrs={"dir": "auto", "rows": 2}),
    )
