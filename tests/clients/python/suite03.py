"""The Python SDK's client of A2A 0.3 against a running Taskyard, over every binding it speaks.

Usage: suite.py RESULTS URL [URL]

URL is the base of the default agent; with two of them, of two replicas, whatever continues a task goes to the other one.
RESULTS gets a line for each check: column, check, result, separated by tabs. The exit code is 1 when a check failed.

Left out, because this client cannot do it:
- it has no lists of tasks and no versions, as 0.3 has none, and no method to list or delete push configs: those two go through what
  is below it, which for JSON-RPC and HTTP+JSON is no more than the request;
- over gRPC it knows no tenant, which is what leads to another agent than the default one: what needs another agent is for the other
  two bindings;
- `resubscribe` over HTTP+JSON does not look at the status: any refusal is its own error of 400.
"""

import asyncio
import base64
import json
import sys
import time
import uuid

import grpc
import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.client.legacy import A2AClient
from a2a.grpc import a2a_pb2
from a2a.types import (
    DataPart,
    FilePart,
    FileWithBytes,
    FileWithUri,
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    MessageSendParams,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    SendMessageRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TaskStatusUpdateEvent,
    TextPart,
    TransportProtocol,
)

from receiver import Receiver
from runner import equal, main

JSONRPC, HTTP_JSON, GRPC = BINDINGS = [TransportProtocol.jsonrpc, TransportProtocol.http_json, TransportProtocol.grpc]
LOYALTY = "https://example.com/loyalty/v1"
# What a refusal is in each binding; 0.3 ends at -32007.
REFUSALS = {
    "TASK_NOT_FOUND": (-32001, 404, grpc.StatusCode.NOT_FOUND),
    "TASK_NOT_CANCELABLE": (-32002, 400, grpc.StatusCode.FAILED_PRECONDITION),
    "PUSH_NOTIFICATION_NOT_SUPPORTED": (-32003, 400, grpc.StatusCode.FAILED_PRECONDITION),
    "UNSUPPORTED_OPERATION": (-32004, 400, grpc.StatusCode.FAILED_PRECONDITION),
    "CONTENT_TYPE_NOT_SUPPORTED": (-32005, 400, grpc.StatusCode.INVALID_ARGUMENT),
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED": (-32007, 400, grpc.StatusCode.FAILED_PRECONDITION),
    "EXTENSION_SUPPORT_REQUIRED": (-32603, 400, grpc.StatusCode.FAILED_PRECONDITION),
    "INVALID_PARAMS": (-32602, 400, grpc.StatusCode.INVALID_ARGUMENT),
}


def message(words, **fields):
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=words))], **fields)


def text(said):
    """The text of a message or an artifact."""
    return "".join(part.root.text for part in said.parts)


def kind(event):
    """Every item of a stream in a word."""
    return event.kind


async def events(stream):
    """The events of a stream. The client adds each to its one task, and the first chunk of an artifact is where the others go."""
    async for task, event in stream:
        yield (event or task).model_copy(deep=True)


async def collect(stream):
    return [event async for event in events(stream)]


