"""Pages and fragments leave compressed, for browsers that accept it."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

_TEXTS = ("text/html", "application/json", "text/plain", "image/svg+xml")


class PageCompression(GZipMiddleware):
    """Django's own, with its padding against guesses by length (BREACH); not for streams and downloads, whose readers
    want each line as it comes, nor for answers with an entity tag, which clients send back as they got it."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        whole = not response.streaming and not response.has_header("ETag")
        if whole and response.get("Content-Type", "").startswith(_TEXTS):
            return super().process_response(request, response)
        return response
