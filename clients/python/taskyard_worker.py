"""Workers for Taskyard: an agent is a function of a task, and this module does the rest.

    from taskyard_worker import Worker

    worker = Worker("http://127.0.0.1:8080", ["mine"])

    @worker.handler
    async def shout(ctx):
        await ctx.progress("Shouting.")
        return ctx.text.upper()

    worker.run()

The function is handed a `Context` for each task of its agents and says how the work ended: what it returns is the result (an artifact
called `result`; `None` for none), `return ctx.ask_for_input("Where to?")` asks the client, an exception fails the task. A plain `def`
works too: it runs in a thread of its own, and the methods of its `SyncContext` are the same ones without `await`.

It may be called again for the same task: when the client answered a question, and when a worker died, after which the task is as that
worker left it. So what has to be known across calls belongs in the task, not in memory. Meanwhile the task is this worker's alone, by
a lease that is renewed from a thread of its own, whatever the agents are busy with. When the lease is lost (the client canceled, say)
the function is cancelled; whatever it reports afterwards changes nothing.

Reports are gathered for a few hundredths of a second and sent in one call and one commit, the last ones with the end of the task. A
call whose answer was lost is repeated under its `Idempotency-Key`, so nothing happens twice.

Only the standard library is used. `python3 -m taskyard_worker echo AGENT` is a worker that gives back what it was sent.
"""

from __future__ import annotations

import asyncio
import base64
import collections
import concurrent.futures
import contextvars
import functools
import http.client
import inspect
import json
import logging
import os
import random
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from typing import Any, Callable, Deque, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union

__version__ = "0.1.0"
__all__ = [
    "ArtifactStream", "Context", "LeaseLost", "NoAnswer", "Outcome", "Refused", "SyncArtifactStream", "SyncContext", "TaskyardError",
    "Worker", "data", "file", "text_of",
]  # fmt: skip

log = logging.getLogger("taskyard_worker")

Json = Dict[str, Any]
#: What a message or an artifact consists of: a text, bytes, a part (see `data` and `file`), or several of these.
Content = Union[str, bytes, Json, Sequence[Union[str, bytes, Json]]]

_WORKING = "TASK_STATE_WORKING"
_CALL_SECONDS = 20.0  # how long the platform may be silent in a call
_CONNECT_SECONDS = 5.0
_POLL_MARGIN = 10.0  # how much longer than the platform's wait a poll waits: an answer on its way holds leases
_SILENCE = 60.0  # of the control stream, which sends comments
_LOOK_AGAIN = 30.0  # for a control stream that is not served
_PATIENCE = 600.0  # how long a report is repeated; while no replica answers, nobody else can claim the task either
_CLEAN_UP = 5.0  # for a cancelled handler
_LAST_CALLS = 5.0  # for the releases at the end
_HEARTBEAT = 1000  # leases in one heartbeat
_BATCH = 100  # updates in one call
_BATCH_BYTES = 1 << 20
_CHUNK_BYTES = 8192  # up to which pieces of a text share a chunk
_ENDS = {
    "complete": "TASK_STATE_COMPLETED",
    "fail": "TASK_STATE_FAILED",
    "reject": "TASK_STATE_REJECTED",
    "requireInput": "TASK_STATE_INPUT_REQUIRED",
    "requireAuth": "TASK_STATE_AUTH_REQUIRED",
}


class TaskyardError(Exception):
    """What can go wrong between a worker and the platform. Raised by reports; best let through, the worker knows what to do."""


class NoAnswer(TaskyardError):
    """The platform did not answer for as long as a report is repeated (10 minutes). The task is given back."""

    def __init__(self, doing: str, cause: BaseException, reached: bool):
        super().__init__(f"no answer while {doing}: {cause or type(cause).__name__}")
        #: Whether the request may have reached the platform.
        self.reached = reached


class Refused(TaskyardError):
    """The platform answered with an error. Let through, it fails the task with the platform's explanation."""

    def __init__(self, doing: str, status: int, body: bytes):
        #: The HTTP status.
        self.status = status
        #: The error's name, such as `LEASE_LOST`; empty when the answer had none (a proxy's, say).
        self.reason = ""
        #: The platform's explanation.
        self.message = body.decode("utf-8", "replace")[:200]
        #: What else it says, such as the task's `state`.
        self.metadata: Dict[str, str] = {}
        try:
            error = json.loads(body)["error"]
            self.message = error.get("message", "")
            info: Json = next((each for each in error.get("details", []) if each.get("reason")), {})
            self.reason, self.metadata = info.get("reason", ""), info.get("metadata", {})
        except (ValueError, LookupError, TypeError, AttributeError):
            pass
        super().__init__(f"refused while {doing}: {status} {self.reason}: {self.message}")

    @property
    def passing(self) -> bool:
        """Whether the same call may go through later."""
        return self.status == 429 or self.status >= 500


class LeaseLost(TaskyardError):
    """The task is no longer this worker's: nothing can be reported any more, and the work should stop."""

    def __init__(self, task: str, reason: str, state: str = ""):
        super().__init__(f"the lease on task {task} is gone: {reason}")
        #: Why.
        self.reason = reason
        #: The task's state when it was noticed, such as `TASK_STATE_CANCELED`; empty where it is not known.
        self.state = state


def data(value: Any, *, media_type: str = "") -> Json:
    """A part of structured data: anything that JSON can say."""
    return {"data": value, **({"mediaType": media_type} if media_type else {})}


def file(content: Union[bytes, str], *, media_type: str = "", filename: str = "") -> Json:
    """A part that is a file: its bytes, or the URL where it is."""
    part = {"url": content} if isinstance(content, str) else {"raw": base64.b64encode(content).decode()}
    return {**part, **({"mediaType": media_type} if media_type else {}), **({"filename": filename} if filename else {})}


def text_of(parts: Union[Json, Iterable[Json]]) -> str:
    """The text parts of a message, an artifact or a list of parts, joined by line breaks."""
    each: Iterable[Json] = parts.get("parts", ()) if isinstance(parts, Mapping) else parts
    return "\n".join(part["text"] for part in each if "text" in part)


def _parts(content: Content) -> List[Json]:
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, (bytes, bytearray)):
        return [file(bytes(content))]
    if isinstance(content, Mapping):
        if not any(name in content for name in ("text", "raw", "url", "data")):
            raise TypeError(f"a part has a text, raw, url or data, and not only {sorted(content)}; wrap plain data in data(...)")
        return [dict(content)]
    if isinstance(content, (list, tuple)):
        return [part for each in content for part in _parts(each)]
    raise TypeError(f"content is a text, bytes, a part or a list of these, not {type(content).__name__}; wrap data in data(...)")


def _status(content: Optional[Content], metadata: Optional[Json]) -> Json:
    status: Json = {} if content is None else {"statusMessage": {"parts": _parts(content)}}
    return {**status, **({"metadata": metadata} if metadata else {})}


