"""The pages below `/docs/`."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard.documentation.contents import INDEX, image_at, kinds, pages
from dashboard.documentation.markdown import document_of
from dashboard.documentation.search import MOST, hits_of


@require_safe
def index(request: HttpRequest) -> HttpResponseBase:
    """The table of contents, or with `?q=` what was found."""
    if asked := request.GET.get("q", "").strip()[:200]:
        return _rendered(request, "search", {"asked": asked, "hits": hits_of(asked), "most": MOST})
    return page(request, INDEX)


@require_safe
def page(request: HttpRequest, name: str) -> HttpResponseBase:
    """One document, or a picture that one shows; the name of a file leads to its page."""
    if shown := pages().get(name):
        return _rendered(request, "page", {"page": shown, "document": document_of(shown)})
    if file := pages().get(name.removesuffix(".md").removesuffix("/")):
        return redirect(file.address, permanent=True)
    if image := image_at(name):
        return FileResponse(image.open("rb"))
    raise Http404


def _rendered(request: HttpRequest, template: str, context: dict[str, object]) -> HttpResponse:
    return render(request, f"documentation/{template}.html", {"kinds": kinds(), **context})
