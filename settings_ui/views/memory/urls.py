"""Routes of the Memory pages."""

from django.urls import path

from settings_ui.views.memory import approvals, archive, lines, overview, rehearsal, runs, undo

# /memory/
urlpatterns = [
    path("", overview.page, name="memory"),
    path("dream", overview.dream_now, name="memory_dream_now"),
    path("rehearse", rehearsal.begin, name="memory_rehearse"),
    path("rehearsals/<int:job_id>/", rehearsal.page, name="memory_rehearsal"),
    path("offer-again", overview.offer_again, name="memory_offer_again"),
    path("runs/", runs.listing, name="memory_runs"),
    path("runs/<int:run_id>/", runs.page, name="memory_run"),
    path("runs/<int:run_id>/undo/", undo.page, name="memory_undo"),
    path("runs/<int:run_id>/offer", runs.offer, name="memory_offer"),
    path("runs/<int:run_id>/prune", approvals.prune, name="memory_prune"),
    path("approvals/", approvals.page, name="memory_approvals"),
    path("approvals/accept-all", approvals.accept_all, name="memory_accept_all"),
    path("approvals/skill", approvals.skill, name="memory_skill"),
    path("approvals/<int:hunk_id>/", approvals.decide, name="memory_decide"),
    path("archive/", archive.listing, name="memory_archive"),
    path("archive/<str:item_id>/", archive.item, name="memory_archived"),
    path("archive/<str:item_id>/back", archive.back, name="memory_back"),
    path("forgotten/", archive.forgotten_page, name="memory_forgotten"),
    path("forgotten/<str:item_id>/lift", archive.lift, name="memory_lift"),
    path("files/<path:path>", lines.page, name="memory_file"),
    path("pin/<path:path>", lines.pin, name="memory_pin"),
]
