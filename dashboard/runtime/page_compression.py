"""Pages and fragments leave compressed, for browsers that accept it."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

_TEXTS = ("text/html", "application/json", "text/plain", "text/javascript", "image/svg+xml")


class PageCompression(GZipMiddleware):
    """Django's own, with its padding against guesses by length (BREACH); not for streams and downloads, whose readers
    want each line as it comes, nor for answers with an entity tag, which clients send back as they got it; the API's
    have another one when they are compressed."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        tag, of_api = response.get("ETag", ""), request.path_info.startswith("/api/")
        whole = not response.streaming and (not tag or of_api)
        if not whole or not response.get("Content-Type", "").startswith(_TEXTS):
            return response
        packed = super().process_response(request, response)
        if tag and packed.has_header("Content-Encoding"):
            packed["ETag"] = f'{tag[:-1]}-gzip"'  # as strong as the other, and known again by `api.entity_tags`
        return packed
