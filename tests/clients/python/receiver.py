"""A webhook's other end."""

import asyncio
import http.server
import json
import queue
import threading


class Receiver:
    """It answers 200 to everything and keeps it: path, headers by names in lower case, body."""

    def __init__(self):
        self.posts = posts = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                posts.put((self.path, headers, json.loads(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    async def until(self, end):
        """Every post up to the first one whose body `end` holds for."""
        posts = []
        while not (posts and end(posts[-1][2])):
            posts.append(await asyncio.to_thread(self.posts.get, True, 15))
        return posts

    def close(self):
        self.server.shutdown()
        self.server.server_close()