class Suite:
    """Every check, for one binding. Methods with a name in `CHECKS` are run, in the order they stand in."""

    def __init__(self, binding, urls):
        self.binding = binding
        self.urls = urls
        self.clients = []
        # One without certificates: nothing here is TLS, and reading them for every client takes longer than the checks.
        self.http = httpx.AsyncClient(verify=False)

    async def client(self, url, streaming=False, **config):
        config = ClientConfig(
            streaming=streaming,
            httpx_client=self.http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_transports=[self.binding],
            **config,
        )
        client = await ClientFactory.connect(url, config)
        self.clients.append(client)
        return client

    async def agent(self, name, **config):
        return await self.client(f"{self.urls[0]}/agents/{name}", **config)

    async def start(self):
        here, there = self.urls[0], self.urls[-1]
        self.here, self.there = await self.client(here), await self.client(there)
        self.streams, self.streams_there = await self.client(here, True), await self.client(there, True)

    async def stop(self):
        for client in self.clients:
            await client.close()
        await self.http.aclose()

    async def refused(self, reason, call, says=""):
        """Waits for the error that `call` has to end with: of this reason, and with these words."""
        code, status, grpc_code = REFUSALS[reason]
        try:
            found = await call
        except A2AClientJSONRPCError as error:
            equal((self.binding, error.error.code), (JSONRPC, code), "code")
            where, told = json.dumps(error.error.data), error.error.message
        except A2AClientHTTPError as error:
            equal((self.binding, error.status_code), (HTTP_JSON, status), "status")
            try:
                where = told = error.__cause__.response.text
            except httpx.ResponseNotRead:
                # Of a stream that does not open it says the status alone.
                where, told = reason, says
        except grpc.aio.AioRpcError as error:
            equal((self.binding, error.code()), (GRPC, grpc_code), "status")
            where, told = str(dict(error.trailing_metadata())["grpc-status-details-bin"]), error.details()
        else:
            raise AssertionError(f"wanted {reason}, found {found!r}")
        assert reason in where, f"wanted {reason}, found {where}"
        assert says in told, f"wanted {says!r} in {told!r}"

    async def refused_subscription(self, reason, task):
        stream = self.streams_there.resubscribe(TaskIdParams(id=task))
        if self.binding != HTTP_JSON:
            return await self.refused(reason, anext(stream))
        try:
            found = await anext(stream)
        except A2AClientHTTPError as error:
            return equal(error.status_code, 400, "status")
        raise AssertionError(f"wanted {reason}, found {found!r}")

    async def send(self, words, client=None, wait=True, **fields):
        return await self.send_message(message(words, **fields), client, blocking=wait)

    async def send_message(self, sent, client=None, context=None, extensions=None, **configuration):
        configuration = MessageSendConfiguration(**configuration)
        answers = (client or self.here).send_message(
            sent, configuration=configuration, context=context, extensions=extensions
        )
        items = [item async for item in answers]
        equal(len(items), 1, "items of an answer")
        (task, event) = items[0]
        equal(event, None, "events of an answer")
        return task

    async def get(self, task, client=None, history_length=None):
        asked = TaskQueryParams(id=task, history_length=history_length)
        return await (client or self.there).get_task(asked)

    async def cancel(self, task, client=None):
        return await (client or self.there).cancel_task(TaskIdParams(id=task))

    async def hook(self, task, client=None, **config):
        config = PushNotificationConfig(**config)
        asked = TaskPushNotificationConfig(task_id=task, push_notification_config=config)
        return await (client or self.here).set_task_callback(asked)

    async def reach(self, task, state):
        """Polls until the task is in that state."""
        for _ in range(200):
            found = await self.get(task)
            if found.status.state == state:
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"the task stays {found.status.state}")

    async def hooks(self, task):
        """The ids and URLs of a task's push configs, in order of the URLs."""
        transport, path = self.there._transport, f"tasks/{task}"
        if self.binding == GRPC:
            asked = a2a_pb2.ListTaskPushNotificationConfigRequest(parent=path)
            found = (await transport.stub.ListTaskPushNotificationConfig(asked)).configs
            found = [each.push_notification_config for each in found]
            return sorted(((each.id, each.url) for each in found), key=lambda each: each[1])
        if self.binding == JSONRPC:
            found = (await self.call("tasks/pushNotificationConfig/list", id=task))["result"]
        else:
            found = (await transport._send_get_request(f"/v1/{path}/pushNotificationConfigs", {}))["configs"]
        found = [each["pushNotificationConfig"] for each in found]
        return sorted(((each["id"], each["url"]) for each in found), key=lambda each: each[1])

    async def call(self, method, **params):
        return await self.there._transport._send_request(
            {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
        )

    async def unhook(self, task, id):
        path = f"tasks/{task}/pushNotificationConfigs/{id}"
        if self.binding == GRPC:
            asked = a2a_pb2.DeleteTaskPushNotificationConfigRequest(name=path)
            await self.there._transport.stub.DeleteTaskPushNotificationConfig(asked)
        elif self.binding == JSONRPC:
            answer = await self.call("tasks/pushNotificationConfig/delete", id=task, pushNotificationConfigId=id)
            equal(answer.get("result", "nothing"), None, "the answer to a delete")
        else:
            (await self.http.delete(f"{self.there._transport.url}/v1/{path}")).raise_for_status()

    async def cards(self):
        for name in ["", "demo", "plain"]:
            base = f"{self.urls[0]}/agents/{name}" if name else self.urls[0]
            card = await A2ACardResolver(self.http, base).get_agent_card()
            equal(card.name, name or "demo", "name")
            assert card.protocol_version.startswith("0.3"), card.protocol_version
            assert card.description and card.version and card.default_input_modes and card.default_output_modes, card
            assert card.skills and all(skill.tags for skill in card.skills), card
            served = {each.transport: each.url for each in card.additional_interfaces or []}
            served.setdefault(card.preferred_transport or JSONRPC, card.url)
            wanted = {JSONRPC.value, HTTP_JSON.value} | ({GRPC.value} if name != "plain" else set())
            equal(set(served), wanted, "bindings")
            if self.binding.value in served:
                # The card leads to its own agent, over this binding.
                task = await self.send(f"to {card.name}", client=await self.client(base))
                equal((task.status.state, text(task.artifacts[0])), (TaskState.completed, f"to {card.name}"))
        if self.binding != GRPC:
            # Nobody else's agent has that task.
            await self.refused("TASK_NOT_FOUND", self.get(task.id, client=self.here))

    async def send_and_wait(self):
        task = await self.send("hello")
        equal(task.status.state, TaskState.completed)
        equal([text(artifact) for artifact in task.artifacts], ["hello"])
        equal([(each.role, text(each)) for each in task.history], [(Role.user, "hello")], "history")
        assert task.context_id, task
        equal((task.history[0].task_id, task.history[0].context_id), (task.id, task.context_id))
        equal(await self.get(task.id), task, "the task from the other replica")
        waited = await self.send("wait 1")
        equal((waited.status.state, text(waited.artifacts[0])), (TaskState.completed, "Waited 1 seconds."))
        for words, end in (("fail no luck", TaskState.failed), ("reject not mine", TaskState.rejected)):
            status = (await self.send(words)).status
            equal((status.state, text(status.message)), (end, words.partition(" ")[2]))

    async def every_kind_of_part(self):
        data = base64.b64encode(bytes(range(256))).decode()
        parts = [
            TextPart(text="words", metadata={"language": "en"}),
            FilePart(file=FileWithBytes(bytes=data, name="bytes.bin", mime_type="application/octet-stream")),
            FilePart(file=FileWithUri(uri="https://example.com/a.pdf", mime_type="application/pdf")),
            DataPart(data={"a": [1.0, 2.5, {"b": True}], "ü": "é"}),
        ]
        sent = message("")
        sent.parts = [Part(root=part) for part in parts]
        task = await self.send_message(sent)
        found = [part.root for part in task.artifacts[0].parts]
        for part in [*found, *parts]:
            # In the proto, none and nothing are the same.
            part.metadata = part.metadata or None
        equal(found, parts, "parts")

    async def send_and_poll(self):
        began = time.monotonic()
        task = await self.send("wait 2", wait=False)
        assert time.monotonic() - began < 1.8, "a send that does not block waited"
        assert task.status.state in (TaskState.submitted, TaskState.working), task
        task = await self.reach(task.id, TaskState.completed)
        equal(text(task.artifacts[0]), "Waited 2 seconds.")

    async def stream(self):
        items = await collect(self.streams.send_message(message("stream 5")))
        update, chunk = "status-update", "artifact-update"
        equal([kind(item) for item in items], ["task", update, *[chunk] * 5, update], "items")
        task, working, *chunks, end = items
        states = [each.status.state for each in (task, working, end)]
        equal(states, [TaskState.submitted, TaskState.working, TaskState.completed])
        equal((working.final, end.final), (False, True), "final")
        equal([text(each.artifact) for each in chunks], [f"chunk {n} of 5\n" for n in range(1, 6)], "chunks")
        equal([bool(each.append) for each in chunks], [False, True, True, True, True], "append")
        equal([bool(each.last_chunk) for each in chunks], [False, False, False, False, True], "lastChunk")
        for event in items[1:]:
            equal((event.task_id, event.context_id), (task.id, task.context_id))
        whole = "".join(text(each.artifact) for each in chunks)
        equal([text(each) for each in (await self.get(task.id)).artifacts], [whole])

    async def resubscribe(self):
        stream = self.streams.send_message(message("wait 2"))
        task, _ = await anext(stream)
        # The connection goes, and so does the replica.
        await stream.aclose()
        asked = TaskIdParams(id=task.id)
        # Two subscribers of two replicas see the same events.
        here, there = await asyncio.gather(
            collect(self.streams.resubscribe(asked)), collect(self.streams_there.resubscribe(asked))
        )
        for items in (here, there):
            equal((kind(items[0]), items[0].id), ("task", task.id), "the first item")
            assert items[0].status.state in (TaskState.submitted, TaskState.working), items[0]
            equal((items[-1].status.state, items[-1].final), (TaskState.completed, True), "the last item")
            made = [text(each.artifact) for each in items if isinstance(each, TaskArtifactUpdateEvent)]
            equal(made, ["Waited 2 seconds."])
        shorter = min(len(here), len(there)) - 1
        assert shorter >= 2, (here, there)
        equal(here[-shorter:], there[-shorter:], "the events of two subscribers")

    async def resubscribe_to_question(self):
        task = await self.send("ask")
        equal(task.status.state, TaskState.input_required)
        stream = events(self.streams_there.resubscribe(TaskIdParams(id=task.id)))
        equal((await anext(stream)).status.state, TaskState.input_required, "the first item")
        # It stays open until the question is answered, by a client of the other replica.
        answer = asyncio.create_task(self.send("this", task_id=task.id, context_id=task.context_id))
        items = [item async for item in stream]
        equal((items[-1].status.state, items[-1].final), (TaskState.completed, True))
        equal([text(each.artifact) for each in items if isinstance(each, TaskArtifactUpdateEvent)], ["this"])
        equal((await answer).status.state, TaskState.completed)

    async def several_turns(self):
        task = await self.send("ask")
        equal(task.status.state, TaskState.input_required)
        equal((text(task.status.message), task.status.message.role), ("What shall I give back?", Role.agent))
        # With the task's id alone: the context is the task's.
        done = await self.send("this", client=self.there, task_id=task.id)
        equal((done.id, done.context_id, done.status.state), (task.id, task.context_id, TaskState.completed))
        equal([text(artifact) for artifact in done.artifacts], ["this"])
        # A status message enters the history when the status goes, so the question stands after its answer.
        equal([text(each) for each in done.history if each.role == Role.user], ["ask", "this"], "the user's")
        said = [text(each) for each in done.history if each.role == Role.agent]
        equal(said, ["What shall I give back?"], "the agent's")
        equal((await self.get(done.id, history_length=1)).history, done.history[-1:], "historyLength 1")
        # A task after it in the same context.
        after = await self.send("more", context_id=task.context_id)
        equal((after.context_id, after.id != task.id), (task.context_id, True))
        # Streamed, a question ends the answer to the send, and not the task.
        items = await collect(self.streams.send_message(message("ask")))
        equal(items[-1].status.state, TaskState.input_required)
        answer = message("that", task_id=items[0].id)
        items = await collect(self.streams_there.send_message(answer))
        equal((kind(items[0]), items[-1].status.state), ("task", TaskState.completed))

    async def authorization(self):
        task = await self.send("auth")
        equal(task.status.state, TaskState.auth_required)
        done = await self.send("yes", client=self.there, task_id=task.id)
        equal((done.status.state, text(done.artifacts[0])), (TaskState.completed, "Authorized, thank you."))

    async def cancel_it(self):
        task = await self.send("wait 60", wait=False)
        stream = events(self.streams.resubscribe(TaskIdParams(id=task.id)))
        await anext(stream)
        canceled = await self.cancel(task.id)
        equal((canceled.id, canceled.status.state), (task.id, TaskState.canceled))
        items = [item async for item in stream]
        equal((items[-1].status.state, items[-1].final), (TaskState.canceled, True), "the subscriber's last event")
        equal((await self.get(task.id)).status.state, TaskState.canceled)

    async def push_configs(self):
        # Also on a finished task, and for a receiver that no name leads to.
        task = (await self.send("hello")).id
        one, two, three = (f"https://hooks.example.com/{name}" for name in ("one", "two", "three"))
        authentication = PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="secret")
        created = await self.hook(task, id="mine", url=one, token="t-1", authentication=authentication)
        config = created.push_notification_config
        equal((created.task_id, config.id, config.url, config.token), (task, "mine", one, "t-1"))
        equal(config.authentication, authentication)
        other = await self.hook(task, client=self.there, id="other", url=two)
        equal(other.push_notification_config.id, "other")
        asked = GetTaskPushNotificationConfigParams(id=task, push_notification_config_id="mine")
        read = await self.there.get_task_callback(asked)
        config = read.push_notification_config
        equal((read.task_id, config.id, config.url), (task, "mine", one), "the config from the other replica")
        # Only the answer to whoever set them says secrets.
        equal((config.token or "", config.authentication.credentials or ""), ("", ""))
        equal(config.authentication.schemes, ["Bearer"])
        equal(await self.hooks(task), [("mine", one), ("other", two)])
        # The same id replaces.
        await self.hook(task, client=self.there, id="mine", url=three)
        equal(await self.hooks(task), [("mine", three), ("other", two)])
        await self.unhook(task, "mine")
        equal(await self.hooks(task), [("other", two)])
        await self.refused("TASK_NOT_FOUND", self.here.get_task_callback(asked))

    async def webhook(self):
        receiver = Receiver()
        try:
            config = PushNotificationConfig(
                url=receiver.url("/inline"),
                token="t-1",
                authentication=PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="secret"),
            )
            # Of the client: in the configuration of one send it cannot read it any more.
            client = await self.client(self.urls[0], push_notification_configs=[config])
            task = await self.send("stream 3", client=client)
            equal(task.status.state, TaskState.completed)
            posts = await receiver.until(lambda body: body.get("final"))
            for path, headers, _ in posts:
                equal((path, headers["content-type"]), ("/inline", "application/json"))
                equal((headers["authorization"], headers["x-a2a-notification-token"]), ("Bearer secret", "t-1"))
            # As 0.3 says them, whatever the task may be said in elsewhere.
            types = {each.model_fields["kind"].default: each for each in (Task, TaskStatusUpdateEvent, TaskArtifactUpdateEvent)}
            items = [types[body["kind"]].model_validate(body) for *_, body in posts]
            chunk = "artifact-update"
            equal([kind(item) for item in items], ["task", "status-update", *[chunk] * 3, "status-update"], "posts")
            told = "".join(text(item.artifact) for item in items if kind(item) == chunk)
            equal([told], [text(artifact) for artifact in task.artifacts], "chunks")
            # One that is registered while the task runs, over this binding too.
            task = await self.send("ask")
            await self.hook(task.id, client=self.there, id="later", url=receiver.url("/later"))
            await self.send("this", task_id=task.id)
            posts = await receiver.until(lambda body: body.get("final"))
            equal({(path, "kind" in body) for path, _, body in posts}, {("/later", True)})
        finally:
            receiver.close()

    async def extended_card(self):
        card = await self.there.get_card()
        equal((card.name, card.description), ("demo", "The demo agent, for those who asked who it is."))

    async def idle_stream(self):
        """What keeps a quiet stream open must be nothing to its reader."""
        task = await self.send("ask")
        stream = events(self.streams.resubscribe(TaskIdParams(id=task.id)))
        equal((await anext(stream)).status.state, TaskState.input_required, "the first item")
        following = asyncio.create_task(anext(stream))
        await asyncio.wait([following], timeout=IDLE)
        if following.done():
            raise AssertionError(f"the stream did not stay quiet: {await following!r}")
        await self.send("this", task_id=task.id)
        await following
        items = [item async for item in stream]
        equal(items[-1].status.state, TaskState.completed)

    async def legacy_client(self):
        """The SDK's client from before there were several bindings; it speaks JSON-RPC to the URL of the card."""
        if self.binding != JSONRPC:
            return
        card = await A2ACardResolver(self.http, self.urls[0]).get_agent_card()
        client = A2AClient(self.http, agent_card=card)
        params = MessageSendParams(message=message("hello"))
        answer = (await client.send_message(SendMessageRequest(id="1", params=params))).root
        equal((answer.id, answer.result.status.state), ("1", TaskState.completed))

    async def task_not_found(self):
        reason, nobody = "TASK_NOT_FOUND", str(uuid.uuid4())
        await self.refused(reason, self.get(nobody))
        await self.refused(reason, self.get("no such id"))
        await self.refused(reason, self.cancel(nobody))
        await self.refused(reason, self.send("hello", task_id=nobody))
        await self.refused(reason, anext(self.streams.send_message(message("hello", task_id=nobody))))
        await self.refused_subscription(reason, nobody)
        await self.refused(reason, self.hook(nobody, id="mine", url="https://hooks.example.com"))

    async def not_cancelable(self):
        reason = "TASK_NOT_CANCELABLE"
        for words in ("hello", "fail", "reject"):
            await self.refused(reason, self.cancel((await self.send(words)).id))
        task = (await self.send("ask")).id
        await self.cancel(task, self.here)
        await self.refused(reason, self.cancel(task))
        if self.binding != GRPC:
            # An agent that lets nothing be canceled.
            plain = await self.agent("plain")
            task = await self.send("ask", client=plain)
            await self.refused(reason, self.cancel(task.id, plain))

    async def unsupported_operation(self):
        reason = "UNSUPPORTED_OPERATION"
        task = (await self.send("hello")).id
        await self.refused(reason, self.send("more", client=self.there, task_id=task))
        await self.refused(reason, anext(self.streams.send_message(message("more", task_id=task))))
        await self.refused_subscription(reason, task)
        if self.binding != GRPC:
            # An agent without streams: the client sees it on the card and sends without; past that check it is refused.
            plain = await self.agent("plain", streaming=True)
            equal((await self.send("hello", client=plain)).status.state, TaskState.completed)
            params = MessageSendParams(message=message("hello"))
            await self.refused(reason, anext(plain._transport.send_message_streaming(params)))

    async def content_type(self):
        plain = await self.agent("plain")
        picture = FilePart(file=FileWithBytes(bytes=base64.b64encode(b"png").decode(), mime_type="image/png"))
        sent = message("")
        sent.parts = [Part(root=picture)]
        await self.refused("CONTENT_TYPE_NOT_SUPPORTED", self.send_message(sent, plain))

    async def invalid_params(self):
        reason = "INVALID_PARAMS"
        sent = message("")
        sent.parts = []
        await self.refused(reason, self.send_message(sent), "message." if self.binding == JSONRPC else "")
        await self.refused(reason, anext(self.streams.send_message(sent)))
        task = (await self.send("hello")).id
        await self.refused(reason, self.hook(task, id="mine", url="ftp://hooks.example.com"), "url")
        asking = await self.send("ask")
        elsewhere = self.send("this", task_id=asking.id, context_id=str(uuid.uuid4()))
        await self.refused(reason, elsewhere, "contextId")

    async def push_not_supported(self):
        reason = "PUSH_NOTIFICATION_NOT_SUPPORTED"
        plain = await self.agent("plain")
        task = (await self.send("hello", client=plain)).id
        config = {"id": "mine", "url": "https://hooks.example.com"}
        await self.refused(reason, self.hook(task, client=plain, **config))
        plain = await self.agent("plain", push_notification_configs=[PushNotificationConfig(**config)])
        await self.refused(reason, self.send("hello", client=plain))

    async def no_extended_card(self):
        plain = await self.agent("plain")
        await self.refused("EXTENDED_AGENT_CARD_NOT_CONFIGURED", plain.get_card())

    async def extension_required(self):
        loyal = await self.agent("loyal")
        await self.refused("EXTENSION_SUPPORT_REQUIRED", self.send("hello", client=loyal))
        task = await self.send_message(message("hello"), loyal, extensions=[LOYALTY])
        equal(task.status.state, TaskState.completed)

    async def idempotency_key(self):
        context = ClientCallContext(state={"http_kwargs": {"headers": {"Idempotency-Key": str(uuid.uuid4())}}})
        sent = message("once")
        tasks = [await self.send_message(sent, client, context) for client in (self.here, self.there)]
        equal(tasks[0].id, tasks[1].id, "the task of the same key")
        # Without a key the same messageId is a new message.
        assert (await self.send_message(sent)).id != tasks[0].id, "a task of another send"


