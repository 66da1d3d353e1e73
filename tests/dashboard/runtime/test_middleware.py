"""Pages leave compressed; streams and answers with an entity tag do not."""

import gzip

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from dashboard.runtime.middleware import PageCompression

PAGE = "<p>why did it stop</p>" * 100


def sent(response: HttpResponseBase, accepts: str = "gzip, br") -> HttpResponseBase:
    request: HttpRequest = RequestFactory().get("/", headers={"Accept-Encoding": accepts})
    return PageCompression(lambda _: response)(request)  # type: ignore[return-value]


def test_a_page_is_compressed_for_a_browser_that_accepts_it():
    page = sent(HttpResponse(PAGE))
    assert isinstance(page, HttpResponse)
    assert gzip.decompress(page.content) == PAGE.encode()
    assert page["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in page["Vary"]


def test_the_script_catalog_of_the_admin_is_compressed_too():
    script = sent(HttpResponse("gettext('Today');" * 100, content_type='text/javascript; charset="utf-8"'))
    assert script["Content-Encoding"] == "gzip"


def test_other_clients_receive_it_uncompressed():
    for response, accepts in (
        (HttpResponse(PAGE), "identity"),
        (HttpResponse(PAGE, headers={"ETag": '"1"'}), "gzip"),
        (HttpResponse(PAGE, content_type="application/zip"), "gzip"),
        (StreamingHttpResponse([PAGE.encode()]), "gzip"),
    ):
        assert not sent(response, accepts).has_header("Content-Encoding")
