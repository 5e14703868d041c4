"""What Taskyard signs, verified by the reference packages of Standard Webhooks. Usage: suite.py URL TASKYARD DATA FOLDER

TASKYARD and DATA are the binary and the folder of the running `dev`, from which secrets are read as an operator reads them. What was
received goes to FOLDER/signed.json, for the suite in JavaScript. One line a check in FOLDER/results.tsv.
"""

import base64, http.server, json, os, queue, subprocess, sys, threading, time, urllib.request, uuid

from standardwebhooks import Webhook, WebhookVerificationError

URL, TASKYARD, DATA, FOLDER = sys.argv[1:]
received, failed = queue.Queue(), []


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received.put(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def check(name, holds):
    print(f"{'ok' if holds else 'FAILED':<6}  Python  {name}")
    failed.extend([] if holds else [name])
    with open(os.path.join(FOLDER, "results.tsv"), "a") as results:
        results.write(f"Python\t{name}\t{'ok' if holds else 'FAILED'}\n")


def signing(*words):
    return json.loads(subprocess.run([TASKYARD, "signing", *words, "--json", "--data", DATA, "--log-level", "error"],
                                     check=True, capture_output=True, text=True).stdout)


def send(tenant, port, text):
    config = {"url": f"http://127.0.0.1:{port}/hook", "token": "t-1"}
    body = {"message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]},
            "configuration": {"taskPushNotificationConfig": config}}
    path = f"/t/{tenant}/message:send" if tenant else "/message:send"
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {"Content-Type": "application/json", "A2A-Version": "1.0"})
    urllib.request.urlopen(request, timeout=30).read()
    # Until the task is finished.
    got = []
    while not got or b"TASK_STATE_COMPLETED" not in got[-1][1]:
        got.append(received.get(timeout=60))
    return got


def accepts(secret, headers, body):
    try:
        Webhook(secret).verify(body, headers)
        return True
    except WebhookVerificationError:
        return False


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_address[1]
text = "é\u0000 \U0001f600 \\ \" 1.0e3"

secret = signing("show")[0]["secret"]
plain = send("", port, text)
check("accepts every notification of a task", len(plain) >= 3 and all(accepts(secret, *one) for one in plain))
headers, body = plain[-1]
check("refuses another body", not accepts(secret, headers, body + b" "))
check("refuses a body that means the same", not accepts(secret, headers, json.dumps(json.loads(body)).encode()))
check("refuses another id", not accepts(secret, headers | {"webhook-id": "x" + headers["webhook-id"]}, body))
later = str(int(headers["webhook-timestamp"]) + 1)
check("refuses another time", not accepts(secret, headers | {"webhook-timestamp": later}, body))
check("refuses another secret", not accepts("whsec_" + base64.b64encode(os.urandom(32)).decode(), headers, body))
check("refuses none", not accepts(secret, headers | {"webhook-signature": ""}, body))
check("the time is now", abs(time.time() - int(headers["webhook-timestamp"])) < 60)
check("an id for each notification", len({one[0]["webhook-id"] for one in plain}) == len(plain))

tenant = signing("show", "--tenant", "acme")[0]["secret"]
others = send("acme", port, text)
check("a tenant has a secret of its own", all(accepts(tenant, *one) and not accepts(secret, *one) for one in others))

old, new = secret, signing("rotate", "--overlap-hours", "1")[0]["secret"]
deadline = time.monotonic() + 30
while True:
    both = send("", port, text)
    if accepts(new, *both[0]) or time.monotonic() > deadline:
        break
check("after a rotation both secrets accept", all(accepts(new, *one) and accepts(old, *one) for one in both))
signatures = [[each.split(",")[0] for each in one[0]["webhook-signature"].split(" ")] for one in both]
check("two signatures of each kind", all(each == ["v1", "v1", "v1a", "v1a"] for each in signatures))
check("a rotation leaves other tenants alone", signing("show", "--tenant", "acme")[0]["secret"] == tenant)



def published(base):
    """The public keys of a base, written as `signing show` writes them."""
    with urllib.request.urlopen(URL + base + "/.well-known/webhook-keys.json", timeout=30) as answer:
        keys = json.load(answer)["keys"]
    plain = [base64.b64encode(base64.urlsafe_b64decode(key["x"] + "=")).decode() for key in keys]
    return [(key["kid"], "whpk_" + x) for key, x in zip(keys, plain)]


for base, words in [("", []), ("/t/acme", ["--tenant", "acme"])]:
    shown = [(key["id"], key["publicKey"]) for key in signing("show", *words)]
    check(f"the public keys are at {base}/.well-known", published(base) == shown)
check("who was never notified for has none", published("/t/nobody") == [])

with open(os.path.join(FOLDER, "signed.json"), "w") as signed:
    cases = [(old, new, signing("show"), one) for one in both] + [(tenant, tenant, signing("show", "--tenant", "acme"), one) for one in others]
    json.dump([{"secrets": [first, second], "keys": [key["publicKey"] for key in keys], "headers": one[0], "body": one[1].decode()}
               for first, second, keys, one in cases], signed)
sys.exit(1 if failed else 0)
