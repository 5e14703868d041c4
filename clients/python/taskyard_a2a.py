"""Runs an `AgentExecutor` of the official SDK (`a2a-sdk` 1.3) as a Taskyard worker, unchanged.

    from taskyard_a2a import run_executor

    run_executor(MyExecutor(), ["mine"])

The executor gets what the SDK's own `DefaultRequestHandler` gives it: a `RequestContext` with the message, `current_task` (None when
the task is new), the tenant in its call context; and an event queue to put `Task`, `Message`, `TaskStatusUpdateEvent` and
`TaskArtifactUpdateEvent` in, by itself or by a `TaskUpdater`. A message that the client writes while it works leads to another call of
`execute` when this one is through. A cancel calls the executor's `cancel`, then cancels `execute`.

What is different, since tasks are pulled, and survive the process:

- `execute` may be called again for the same message: its worker died. An artifact under an id of the executor's own is then begun anew;
  one without, which the `TaskUpdater` gives a random id, is there twice.
- The task waits for its client, input-required or auth-required, without a worker. An executor that waits for an authorization within
  `execute`, instead of returning, is cancelled after 5 seconds and called again with the client's next message.
- A task that is canceled while it waits for its client is with no worker, and `cancel` is not called.
- An `execute` that returns without having said how the task ended fails it. The SDK would leave it as it is, for ever.
- An exception's text is the failed task's status message.
- The state canceled is the client's to reach: an executor that reports it without having been asked fails the task.
"""

from __future__ import annotations

import asyncio
import collections
import logging
from typing import Any, Deque, Dict, List, Optional, Sequence, Set

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import InvalidAgentResponseError
from google.protobuf import json_format

from taskyard_worker import Context, LeaseLost, Outcome, Worker

__all__ = ["ExecutorHandler", "run_executor"]

log = logging.getLogger("taskyard_a2a")

_LINGER = 0.5  # how long an executor may take to return after it said how the task ended
_WAIT = 5.0  # the same after it asked its client; then it is cancelled
_CANCEL = 4.0  # how long its `cancel` may take
_ENDS = {
    pb.TASK_STATE_COMPLETED: "complete",
    pb.TASK_STATE_FAILED: "fail",
    pb.TASK_STATE_REJECTED: "reject",
    pb.TASK_STATE_INPUT_REQUIRED: "requireInput",
    pb.TASK_STATE_AUTH_REQUIRED: "requireAuth",
}
_STATES = {name: state for state, name in _ENDS.items()}
_INTERRUPTED = ("requireInput", "requireAuth")


def run_executor(executor: AgentExecutor, agents: Sequence[str], url: Optional[str] = None, **options: Any) -> None:
    """Works for the agents with the executor until SIGTERM or SIGINT. `url` and `options` are those of `taskyard_worker.Worker`."""
    # Not Working by the claim already: the executor sees the question that it asked as the task's status, and says itself that it works.
    Worker(url, agents, ExecutorHandler(executor), **{"start": False, **options}).run()