# Seconds, more than `streams.keep_alive_seconds`.
IDLE = 3

EVERYWHERE = [
    ("cards", Suite.cards),
    ("send and wait", Suite.send_and_wait),
    ("every kind of part", Suite.every_kind_of_part),
    ("send and poll", Suite.send_and_poll),
    ("stream", Suite.stream),
    ("resubscribe", Suite.resubscribe),
    ("resubscribe to a question", Suite.resubscribe_to_question),
    ("several turns", Suite.several_turns),
    ("authorization", Suite.authorization),
    ("cancel", Suite.cancel_it),
    ("push configs", Suite.push_configs),
    ("webhook", Suite.webhook),
    ("extended card", Suite.extended_card),
    ("idle stream", Suite.idle_stream),
    ("error: task not found", Suite.task_not_found),
    ("error: not cancelable", Suite.not_cancelable),
    ("error: unsupported operation", Suite.unsupported_operation),
    ("error: invalid params", Suite.invalid_params),
]
# This client leads to no other agent over gRPC, and lets no metadata through.
OVER_HTTP = [
    ("idempotency key", Suite.idempotency_key),
    ("error: content type", Suite.content_type),
    ("error: push not supported", Suite.push_not_supported),
    ("error: no extended card", Suite.no_extended_card),
    ("error: extension required", Suite.extension_required),
]
CHECKS = {
    JSONRPC: [*EVERYWHERE, *OVER_HTTP, ("legacy client", Suite.legacy_client)],
    HTTP_JSON: [*EVERYWHERE, *OVER_HTTP],
    GRPC: EVERYWHERE,
}


if __name__ == "__main__":
    sys.exit(asyncio.run(main("Python 0.3", CHECKS, Suite)))