class _Backoff:
    """Pauses between attempts: doubling, bounded, and with jitter, so that a fleet does not come back in step."""

    def __init__(self, first: float, longest: float):
        self._first, self._longest, self._failures = first, longest, 0

    def next(self) -> float:
        full = min(self._first * 2 ** min(self._failures, 16), self._longest)
        self._failures += 1
        return full * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._failures = 0


class _Platform:
    """Calls to the worker surface, over connections that are kept. Any number of threads may call at once."""

    def __init__(self, url: str, key: Optional[str]):
        parsed = urllib.parse.urlsplit(url)
        if parsed.scheme not in ("http", "https") or not parsed.hostname:
            raise ValueError(f"the platform's url `{url}` is not an http(s) URL")
        self._host, self._port = parsed.hostname, parsed.port
        self._base = parsed.path.rstrip("/") + "/worker/v1"
        self._tls = ssl.create_default_context() if parsed.scheme == "https" else None
        self._headers = {"Accept": "application/json", "User-Agent": f"taskyard-worker-python/{__version__}"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._lock = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []
        self._busy: Set[http.client.HTTPConnection] = set()
        self._closed = False

    def call(self, doing: str, path: str, body: Union[Json, bytes], headers: Mapping[str, str] = {}, silence: float = _CALL_SECONDS,
             opened: Callable[[http.client.HTTPConnection], None] = lambda _: None) -> Json:  # fmt: skip
        """Posts, and gives the answer. `opened` is told the connection, for `cut`."""
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = self._take(doing)
        kept = False
        try:
            opened(connection)
            connection.sock.settimeout(silence)
            sent = {**self._headers, "Content-Type": "application/json", **headers}
            connection.request("POST", self._base + path, payload, sent)
            answer = connection.getresponse()
            content = answer.read()
            kept = not answer.will_close
        except (OSError, http.client.HTTPException, AttributeError) as error:  # without a socket: cut by another thread
            raise NoAnswer(doing, error, True) from error
        finally:
            self._give(connection, kept)
        if not 200 <= answer.status < 300:
            raise Refused(doing, answer.status, content)
        try:
            said = json.loads(content) if content else {}
        except ValueError as error:
            raise NoAnswer(doing, error, True) from error
        return said if isinstance(said, dict) else {}

    def listen(self, path: str, opened: Callable[[http.client.HTTPConnection], None]) -> Iterable[bytes]:
        """The lines of a stream of events, until it ends."""
        doing = "opening the control stream"
        connection = self._take(doing)
        try:
            opened(connection)
            connection.sock.settimeout(_SILENCE)
            connection.request("GET", self._base + path, headers={**self._headers, "Accept": "text/event-stream"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise Refused(doing, answer.status, answer.read())
            yield b""
            while True:
                line = answer.readline()
                if not line:
                    return
                yield line
        except (OSError, http.client.HTTPException, AttributeError, ValueError) as error:
            raise NoAnswer(doing, error, True) from error
        finally:
            self._give(connection, False)

    def close(self) -> None:
        """Ends every call, whatever it waits for."""
        with self._lock:
            self._closed = True
            busy, idle, self._idle = list(self._busy), self._idle, []
        for connection in busy:
            self.cut(connection)
        for connection in idle:
            connection.close()

    @staticmethod
    def cut(connection: http.client.HTTPConnection) -> None:
        """Ends the call on a connection, from any thread."""
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass

    def _take(self, doing: str) -> http.client.HTTPConnection:
        while True:
            with self._lock:
                if self._closed:
                    raise NoAnswer(doing, ConnectionError("the worker has stopped"), False)
                connection = self._idle.pop() if self._idle else None
                if connection is not None:
                    self._busy.add(connection)
            if connection is None:
                break
            if self._is_open(connection):
                return connection
            self._give(connection, False)
        if self._tls:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=_CONNECT_SECONDS, context=self._tls)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NoAnswer(doing, error, False) from error
        with self._lock:
            self._busy.add(connection)
            closed = self._closed
        if closed:
            self._give(connection, False)
            raise NoAnswer(doing, ConnectionError("the worker has stopped"), False)
        return connection

    def _give(self, connection: http.client.HTTPConnection, kept: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            kept = kept and not self._closed and connection.sock is not None
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()

    @staticmethod
    def _is_open(connection: http.client.HTTPConnection) -> bool:
        """Whether a kept connection is silent: the platform has ended one where there is something to read, if only its end."""
        try:
            connection.sock.settimeout(0)
            # Of the connection below TLS, where there is one: that one cannot be peeked into.
            socket.socket.recv(connection.sock, 1, socket.MSG_PEEK)
            return False
        except BlockingIOError:
            return True
        except (OSError, ValueError, AttributeError):
            return False


class Outcome:
    """How a turn at a task ended. The methods of a context make it; return it from the handler."""

    def __init__(self, name: str, body: Json):
        self.name, self.body = name, body

    def __repr__(self) -> str:
        return f"Outcome({self.name})"


class _Turn:
    """One lease, and what is told under it: from any thread, in order, each thing once."""

    def __init__(self, worker: Worker, lease: Json, loop: asyncio.AbstractEventLoop):
        self.lease, self.task = lease, lease["task"]
        self.id, self.epoch, self.task_id = lease["lease"], lease["epoch"], lease["task"]["id"]
        self.state: str = self.task["status"]["state"]
        self.loop, self.worker = loop, worker
        self.since = time.monotonic()
        self.outcome: Optional[Outcome] = None
        self.lost: Optional[LeaseLost] = None
        self.error: Optional[TaskyardError] = None
        self.closing = False  # the last call is on its way: that the lease ends is then no news
        self.stopped = ""  # why the work is to be given back
        self.over, self.cancelled, self.draining, self.arrived = (asyncio.Event() for _ in range(4))
        self.gone, self.drained = threading.Event(), threading.Event()  # the same for threads
        self.inbox: Deque[Json] = collections.deque()
        self.arrival = threading.Condition()
        self._platform = worker._platform
        self._lock = threading.Lock()
        self._order = threading.Lock()
        self._gathered: List[Tuple[str, str]] = []
        self._bytes = 0
        self._armed = False
        self._flushing = False
        self._calls = 0

    # What is known of the lease.

    def lose(self, reason: str, state: str = "") -> LeaseLost:
        """Notes that the lease is gone. The first reason stays."""
        with self._lock:
            if self.lost is None:
                self.lost = LeaseLost(self.task_id, reason, state)
            lost = self.lost
        self.gone.set()
        with self.arrival:
            self.arrival.notify_all()
        self._tell(self.cancelled, self.over)
        return lost

    def stop(self, reason: str) -> None:
        """Asks for the work to be given back."""
        self.stopped = self.stopped or reason
        self._tell(self.over)

    def drain(self) -> None:
        """Tells that the work should come to an end soon."""
        self.drained.set()
        self._tell(self.draining)

    def hear(self, said: Json) -> None:
        """What a heartbeat says of the lease."""
        state = said.get("state", "")
        if said.get("cancel"):
            self.lose("the task was canceled", state or "TASK_STATE_CANCELED")
        elif not said.get("held"):
            if not self.closing:
                self.lose(said.get("reason") or "the platform took it back", state)
        else:
            if said.get("messages"):
                with self.arrival:
                    self.inbox.extend(said["messages"])
                    self.arrival.notify_all()
                self._tell(self.arrived)
            if said.get("drain"):
                self.drain()

    def take_messages(self) -> List[Json]:
        with self.arrival:
            messages = list(self.inbox)
            self.inbox.clear()
        return messages

    def _tell(self, *events: asyncio.Event) -> None:
        try:
            for event in events:
                self.loop.call_soon_threadsafe(event.set)
        except RuntimeError:
            pass  # the loop has ended, and everybody who waited with it

    # What is told.

    def check(self) -> None:
        if self.error or self.lost:
            raise self.error or self.lost  # type: ignore[misc]
        if self.stopped:
            raise LeaseLost(self.task_id, self.stopped)
        if self.outcome:
            raise RuntimeError(f"nothing can be reported after {self.outcome!r}")

    def add(self, name: str, body: Json) -> bool:
        """Gathers an update; whether it is time to send."""
        text = json.dumps(body, allow_nan=False)
        self.check()
        with self._lock:
            self._gathered.append((name, text))
            self._bytes += len(text)
            full = len(self._gathered) >= _BATCH or self._bytes >= _BATCH_BYTES
            arm, self._armed = not self._armed, True
        if arm:
            self.loop.call_soon_threadsafe(self.loop.call_later, self.worker._gather, self._fire)
        return full

    def add_chunk(self, artifact: Json, append: bool, last: bool, metadata: Optional[Json] = None) -> bool:
        body = {"artifact": artifact, "append": append, "lastChunk": last, **({"metadata": metadata} if metadata else {})}
        return self.add("artifact", body)

    def extend(self, artifact: Json, last: bool) -> bool:
        """Adds to an artifact that grows: to the chunk that is still here, if both are text, so that small pieces share one."""
        text = json.dumps(artifact, allow_nan=False)
        self.check()
        with self._lock:
            name, before = self._gathered[-1] if self._gathered else ("", "")
            if name == "artifact" and len(before) + len(text) <= _CHUNK_BYTES:
                body = json.loads(before)
                parts, more = body["artifact"]["parts"], artifact["parts"]
                same = body["artifact"]["artifactId"] == artifact["artifactId"] and not body["lastChunk"] and "metadata" not in body
                if same and len(more) == 1 and parts[-1].keys() == more[0].keys() == {"text"}:
                    parts[-1]["text"] += more[0]["text"]
                    merged = json.dumps({**body, "lastChunk": last})
                    self._gathered[-1] = (name, merged)
                    self._bytes += len(merged) - len(before)
                    return False
        return self.add_chunk(artifact, True, last)

    def seal(self, id: str) -> bool:
        """Says that an artifact is whole, with its last chunk if that is still here."""
        self.check()
        with self._lock:
            for index in range(len(self._gathered) - 1, -1, -1):
                name, text = self._gathered[index]
                body = json.loads(text)
                if name == "artifact" and body["artifact"]["artifactId"] == id:
                    self._gathered[index] = (name, json.dumps({**body, "lastChunk": True}))
                    return False
        return self.add_chunk({"artifactId": id, "parts": [{"text": ""}]}, True, True)

    def _fire(self) -> None:
        with self._lock:
            self._armed = False
            # One at a time, which takes along what is gathered while it is on its way.
            due = bool(self._gathered) and not self._flushing and not self.lost
            self._flushing = self._flushing or due
        if due:
            self.worker._submit(self._flush_quietly)

    def _flush_quietly(self) -> None:
        while True:
            try:
                self.flush()
            except TaskyardError as error:
                log.debug("task %s: %s", self.task_id, error)  # the next report and the end of the turn raise it
                return
            with self._lock:
                if not self._gathered:
                    self._flushing = False
                    return

    def flush(self) -> None:
        """Sends what is gathered."""
        with self._order:
            if self.error or self.lost:
                raise self.error or self.lost  # type: ignore[misc]
            self._deliver(self._take(), None)

    def finish(self, name: str, body: Json, alone: bool = False) -> None:
        """Sends what is gathered (unless `alone`) and the move that ends the lease."""
        with self._order:
            gathered = self._take()
            if not alone and self.error:
                raise self.error
            self._deliver([] if alone else gathered, (name, json.dumps(body, allow_nan=False)))

    def reply(self, body: Json) -> None:
        """Sends the message that is all of the answer."""
        with self._order:
            self.closing = True
            self._insist(":reply", json.dumps(body, allow_nan=False).encode(), "TASK_STATE_COMPLETED", True)

    @property
    def untouched(self) -> bool:
        """Whether the platform may have no task yet, and knows of nothing this turn did."""
        return bool(self.lease.get("direct")) and self.state == "TASK_STATE_SUBMITTED" and not self._gathered

    def _take(self) -> List[Tuple[str, str]]:
        with self._lock:
            gathered, self._gathered, self._bytes = self._gathered, [], 0
        return gathered

    def _deliver(self, updates: List[Tuple[str, str]], end: Optional[Tuple[str, str]]) -> None:
        if self.state == _WORKING:
            # It is already, by what was sent a moment ago: what remains of such an update are its words.
            updates = [("progress" if name == "work" else name, text) for name, text in updates
                       if name != "work" or '"statusMessage"' in text]  # fmt: skip
        # Progress happens on a Working task, and so does what leads to no end.
        begins = self.state != _WORKING and not any(name == "work" for name, _ in updates)
        if updates and begins and (end is None or any(name == "progress" for name, _ in updates)):
            if updates[0][0] == "progress":
                updates[0] = ("work", updates[0][1])
            else:
                updates.insert(0, ("work", "{}"))
        while updates or end:
            batch: List[Tuple[str, str]] = []
            size = 0
            while updates and len(batch) < _BATCH - 1 and (not batch or size + len(updates[0][1]) <= _BATCH_BYTES):
                batch.append(updates.pop(0))
                size += len(batch[-1][1])
            last, to = False, _WORKING
            if end and not updates:
                batch.append(end)
                last, to, end = True, _ENDS[end[0]], None
                self.closing = True
            body = '{"updates":[' + ",".join(f'{{"{name}":{text}}}' for name, text in batch) + "]}"
            try:
                self._insist(":apply", body.encode(), to, last)
            except TaskyardError as error:
                self.error = error
                raise

    def _insist(self, what: str, body: bytes, to: str, last: bool) -> None:
        """Makes a call until it is clear what became of it."""
        self._calls += 1
        headers = {"Taskyard-Lease": self.id, "Taskyard-Epoch": str(self.epoch)}
        if not last:
            # The number of the call within its lease. What ends the lease needs none: its repeat is refused, and that names the state.
            headers["Idempotency-Key"] = str(self._calls)
        path = f"/tasks/{urllib.parse.quote(self.task_id, safe='')}{what}"
        patience, backoff, unclear = time.monotonic() + _PATIENCE, _Backoff(0.05, 5.0), False
        while True:
            if self.lost:
                raise self.lost
            if self.stopped and not last:
                raise LeaseLost(self.task_id, self.stopped)
            try:
                said = self._platform.call("reporting", path, body, headers)
                self.state = (said.get("applied") or said).get("state", to)
                return
            except NoAnswer as error:
                failure: TaskyardError = error
                unclear = unclear or error.reached
            except Refused as error:
                failure = error
                if error.reason in ("LEASE_LOST", "TASK_STATE_CONFLICT") and last and unclear and error.metadata.get("state") == to:
                    self.state = to  # it had arrived
                    return
                if error.reason == "TASK_NOT_FOUND":
                    if unclear and last:
                        return  # a message that waited for an answer is gone once it has one
                    raise self.lose("the client has gone away")
                if error.reason == "LEASE_LOST":
                    raise self.lose(error.metadata.get("reason") or error.message, error.metadata.get("state", ""))
                if not error.passing:
                    raise
                # 503 is how a replica refuses before it starts; any other failure may have come after the commit.
                unclear = unclear or (error.status >= 500 and error.status != 503)
            if time.monotonic() > patience:
                raise failure
            pause = backoff.next()
            log.warning("task %s: a report did not go through, trying again in %.1f s: %s", self.task_id, pause, failure)
            self.gone.wait(pause)


class _Known:
    """What a context knows of its task; the same for handlers that are coroutines and for plain ones."""

    def __init__(self, turn: _Turn):
        self._turn = turn
        #: The lease as the platform sent it: `attempt`, `acceptedOutputModes`, `traceContext` and the rest.
        self.lease: Json = turn.lease
        #: The task as it was claimed: `id`, `contextId`, `status`, `history`, `artifacts`, `metadata`.
        self.task: Json = turn.task
        self.task_id: str = turn.task_id
        self.context_id: str = turn.task.get("contextId", "")
        #: The agent's name, for a function that serves several.
        self.agent: str = turn.lease.get("agent", "")
        #: The tenant's name; empty for none.
        self.tenant: str = turn.lease.get("tenant", "")
        #: How often the task was handed out since it last made progress, from 1.
        self.attempt: int = turn.lease.get("attempt", 1)

    @property
    def state(self) -> str:
        """The task's state after the last report that was sent, such as `TASK_STATE_WORKING`."""
        return self._turn.state

    @property
    def settings(self) -> Json:
        """What the operator wrote for the workers of this agent (`settings` in its table of `taskyard.toml`)."""
        return self.lease.get("agentSettings", {}).get("settings", {})

    @property
    def messages(self) -> List[Json]:
        """The client's messages at the time of the claim, oldest first, from the task's first one on."""
        said = [message for message in self.task.get("history", []) if message.get("role") == "ROLE_USER"]
        return said or list(self.lease.get("messages", []))

    @property
    def message(self) -> Json:
        """The client's latest message at the time of the claim."""
        messages = self.messages
        return messages[-1] if messages else {}

    @property
    def text(self) -> str:
        """The text of the client's latest message."""
        return text_of(self.message)

    @property
    def unfinished_artifacts(self) -> List[str]:
        """Ids of the artifacts that an earlier worker began and did not finish. `stream` begins them anew."""
        return [each["artifactId"] for each in self.lease.get("unfinishedArtifacts", [])]

    @property
    def lost(self) -> Optional[LeaseLost]:
        """Why the lease is gone, once it is."""
        return self._turn.lost

    def new_messages(self) -> List[Json]:
        """What the client wrote since the claim (or the last call of this), while the task is being worked on."""
        return self._turn.take_messages()

    # How the work ends. The end is reported when the handler returns; nothing can be reported in between.

    def complete(self, message: Optional[Content] = None, *, metadata: Optional[Json] = None) -> Outcome:
        """The task is done. Its results are its artifacts; `message` is a last word. Returning a value does it too."""
        return self._end("complete", _status(message, metadata))

    def fail(self, why: Content, *, metadata: Optional[Json] = None) -> Outcome:
        """The task failed; `why` is what the client reads."""
        return self._end("fail", _status(why, metadata))

    def reject(self, why: Content, *, metadata: Optional[Json] = None) -> Outcome:
        """The agent will not do it; `why` is what the client reads."""
        return self._end("reject", _status(why, metadata))

    def ask_for_input(self, question: Content, *, metadata: Optional[Json] = None) -> Outcome:
        """The client has to say more. The handler is called again with its answer, perhaps in another worker."""
        return self._end("requireInput", _status(question, metadata))

    def ask_for_auth(self, what: Content, *, metadata: Optional[Json] = None) -> Outcome:
        """The client has to authorize something. The handler is called again when it writes."""
        return self._end("requireAuth", _status(what, metadata))

    def reply(self, content: Content) -> Outcome:
        """The answer is this message and nothing else. Of an agent with `direct = true` the client gets it and no task, if nothing was
        reported before and the client waits; else the task is completed with it as its status message."""
        return self._end("reply", {"message": {"parts": _parts(content)}})

    def retry_later(self, seconds: float = 0.0, reason: str = "") -> Outcome:
        """Not now: the task goes back as it is, for any worker to claim in so many seconds. `reason` is for the operator."""
        return self._end("release", {"delaySeconds": seconds, "reason": reason})

    def _end(self, name: str, body: Json) -> Outcome:
        json.dumps(body, allow_nan=False)
        if self._turn.outcome:
            raise RuntimeError(f"the turn has ended already, as {self._turn.outcome!r}")
        self._turn.outcome = Outcome(name, body)
        return self._turn.outcome

    def _chunk(self, content: Content, id: str, name: str, description: str, metadata: Optional[Json]) -> Json:
        artifact: Json = {"artifactId": id, "parts": _parts(content)}
        artifact.update({key: value for key, value in (("name", name), ("description", description)) if value})
        if metadata:
            artifact["metadata"] = metadata
        return artifact


class Context(_Known):
    """One turn at one task, for a handler that is a coroutine.

    Reports return when they are gathered, and wait only when a hundred of them are; `flush` waits until the platform has them. Each of
    them raises `LeaseLost` when the lease is gone, and `Refused` when the platform found fault with an earlier one.
    """

    @property
    def cancelled(self) -> asyncio.Event:
        """Set when the lease is lost: the client canceled, or another worker has the task. The handler is cancelled then, too."""
        return self._turn.cancelled

    @property
    def draining(self) -> asyncio.Event:
        """Set when the work should come to an end soon, since the worker stops. What does not is given back."""
        return self._turn.draining

    async def progress(self, words: Content, *, metadata: Optional[Json] = None) -> None:
        """Tells the client where the work stands."""
        await self.update("progress", _status(words, metadata))

    async def artifact(self, content: Content, id: str = "result", *, name: str = "", description: str = "",
                       metadata: Optional[Json] = None) -> None:  # fmt: skip
        """Publishes a whole artifact, or replaces the one of the same id."""
        if self._turn.add_chunk(self._chunk(content, id, name, description, metadata), False, True):
            await self.flush()

    def stream(self, id: str = "result", *, name: str = "", description: str = "", metadata: Optional[Json] = None,
               append: bool = False) -> ArtifactStream:  # fmt: skip
        """An artifact that grows: `async with ctx.stream("text") as out: await out.write("words")`.

        Small pieces of text that come within `gather` share a chunk. It begins anew, also where a worker that died left an unfinished
        one of this id; `append` goes on with what is there. The artifact is whole when the block ends without an
        exception.
        """
        return ArtifactStream(self, functools.partial(self._chunk, id=id, name=name, description=description, metadata=metadata), append)

    async def update(self, name: str, body: Json) -> None:
        """Any update of the surface that does not end the turn: `work`, `progress` or `artifact`, with the body of
        `openapi/worker.json`."""
        if self._turn.add(name, body):
            await self.flush()

    async def flush(self) -> None:
        """Waits until the platform has everything that was reported."""
        self._turn.check()
        await self._turn.worker._in_thread(self._turn.flush)

    async def next_message(self) -> Json:
        """Waits for the client to write while the task is being worked on. `ask_for_input` costs nothing while it waits."""
        while True:
            self._turn.check()
            with self._turn.arrival:
                if self._turn.inbox:
                    return self._turn.inbox.popleft()
                self._turn.arrived.clear()
            waits = [asyncio.ensure_future(event.wait()) for event in (self._turn.arrived, self._turn.over)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()


class SyncContext(_Known):
    """One turn at one task, for a handler that is a plain function: the methods of `Context`, without `await`.

    Nothing can end a thread from outside: a function that works for long looks at `cancelled` from time to time, or reports, which
    raises `LeaseLost`. Until it returns it counts as one of the worker's `concurrency`.
    """

    @property
    def cancelled(self) -> threading.Event:
        """Set when the lease is lost."""
        return self._turn.gone

    @property
    def draining(self) -> threading.Event:
        """Set when the work should come to an end soon, since the worker stops."""
        return self._turn.drained

    def progress(self, words: Content, *, metadata: Optional[Json] = None) -> None:
        """As `Context.progress`."""
        self.update("progress", _status(words, metadata))

    def artifact(self, content: Content, id: str = "result", *, name: str = "", description: str = "",
                 metadata: Optional[Json] = None) -> None:  # fmt: skip
        """As `Context.artifact`."""
        if self._turn.add_chunk(self._chunk(content, id, name, description, metadata), False, True):
            self.flush()

    def stream(self, id: str = "result", *, name: str = "", description: str = "", metadata: Optional[Json] = None,
               append: bool = False) -> SyncArtifactStream:  # fmt: skip
        """As `Context.stream`: `with ctx.stream("text") as out: out.write("words")`."""
        chunk = functools.partial(self._chunk, id=id, name=name, description=description, metadata=metadata)
        return SyncArtifactStream(self, chunk, append)

    def update(self, name: str, body: Json) -> None:
        """As `Context.update`."""
        if self._turn.add(name, body):
            self.flush()

    def flush(self) -> None:
        """As `Context.flush`."""
        self._turn.check()
        self._turn.flush()

    def next_message(self) -> Json:
        """As `Context.next_message`."""
        while True:
            self._turn.check()
            with self._turn.arrival:
                if self._turn.inbox:
                    return self._turn.inbox.popleft()
                self._turn.arrival.wait(1.0)


class _Chunks:
    def __init__(self, ctx: Any, chunk: Callable[[Content], Json], append: bool):
        self._ctx, self._turn, self._chunk, self._append, self._done = ctx, ctx._turn, chunk, append, False

    def _write(self, content: Content, last: bool) -> bool:
        if self._done:
            raise RuntimeError("the artifact is whole already, nothing can be written to it")
        artifact = self._chunk(content)
        if self._append:
            artifact = {"artifactId": artifact["artifactId"], "parts": artifact["parts"]}
        append, self._append, self._done = self._append, True, last
        return self._turn.extend(artifact, last) if append else self._turn.add_chunk(artifact, False, last)

    def _close(self) -> bool:
        if self._done:
            return False
        if not self._append:
            return self._write("", True)
        self._done = True
        return self._turn.seal(self._chunk("")["artifactId"])


class ArtifactStream(_Chunks):
    """An artifact that grows by `write`; see `Context.stream`."""

    async def write(self, content: Content, *, last: bool = False) -> None:
        """Adds to the artifact; `last` says that it is whole now."""
        if self._write(content, last):
            await self._ctx.flush()

    async def close(self) -> None:
        """Says that the artifact is whole."""
        if self._close():
            await self._ctx.flush()

    async def __aenter__(self) -> ArtifactStream:
        return self

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            await self.close()


class SyncArtifactStream(_Chunks):
    """An artifact that grows by `write`; see `SyncContext.stream`."""

    def write(self, content: Content, *, last: bool = False) -> None:
        """Adds to the artifact; `last` says that it is whole now."""
        if self._write(content, last):
            self._ctx.flush()

    def close(self) -> None:
        """Says that the artifact is whole."""
        if self._close():
            self._ctx.flush()

    def __enter__(self) -> SyncArtifactStream:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()


class Worker:
    """Pulls the tasks of some agents and runs a handler on each.

    - `url`: the platform's base URL; unset is `TASKYARD_URL`, or this machine's port 8080. Proxies of the environment are not used.
    - `agents`: the agents' names, at least one.
    - `handler`: what works on a task, a coroutine function of a `Context` or a plain one of a `SyncContext`; or see `handler` below.
    - `key`: the API key, where the platform asks for one.
    - `concurrency`: tasks worked on at once, at least 1.
    - `name`: what the platform calls this worker in its lists and logs; unset is this host's name.
    - `grace`: seconds that running tasks may take to finish after the stop; what is not done by then is given back.
    - `gather`: seconds that reports wait for others to travel with.
    - `start`: whether a task is Working from its claim on, instead of from the first report on.
    - `cancel_handlers`: whether a coroutine is cancelled when its lease is lost; else it is told by `cancelled` alone.
    """

    def __init__(self, url: Optional[str] = None, agents: Sequence[str] = (), handler: Optional[Callable[[Any], Any]] = None, *,
                 key: Optional[str] = None, concurrency: int = 8, name: Optional[str] = None, grace: float = 10.0,
                 gather: float = 0.03, start: bool = True, cancel_handlers: bool = True):  # fmt: skip
        if isinstance(agents, str) or not agents:
            raise ValueError(f"agents is a list of at least one agent's name, not {agents!r}")
        if concurrency < 1:
            raise ValueError(f"the concurrency is at least 1, not {concurrency}")
        self._url = url or os.environ.get("TASKYARD_URL") or "http://127.0.0.1:8080"
        self._key, self._agents, self._handler = key, list(agents), handler
        self._name = name if name is not None else socket.gethostname()
        self._concurrency, self._grace, self._gather = concurrency, grace, gather
        self._start, self._cancel_handlers = start, cancel_handlers
        _Platform(self._url, key)  # what is wrong with the url is wrong now
        self._stopping = threading.Event()
        self._session: Optional[Json] = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    @property
    def session(self) -> str:
        """The id of the session with the platform, by which operators drain it; empty before there is one."""
        return self._session["session"] if self._session else ""

    def handler(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Decorates what works on a task: `async def` with a `Context`, or `def` with a `SyncContext`.

        What it returns is the result: content (see `Content`) becomes the artifact `result` of the completed task, `None` just completes
        it, and an `Outcome` is what a method such as `ctx.ask_for_input` gave. An exception fails the task, and **its text is the status
        message the client reads**.
        """
        self._handler = function
        return function

    def run(self) -> None:
        """Works until SIGTERM or SIGINT, then stops as `serve` says; a second signal stops without grace. Logs to stderr unless logging
        is set up already.

        Raises `Refused` when the platform refuses the first session in a way that waiting does not mend.
        """
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
        asyncio.run(self._run())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(name, self.stop)
            except (NotImplementedError, RuntimeError, ValueError):  # not a thread or a system that has them
                pass
        await self.serve()

    def stop(self) -> None:
        """Asks the worker to stop, from any thread; a second time: without grace."""
        again = self._stopping.is_set()
        self._stopping.set()
        if self._loop:
            try:
                self._loop.call_soon_threadsafe(self._hurry.set if again else self._stop.set)
            except RuntimeError:
                pass

    async def serve(self) -> None:
        """Works until `stop` is called, and then: takes no more, lets running tasks finish within the grace, gives the rest back, and
        returns. That takes the grace and some 10 seconds at most. A platform that is not there (yet) is waited for; one that drains this
        worker gives it no more, and then it is idle until the stop. Cancelling this stops without grace.
        """
        if self._handler is None:
            raise ValueError("the worker has no handler: decorate a function with @worker.handler")
        call = getattr(self._handler, "__call__", None)
        self._is_async = inspect.iscoroutinefunction(self._handler) or inspect.iscoroutinefunction(call)
        self._loop = asyncio.get_running_loop()
        self._stop, self._hurry, self._room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._platform = _Platform(self._url, self._key)
        # With connections of its own, and never behind what waits in the pool.
        self._keeper = _Keeper(_Platform(self._url, self._key))
        self._pool = concurrent.futures.ThreadPoolExecutor(2 * self._concurrency + 4, "taskyard")
        self._running: Set[asyncio.Task] = set()
        self._session = None
        self._poll: Optional[asyncio.Future] = None
        self._poll_connection: Optional[http.client.HTTPConnection] = None
        if self._stopping.is_set():
            self._stop.set()
        self._keeper.begin()
        try:
            await self._pull()
        except asyncio.CancelledError:
            self._hurry.set()
            raise
        finally:
            ending = asyncio.ensure_future(self._end())
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError:
                self._hurry.set()
                await ending
                raise

    def _submit(self, function: Callable[..., Any], *args: Any) -> concurrent.futures.Future:
        try:
            return self._pool.submit(function, *args)
        except RuntimeError:  # the worker has ended
            failed: concurrent.futures.Future = concurrent.futures.Future()
            failed.set_exception(LeaseLost("", "the worker has stopped"))
            return failed

    async def _in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """In a thread, and to its end there, also where whoever waits is cancelled."""
        return await asyncio.wrap_future(self._submit(function, *args))

    # Pulling.

    async def _pull(self) -> None:
        backoff, introduced = _Backoff(0.1, 5.0), False
        while not self._stop.is_set():
            # Room first: a poll without it would take leases from workers that have some.
            free = self._concurrency - len(self._running)
            if free < 1:
                self._room.clear()
                await self._until_stop(self._room.wait())
                continue
            pause, asked = 0.0, time.monotonic()
            try:
                if self._session is None:
                    opening = asyncio.ensure_future(self._in_thread(self._open))
                    if not await self._until_stop(asyncio.shield(opening)):
                        return
                    self._session = opening.result()
                    self._keeper.pace(self._session)
                    log.info("pulling tasks of %s from %s, session %s", ", ".join(self._agents), self._url, self.session)
                    introduced = True
                    continue
                self._poll = asyncio.ensure_future(self._in_thread(self._ask, self._session, free))
                if not await self._until_stop(asyncio.shield(self._poll)):
                    return
                answer, self._poll = self._poll.result(), None
                leases = answer.get("leases", [])
                for lease in leases:
                    self._begin(lease)
                if answer.get("drain"):
                    log.info("the platform drains this worker: it takes no more tasks until it is started anew")
                    self._keeper.drain()
                    await self._stop.wait()
                    return
                # One that comes back empty at once did not wait for work, and must not set the pace.
                if not leases and time.monotonic() - asked < 0.1:
                    pause = backoff.next()
                else:
                    backoff.reset()
            except TaskyardError as error:
                self._poll = None
                if isinstance(error, Refused) and not error.passing:
                    if not introduced:
                        raise
                    self._session = None  # perhaps it is forgotten; a new one will show
                pause = backoff.next()
                log.warning("trying again in %.1f s: %s", pause, error)
            if pause:
                await self._until_stop(asyncio.sleep(pause))

    async def _until_stop(self, waiting: Any) -> bool:
        """Waits, unless the stop comes first; whether it did not."""
        work, stop = asyncio.ensure_future(waiting), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
                return True
            return False
        finally:
            work.cancel()
            stop.cancel()

    def _open(self) -> Json:
        session = self._platform.call("opening a session", "/sessions", {"worker": self._name, "agents": self._agents})
        return {**session, "pollSeconds": session.get("pollSeconds", 0), "maxLeases": max(1, session.get("maxLeases", 1))}

    def _ask(self, session: Json, free: int) -> Json:
        wait = min(session["pollSeconds"], 300.0)
        request = {
            "session": session["session"], "agents": self._agents, "max": min(free, session["maxLeases"]), "waitSeconds": wait,
            "start": self._start,
        }  # fmt: skip
        opened = functools.partial(setattr, self, "_poll_connection")
        return self._platform.call("polling for work", "/leases:poll", request, silence=wait + _POLL_MARGIN, opened=opened)

    def _begin(self, lease: Json) -> None:
        task = asyncio.ensure_future(self._work(_Turn(self, lease, asyncio.get_running_loop())))
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task) -> None:
        self._running.discard(task)
        self._room.set()
        if not task.cancelled() and task.exception():
            log.error("a turn broke off", exc_info=task.exception())

    # One turn.

    async def _work(self, turn: _Turn) -> None:
        self._keeper.hold(turn)
        try:
            reason = await self._run_handler(turn)
            if reason:
                turn.closing = True
                await self._release(turn, reason)
        finally:
            self._keeper.let_go(turn)
            turn.lose("the turn is over")

    async def _run_handler(self, turn: _Turn) -> str:
        """From the handler to the end of the turn; a reason asks for the lease to be given back."""
        log.debug("task %s: working, attempt %s", turn.task_id, turn.lease.get("attempt"))
        if self._is_async:
            work = asyncio.ensure_future(self._handler(Context(turn)))  # type: ignore[misc]
        else:
            work = self._in_own_thread(turn, SyncContext(turn))
        over = asyncio.ensure_future(turn.over.wait())
        try:
            await asyncio.wait({work, over}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return await self._break_off(turn, work)
        finally:
            over.cancel()
        try:
            result = None if work.cancelled() else work.result()
            if work.cancelled():
                raise RuntimeError("the agent cancelled itself")
            if isinstance(result, Outcome):
                turn.outcome = turn.outcome or result
            elif result is not None:
                turn.add_chunk({"artifactId": "result", "parts": _parts(result)}, False, True)
            await self._in_thread(self._conclude, turn, turn.outcome or Outcome("complete", {}))
            return ""
        except TaskyardError as error:
            return await self._without(turn, error)
        except Exception as error:  # the author's
            if not turn.lost:
                log.info("task %s: the agent failed it", turn.task_id, exc_info=error)
            return await self._fail(turn, str(error) or type(error).__name__)

    def _in_own_thread(self, turn: _Turn, context: SyncContext) -> asyncio.Future:
        done: asyncio.Future = turn.loop.create_future()

        def settle(result: Any, error: Optional[BaseException]) -> None:
            if not done.done():
                done.set_exception(error) if error else done.set_result(result)

        def work() -> None:
            result, error = None, None
            try:
                result = self._handler(context)  # type: ignore[misc]
            except Exception as raised:
                error = RuntimeError("StopIteration") if isinstance(raised, StopIteration) else raised
            except BaseException as raised:  # SystemExit and its like end this thread only
                error = RuntimeError(f"the agent ended with {raised!r}")
            try:
                turn.loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:
                pass  # the worker has ended

        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(work,), name=f"task-{turn.task_id}", daemon=True).start()
        return done

    async def _break_off(self, turn: _Turn, work: asyncio.Future) -> str:
        """Ends the handler of a lease that is lost, or to be given back."""
        if turn.lost:
            log.info("task %s: the agent stops, %s", turn.task_id, turn.lost.reason)
        if self._is_async:
            if self._cancel_handlers or turn.stopped:
                work.cancel()
                await asyncio.wait({work}, timeout=_CLEAN_UP)
                if not work.done():
                    log.warning("task %s: the agent was cancelled and goes on", turn.task_id)
        if turn.lost:
            # It counts until it ends, so that there are never more at work than the concurrency permits.
            hurry = asyncio.ensure_future(self._hurry.wait())
            await asyncio.wait({work, hurry}, return_when=asyncio.FIRST_COMPLETED)
            hurry.cancel()
        if work.done() and not work.cancelled() and work.exception() and not isinstance(work.exception(), TaskyardError):
            log.info("task %s: the agent ended with %r", turn.task_id, work.exception())
        return "" if turn.lost else turn.stopped

    def _conclude(self, turn: _Turn, outcome: Outcome) -> None:
        if outcome.name == "release":
            turn.flush()
            turn.closing = True
            self._platform.call("releasing a lease", self._release_path(turn), outcome.body, self._fence(turn))
        elif outcome.name != "reply":
            turn.finish(outcome.name, outcome.body)
        elif turn.untouched:
            turn.reply(outcome.body)
        else:
            turn.finish("complete", {"statusMessage": outcome.body["message"]})

    async def _without(self, turn: _Turn, error: TaskyardError) -> str:
        """What follows when a report did not go through."""
        if isinstance(error, LeaseLost) or turn.lost:
            log.info("task %s: %s", turn.task_id, error)
            return "" if turn.lost else turn.stopped
        if isinstance(error, Refused) and not error.passing:
            log.warning("task %s: %s", turn.task_id, error)
            return await self._fail(turn, f"the agent's report was refused: {error.message}", alone=True)
        log.warning("task %s: giving it back, %s", turn.task_id, error)
        return str(error)

    async def _fail(self, turn: _Turn, why: str, alone: bool = False) -> str:
        try:
            await self._in_thread(turn.finish, "fail", _status(why[:10_000], None), alone)
            return ""
        except TaskyardError as error:
            if alone and not isinstance(error, LeaseLost):
                log.warning("task %s: giving it back, %s", turn.task_id, error)
                return str(error)
            return await self._without(turn, error)

    @staticmethod
    def _release_path(turn: _Turn) -> str:
        return f"/leases/{urllib.parse.quote(turn.id, safe='')}:release"

    @staticmethod
    def _fence(turn: _Turn) -> Json:
        return {"Taskyard-Lease": turn.id, "Taskyard-Epoch": str(turn.epoch)}

    async def _release(self, turn: _Turn, reason: str) -> None:
        """Gives a lease back. That is a courtesy: what does not arrive ends with the lease."""
        call = (self._platform.call, "releasing a lease", self._release_path(turn), {"reason": reason}, self._fence(turn))
        try:
            await self._in_thread(*call)
        except TaskyardError as error:
            log.warning("task %s: %s", turn.task_id, error)

    # The end.

    async def _end(self) -> None:
        self._keeper.drain()
        hurry = asyncio.ensure_future(self._hurry.wait())
        try:
            await asyncio.gather(self._take_no_more(), self._finish(hurry))
            if self._session:
                # The answer to a poll that was lost on its way holds leases too.
                await self._drain_session(True)
        finally:
            hurry.cancel()
            self._keeper.end()
            self._platform.close()
            self._pool.shutdown(wait=False)

    async def _finish(self, hurry: asyncio.Future) -> None:
        if self._running:
            log.info("stopping, %d running tasks may finish within %.0f s", len(self._running), self._grace)
            done = asyncio.ensure_future(asyncio.wait(set(self._running)))
            await asyncio.wait({done, hurry}, timeout=self._grace, return_when=asyncio.FIRST_COMPLETED)
            done.cancel()
        if self._running:
            log.info("giving back %d tasks", len(self._running))
            self._hurry.set()
            self._keeper.stop("the worker is stopping")
            await asyncio.wait(set(self._running), timeout=_CLEAN_UP + _LAST_CALLS)
        if self._running:
            log.warning("leaving %d leases to their expiry", len(self._running))

    async def _take_no_more(self) -> None:
        drained = await self._drain_session(False) if self._session else False
        if not drained:
            self._session = None
        if self._poll is None:
            return
        # An open poll of a drained session comes back as soon as its replica hears of it; what it brings is given back.
        await asyncio.wait({self._poll}, timeout=7.0 if drained else 0.5)
        if not self._poll.done():
            if self._poll_connection:
                self._platform.cut(self._poll_connection)
            await asyncio.wait({self._poll}, timeout=1.0)
        if self._poll.done() and not self._poll.exception():
            turns = [_Turn(self, lease, asyncio.get_running_loop()) for lease in self._poll.result().get("leases", [])]
            await asyncio.gather(*(self._release(turn, "the worker is stopping") for turn in turns))

    async def _drain_session(self, release: bool) -> bool:
        """Says that this session takes no more; whether the platform knows how to."""
        path = f"/sessions/{urllib.parse.quote(self._session['session'], safe='')}:drain"  # type: ignore[index]
        call = self._in_thread(functools.partial(self._platform.call, silence=3.0), "draining the session", path, {"release": release})
        try:
            await call
            return True
        except TaskyardError as error:
            log.debug("the session was not drained: %s", error)
            return False


class _Keeper:
    """Keeps the leases: heartbeats, and the control stream that says when one would bring news now, each in a thread of its own, so that
    an agent that blocks the event loop loses nothing."""

    def __init__(self, platform: _Platform):
        self._platform = platform
        self._lock = threading.Lock()
        self._turns: Dict[str, _Turn] = {}
        self._stirred: Set[str] = set()
        self._wake = threading.Event()
        self._session: Optional[Json] = None
        self._changed = threading.Condition()
        self._listening: Optional[http.client.HTTPConnection] = None
        self._ended = False

    def begin(self) -> None:
        for target in (self._beat_on, self._listen_on):
            threading.Thread(target=target, name=f"taskyard{target.__name__}", daemon=True).start()

    def pace(self, session: Json) -> None:
        """A session was opened."""
        with self._changed:
            self._session = session
            self._changed.notify_all()
        self._wake.set()
        if self._listening:
            self._platform.cut(self._listening)

    def hold(self, turn: _Turn) -> None:
        with self._lock:
            self._turns[turn.id] = turn

    def let_go(self, turn: _Turn) -> None:
        with self._lock:
            self._turns.pop(turn.id, None)

    def drain(self) -> None:
        for turn in self._all():
            turn.drain()

    def stop(self, reason: str) -> None:
        for turn in self._all():
            turn.stop(reason)

    def end(self) -> None:
        self._ended = True
        self._wake.set()
        with self._changed:
            self._changed.notify_all()
        self._platform.close()

    def _all(self) -> List[_Turn]:
        with self._lock:
            return list(self._turns.values())

    def _stir(self, lease: str = "") -> None:
        """Asks after a lease, or all, now and however young they are."""
        with self._lock:
            self._stirred.update(self._turns if not lease else {lease} & self._turns.keys())
            if not self._stirred:
                return
        self._wake.set()

    def _beat_on(self) -> None:
        # Failures are retried sooner than the next beat would come, so that one lost answer or one restarting replica costs no lease.
        backoff, retry = _Backoff(0.1, 2.0), None
        while True:
            session = self._session or {}
            pace = max(0.05, float(session.get("heartbeatSeconds", 10.0)))
            self._wake.wait(min(retry or pace, pace))
            self._wake.clear()
            if self._ended:
                return
            retry = None
            with self._lock:
                stirred, self._stirred = self._stirred, set()
                now = time.monotonic()
                # Quick tasks, which are most, cost no heartbeat.
                due = [turn for turn in self._turns.values() if now - turn.since >= pace / 2 or turn.id in stirred]
            if not due:
                backoff.reset()
                continue
            try:
                for first in range(0, len(due), _HEARTBEAT):
                    self._beat(session.get("session", ""), due[first : first + _HEARTBEAT])
                backoff.reset()
            except TaskyardError as error:
                if self._ended:
                    return
                retry = backoff.next()
                with self._lock:
                    self._stirred |= stirred & self._turns.keys()
                log.warning("heartbeats of %d leases did not go through: %s", len(due), error)
            except Exception:
                log.exception("what the heartbeats brought cannot be read")

    def _beat(self, session: str, due: List[_Turn]) -> None:
        request: Json = {"leases": [{"lease": turn.id, "epoch": turn.epoch} for turn in due]}
        if session:
            request["session"] = session
        said = self._platform.call("sending heartbeats", "/leases:heartbeat", request)
        by_id = {status.get("lease"): status for status in said.get("leases", [])}
        for turn in due:
            if turn.id in by_id:
                turn.hear(by_id[turn.id])

    def _listen_on(self) -> None:
        backoff, heard_of = _Backoff(0.2, 10.0), None
        while True:
            with self._changed:
                while self._session is None and not self._ended:
                    self._changed.wait()
                if self._ended or self._session is None:
                    return
                session = self._session
            if session is not heard_of:
                backoff.reset()
                heard_of = session
            try:
                self._listen_to(session["session"], backoff)
                pause = backoff.next()
            except Refused as error:
                # Not served, which costs time and nothing else: heartbeats tell the same.
                pause = _LOOK_AGAIN if error.status in (404, 405) else backoff.next()
                log.debug("%s", error)
            except TaskyardError as error:
                pause = backoff.next()
                log.debug("%s", error)
            except Exception:
                pause = backoff.next()
                log.exception("what the control stream brought cannot be read")
            with self._changed:
                if self._session is session and not self._ended:
                    self._changed.wait(pause)

    def _listen_to(self, session: str, backoff: _Backoff) -> None:
        path = f"/sessions/{urllib.parse.quote(session, safe='')}/control"
        for line in self._platform.listen(path, functools.partial(setattr, self, "_listening")):
            if not line:
                self._stir()  # what happened while there was no stream
            elif line.startswith(b"data:"):
                backoff.reset()
                try:
                    event = json.loads(line[5:])
                except ValueError:
                    event = {}
                self._stir(event.get("lease", ""))


def _main(arguments: List[str]) -> None:
    if len(arguments) != 2 or arguments[0] != "echo":
        sys.exit("usage: python3 -m taskyard_worker echo AGENT   (TASKYARD_URL is the platform, http://127.0.0.1:8080 unless set)")

    async def echo(ctx: Context) -> Any:
        return ctx.message.get("parts", [])

    Worker(agents=[arguments[1]], handler=echo).run()


if __name__ == "__main__":
    _main(sys.argv[1:])