class ExecutorHandler:
    """A handler for `taskyard_worker.Worker` that runs an executor. Give the worker `start=False`, as `run_executor` does."""

    def __init__(self, executor: AgentExecutor):
        self._executor = executor
        self._lingering: Set[asyncio.Task] = set()

    async def __call__(self, ctx: Context) -> Outcome:
        """Runs the executor on every message of the task that is not answered yet."""
        pending: Deque[Dict[str, Any]] = collections.deque(ctx.lease.get("messages") or ctx.messages[-1:])
        queue = _Events(ctx)
        while pending:
            message = pending.popleft()
            request = _request(ctx, message, [message, *pending], queue)
            queue.begin()
            await self._execute(ctx, request, queue)
            pending.extend(ctx.new_messages())
            if queue.end and not (queue.end.name in _INTERRUPTED and pending):
                return queue.end
        raise InvalidAgentResponseError("the agent returned without saying how the task ended")

    async def _execute(self, ctx: Context, request: RequestContext, queue: _Events) -> None:
        execute = asyncio.ensure_future(self._executor.execute(request, queue))
        ended = asyncio.ensure_future(queue.ended.wait())
        try:
            while not execute.done():
                await asyncio.wait({execute, ended}, return_when=asyncio.FIRST_COMPLETED)
                interrupted = queue.end is not None and queue.end.name in _INTERRUPTED
                await asyncio.wait({execute}, timeout=_WAIT if interrupted else _LINGER)
                if queue.end:
                    break
                # It was asked and went on by itself.
                ended = asyncio.ensure_future(queue.ended.wait())
            if execute.done():
                if queue.end and queue.end.name not in _INTERRUPTED and not execute.cancelled() and execute.exception():
                    log.warning("task %s: execute() failed after it had ended the task", ctx.task_id, exc_info=execute.exception())
                else:
                    execute.result()
            elif queue.end and queue.end.name in _INTERRUPTED:
                log.warning("task %s: execute() goes on after it asked its client, and is cancelled", ctx.task_id)
                execute.cancel()
            else:
                # It has something of its own to put away. What it reports comes too late.
                self._lingering.add(execute)
                execute.add_done_callback(self._lingered)
        except asyncio.CancelledError:
            if not execute.done():
                if ctx.lost and ctx.lost.state == "TASK_STATE_CANCELED":
                    await self._cancel(ctx)
                execute.cancel()
                await asyncio.wait({execute}, timeout=_CANCEL)
            raise
        finally:
            ended.cancel()

    async def _cancel(self, ctx: Context) -> None:
        task = json_format.ParseDict(ctx.task, pb.Task(), ignore_unknown_fields=True)
        context = RequestContext(_call_context(ctx), task_id=task.id, context_id=task.context_id, task=task)
        try:
            await asyncio.wait_for(self._executor.cancel(context, _Nowhere()), _CANCEL)
        except Exception:
            log.exception("task %s: the executor's cancel() failed", ctx.task_id)

    def _lingered(self, execute: asyncio.Task) -> None:
        self._lingering.discard(execute)
        if not execute.cancelled() and execute.exception():
            log.warning("execute() failed after it had ended the task", exc_info=execute.exception())


def _call_context(ctx: Context) -> ServerCallContext:
    return ServerCallContext(tenant=ctx.tenant, state={"lease": ctx.lease})


def _request(ctx: Context, message: Dict[str, Any], pending: List[Dict[str, Any]], queue: _Events) -> RequestContext:
    """What the SDK's request handler makes of a message."""
    sent = json_format.ParseDict(message, pb.Message(), ignore_unknown_fields=True)
    call = _call_context(ctx)
    call.requested_extensions = set(sent.extensions)
    configuration = pb.SendMessageConfiguration(accepted_output_modes=ctx.lease.get("acceptedOutputModes", []))
    request = pb.SendMessageRequest(message=sent, configuration=configuration, tenant=ctx.tenant)
    # A task is new as long as none of its messages was answered; and its history does not hold yet what is to be answered.
    task = json_format.ParseDict(ctx.task, pb.Task(), ignore_unknown_fields=True)
    waiting = {each.get("messageId") for each in pending}
    history = [each for each in task.history if each.message_id not in waiting]
    known = None
    if history or queue.reported:
        del task.history[:]
        task.history.extend(history)
        if queue.end:
            # The client wrote before it was asked; that is its answer.
            question = json_format.ParseDict(queue.end.body.get("statusMessage", {}), pb.Message(), ignore_unknown_fields=True)
            task.status.CopyFrom(pb.TaskStatus(state=_STATES[queue.end.name], message=question))
        elif ctx.state != ctx.task["status"]["state"]:
            task.status.CopyFrom(pb.TaskStatus(state=pb.TaskState.Value(ctx.state)))
        known = task
    return RequestContext(call, request, task_id=ctx.task_id, context_id=ctx.context_id, task=known)


def _plain(message: Any) -> Any:
    return json_format.MessageToDict(message)


