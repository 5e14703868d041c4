"""A Taskyard worker that gives back what it was sent. Usage: python3 worker.py [AGENT]"""
import json, os, sys, threading, time, urllib.error, urllib.request

URL = os.environ.get("TASKYARD_URL", "http://127.0.0.1:8080").rstrip("/") + "/worker/v1"
AGENT = sys.argv[1] if len(sys.argv) > 1 else "demo"

def call(path, body, lease=None):
    headers = {"Content-Type": "application/json"}
    if lease:
        headers |= {"Taskyard-Lease": lease["lease"], "Taskyard-Epoch": str(lease["epoch"])}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)

def work(task):  # your part: from the task to the parts of its result; it may take as long as it needs
    return [message for message in task["history"] if message["role"] == "ROLE_USER"][-1]["parts"]

def keep(lease, done, pause):
    while not done.wait(pause):  # heartbeats, so that the task stays ours while we work
        try:
            call("/leases:heartbeat", {"leases": [{"lease": lease["lease"], "epoch": lease["epoch"]}]})
        except OSError as error:
            print("heartbeat:", error)

def serve(lease, pause):
    task, done = lease["task"], threading.Event()
    threading.Thread(target=keep, args=(lease, done, pause), daemon=True).start()
    try:
        updates = [{"artifact": {"artifact": {"artifactId": "result", "parts": work(task)}}}, {"complete": {}}]
    except Exception as error:
        updates = [{"fail": {"statusMessage": {"parts": [{"text": str(error)}]}}}]
    try:
        call(f"/tasks/{task['id']}:apply", {"updates": updates}, lease)
        print("done:", task["id"])
    except urllib.error.HTTPError as refusal:
        if refusal.code not in (404, 409):  # canceled, its client gone, or another worker has it by now
            raise
        print("not ours any more:", task["id"])
    finally:
        done.set()

while True:
    try:
        pause = call("/sessions", {"agents": [AGENT]})["heartbeatSeconds"]
        while True:
            for lease in call("/leases:poll", {"agents": [AGENT], "start": True})["leases"]:
                serve(lease, pause)
    except OSError as error:
        print("trying again:", error, error.read().decode() if hasattr(error, "read") else "")
        time.sleep(1)
