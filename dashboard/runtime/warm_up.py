"""What Django loads with the first request, loaded before: on the loop it would hold up every call of the gateway."""

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.template import engines
from django.template.loader import get_template
from django.templatetags.static import static
from django.urls import get_resolver
from django.urls.resolvers import URLResolver
from genai_prices.data_snapshot import get_snapshot

#: Templates that a page of any kind is made of; what only one kind has is compiled with the first of these.
ON_EVERY_PAGE = ("*.html", "accounts/sign_in.html", "turns/*.html")


def load_pages(templates: Iterable[str]) -> None:
    """Import all views, read all addresses, and compile the templates of these patterns."""
    _read_addresses(get_resolver())
    folder: Path = settings.BASE_DIR / "templates"
    for pattern in templates:
        for file in sorted(folder.glob(pattern)):
            get_template(str(file.relative_to(folder)))
    static("css/page.css")  # which makes the digest of all static files
    get_snapshot()
    for engine in engines.all():
        _ = engine.engine.template_context_processors  # type: ignore[attr-defined]


def _read_addresses(resolver: URLResolver) -> None:
    """Also the expressions, which Django compiles when an address is first compared with them."""
    _ = resolver.pattern.regex
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            _read_addresses(pattern)
        else:
            _ = pattern.pattern.regex
    resolver._populate()  # by name and by namespace, as pages make addresses