class _Events(EventQueue):
    """Takes an executor's events and reports them. The SDK's rules of what may follow what hold here, too."""

    def __init__(self, ctx: Context):
        self._ctx = ctx
        #: How the task ended, once the executor said so.
        self.end: Optional[Outcome] = None
        self.ended = asyncio.Event()
        #: Whether there were events of a task.
        self.reported = False
        self._working = False
        unfinished = set(ctx.unfinished_artifacts)
        #: Artifacts that may be appended to.
        self._begun = {each["artifactId"] for each in ctx.task.get("artifacts", [])} - unfinished

    def begin(self) -> None:
        """The executor is called, perhaps again."""
        self.end = None
        self.ended.clear()

    async def enqueue_event(self, event: Any) -> None:
        """Takes a Message, Task, TaskStatusUpdateEvent or TaskArtifactUpdateEvent."""
        try:
            await self._take(event)
        except LeaseLost as lost:
            # The executor is about to be cancelled; until then its queue is closed, which the SDK says no louder.
            log.warning("task %s: an event is dropped, %s", self._ctx.task_id, lost.reason)

    async def _take(self, event: Any) -> None:
        if self.end and self.end.name not in _INTERRUPTED:
            if self.end.name == "reply":
                raise InvalidAgentResponseError(f"a {type(event).__name__} came after a Message, which is all of an answer")
            log.warning("task %s: a %s came after the task's end and is dropped", self._ctx.task_id, type(event).__name__)
            return
        if isinstance(event, pb.Message):
            if self.reported:
                raise InvalidAgentResponseError("a Message came after events of a task; use TaskStatusUpdateEvent")
            self._end("reply", {"message": self._said(event)})
            return
        task, context = (event.id if isinstance(event, pb.Task) else event.task_id), event.context_id
        if (task, context) != (self._ctx.task_id, self._ctx.context_id):
            raise InvalidAgentResponseError(
                f"a {type(event).__name__} is of task {task} and context {context}, and not of the request's: task"
                f" {self._ctx.task_id}, context {self._ctx.context_id}"
            )
        if isinstance(event, pb.Task):
            # The task is there already; what it holds beyond is news only from an executor that makes it.
            if not self.reported and not self._begun:
                for artifact in event.artifacts:
                    await self._artifact(artifact, False, True, None)
                await self._status(event.status, None)
        elif isinstance(event, pb.TaskStatusUpdateEvent):
            await self._status(event.status, event.metadata if event.HasField("metadata") else None)
        elif isinstance(event, pb.TaskArtifactUpdateEvent):
            metadata = event.metadata if event.HasField("metadata") else None
            await self._artifact(event.artifact, event.append, event.last_chunk, metadata)
        else:
            raise InvalidAgentResponseError(f"a {type(event).__name__} is no event of a task")
        self.reported = True

    async def _status(self, status: pb.TaskStatus, metadata: Any) -> None:
        body: Dict[str, Any] = {}
        if status.HasField("message"):
            body["statusMessage"] = self._said(status.message)
        if metadata is not None:
            body["metadata"] = _plain(metadata)
        if status.state in _ENDS:
            self._end(_ENDS[status.state], body)
        elif status.state == pb.TASK_STATE_CANCELED:
            self._end("fail", {**body, "statusMessage": body.get("statusMessage") or {"parts": [{"text": "The agent gave up the task."}]}})
        elif status.state == pb.TASK_STATE_WORKING:
            self.end = None
            self.ended.clear()
            if self._ctx.state != "TASK_STATE_WORKING" and not self._working:
                self._working = True
                await self._ctx.update("work", body)
            elif "statusMessage" in body:
                await self._ctx.update("progress", body)

    async def _artifact(self, artifact: pb.Artifact, append: bool, last: bool, metadata: Any) -> None:
        id = artifact.artifact_id
        body = {"artifact": _plain(artifact), "append": append and id in self._begun, "lastChunk": last}
        if metadata is not None:
            body["metadata"] = _plain(metadata)
        self._begun.add(id)
        await self._ctx.update("artifact", body)

    def _end(self, name: str, body: Dict[str, Any]) -> None:
        self.end = Outcome(name, body)
        self.ended.set()

    @staticmethod
    def _said(message: pb.Message) -> Dict[str, Any]:
        """An agent's message; whose task and context it belongs to is the platform's to say."""
        said = _plain(message)
        for name in ("role", "taskId", "contextId"):
            said.pop(name, None)
        return said


class _Nowhere(EventQueue):
    """Takes the events of a cancel: the task is canceled already, and nothing can be added to it."""

    async def enqueue_event(self, event: Any) -> None:
        """Drops it."""
