"""A way to the platform that loses answers."""

import http.client
import http.server
import threading
import urllib.parse


class LossyProxy:
    """Passes everything on, and drops the connection instead of answering where `lose(kind, count, content)` says so: what was asked has
    happened then. The kind is the part of the path after its last colon, `count` how many calls of it there were, `content` the answer."""

    def __init__(self, url, lose):
        upstream = urllib.parse.urlsplit(url)
        self.counts = counts = {}
        self.lost = lost = []
        lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                connection = http.client.HTTPConnection(upstream.hostname, upstream.port, timeout=60)
                connection.request("POST", self.path, body, dict(self.headers))
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                kind = self.path.rpartition(":")[2]
                with lock:
                    counts[kind] = count = counts.get(kind, 0) + 1
                    drop = lose(kind, count, content)
                    if drop:
                        lost.append(kind)
                if drop:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self):
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a worker that is killed
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
