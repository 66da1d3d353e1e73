"""`python -m dashboard.bench.gateway.proxy PORT`: hands every request on, and its answer back; looks at nothing."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import aiohttp
from aiohttp import web

from dashboard.bench.gateway.bench_process import run, say_port

_HANDED_ON = ("content-type", "authorization")

#: Is given what was asked and what was answered; the answer's last byte waits for it.
Keep = Callable[[bytes, bytes], Awaitable[None]]


async def serve(port: str, keep: Keep | None = None) -> None:
    """The proxy in front of an upstream's port; with `keep`, it records."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def hand_on(request: web.BaseRequest) -> web.StreamResponse:
            body = await request.read()
            headers = {name: value for name, value in request.headers.items() if name.lower() in _HANDED_ON}
            address = f"http://127.0.0.1:{port}{request.path_qs}"
            async with session.post(address, data=body, headers=headers) as answer:
                if answer.content_length is not None:
                    content = await answer.read()
                    if keep is not None:
                        await keep(body, content)
                    return web.Response(status=answer.status, body=content, content_type=answer.content_type)
                streamed = web.StreamResponse(status=answer.status, headers={"content-type": answer.content_type})
                await streamed.prepare(request)
                parts = []
                async for part in answer.content.iter_any():
                    await streamed.write(part)
                    if keep is not None:
                        parts.append(part)
                if keep is not None:
                    await keep(body, b"".join(parts))
                await streamed.write_eof()
                return streamed

        server = web.Server(hand_on)
        runner = web.ServerRunner(server)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=512)
        await site.start()
        say_port(runner.addresses[0][1])
        await asyncio.Event().wait()


if __name__ == "__main__":
    run(serve(sys.argv[1]))
