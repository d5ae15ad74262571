"""A plain pass-through of model calls in aiohttp, in a process of its own: `bench/gateway.py`.

It reads the request's body, posts it to the address that it is given, and passes the reply on as
it comes. It prints its port. For each line that it then reads it prints its CPU time so far.
"""

import asyncio
import sys
import time

from aiohttp import ClientSession, TCPConnector, web


async def main(upstream: str) -> None:
    async with ClientSession(connector=TCPConnector(limit=0), auto_decompress=False) as client:

        async def pass_on(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            async with client.post(upstream + request.path, data=body) as reply:
                response = web.StreamResponse(status=reply.status)
                response.content_type = reply.content_type
                await response.prepare(request)
                async for chunk in reply.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
                return response

        application = web.Application(client_max_size=2**24)
        application.router.add_post("/{path:.*}", pass_on)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        print(runner.addresses[0][1], flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(time.process_time(), flush=True)
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
