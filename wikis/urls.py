"""Route the wikis: pages to read are below /wikis/, actions below /wiki/."""

from django.urls import path

from wikis.views import changes, detail, edit, lint, search

# /wikis/
urlpatterns = [
    path("wikis/", detail.wiki_list, name="wikis"),
    path("wikis/<str:name>/", detail.wiki_front_page, name="wiki"),
    path("wikis/<str:name>/<path:path>", detail.browse, name="wiki_page"),
]

# /wiki/
urlpatterns += [
    path("wiki/create/", changes.create, name="wiki_create"),
    path("wiki/example/", changes.example, name="wiki_example"),
    path("wiki/search/", search.search_results, name="wiki_search"),
    path("wiki/graph/", search.graph_of_all, name="wiki_graph_of_all"),
    path("wiki/graph/<str:name>/", search.graph, name="wiki_graph"),
    path("wiki/frame/<str:name>/<path:path>/", search.frame, name="wiki_frame"),
    path("wiki/choose/<str:name>/", search.choose, name="wiki_choose"),
    path("wiki/new/<str:name>/", edit.new, name="wiki_new"),
    path("wiki/preview/<str:name>/", edit.preview, name="wiki_preview"),
    path("wiki/edit/<str:name>/<path:path>/", edit.edit, name="wiki_edit"),
    path("wiki/rename/<str:name>/<path:path>/", changes.rename, name="wiki_rename"),
    path("wiki/delete/<str:name>/<path:path>/", changes.delete, name="wiki_delete"),
    path("wiki/remove/<str:name>/", changes.remove, name="wiki_remove"),
    path("wiki/scope/<str:name>/", changes.scope, name="wiki_scope"),
    path("wiki/health/<str:name>/", lint.wiki_health, name="wiki_health"),
    path("wiki/feedback/<str:name>/", lint.feedback_list, name="wiki_feedback"),
    path("wiki/comment/<str:name>/<path:path>/", lint.comment, name="wiki_comment"),
    path("wiki/resolve/<str:name>/<str:item_id>/", lint.resolve, name="wiki_resolve"),
]
