"""The official Python SDK's client against a running Taskyard, over every binding it speaks.

Usage: suite.py RESULTS URL [URL]

URL is the base of the default agent; with two of them, of two replicas, whatever continues a task goes to the other one.
RESULTS gets a line for each check: column, check, result, separated by tabs. The exit code is 1 when a check failed.
"""

import asyncio
import sys
import time
import uuid

import grpc.aio
import httpx
from a2a.client import ClientCallContext, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors
from a2a.utils.constants import TransportProtocol

from receiver import Receiver
from runner import equal, main

BINDINGS = [TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON, TransportProtocol.GRPC]
LOYALTY = "https://example.com/loyalty/v1"
TERMINAL = {pb.TASK_STATE_COMPLETED, pb.TASK_STATE_FAILED, pb.TASK_STATE_CANCELED, pb.TASK_STATE_REJECTED}


def message(text, **fields):
    return pb.Message(
        message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)], **fields
    )


def text_of(artifact):
    return "".join(part.text for part in artifact.parts)


def state(task):
    return pb.TaskState.Name(task.status.state).removeprefix("TASK_STATE_")


async def fails(kind, call):
    """Waits for the error that `call` has to end with, and gives it back. Exactly `kind`: a base class would say nothing."""
    try:
        found = await call
    except Exception as error:
        assert type(error) is kind, f"wanted {kind.__name__}, found {error!r}"
        return error
    raise AssertionError(f"wanted {kind.__name__}, found {found!r}")


def parameters(**given):
    """Service parameters of one call: headers, or metadata."""
    return ClientCallContext(service_parameters={name.replace("_", "-"): value for name, value in given.items()})


async def only(stream):
    """The one item of a send without streaming."""
    items = [item async for item in stream]
    equal(len(items), 1, "items of an answer")
    equal(items[0].WhichOneof("payload"), "task", "the answer")
    return items[0].task


class Suite:
    """Every check, for one binding. Methods with a name in `CHECKS` are run, in the order they stand in."""

    def __init__(self, binding, urls):
        self.binding = binding
        self.urls = urls
        self.clients = []
        # One without certificates: nothing here is TLS, and reading them for every client takes longer than the checks.
        self.http = httpx.AsyncClient(verify=False)

    async def client(self, url, streaming=False):
        config = ClientConfig(
            streaming=streaming,
            httpx_client=self.http,
            supported_protocol_bindings=[self.binding],
            grpc_channel_factory=grpc.aio.insecure_channel,
        )
        client = await ClientFactory(config).create_from_url(url)
        self.clients.append(client)
        return client

    async def start(self):
        here, there = self.urls[0], self.urls[-1]
        self.here, self.there = await self.client(here), await self.client(there)
        # These stream; a client of this SDK does either.
        self.streams, self.streams_there = await self.client(here, True), await self.client(there, True)

    async def stop(self):
        for client in self.clients:
            await client.close()
        await self.http.aclose()

    async def send(self, words, client=None, now=False, context=None, **fields):
        request = pb.SendMessageRequest(
            message=message(words, **fields), configuration=pb.SendMessageConfiguration(return_immediately=now)
        )
        return await only((client or self.here).send_message(request, context=context))

    async def get(self, task, client=None, **fields):
        return await (client or self.there).get_task(pb.GetTaskRequest(id=task.id, **fields))

    async def reach(self, task, *states):
        """Polls until the task is in one of the states."""
        for _ in range(200):
            task = await self.get(task)
            if state(task) in states:
                return task
            await asyncio.sleep(0.05)
        raise AssertionError(f"the task stays {state(task)}")

    def subscribe(self, task, client=None):
        return (client or self.streams_there).subscribe(pb.SubscribeToTaskRequest(id=task.id))

    async def cards(self):
        for url in (self.urls[0], f"{self.urls[0]}/agents/demo", f"{self.urls[0]}/agents/plain"):
            client = await self.client(url)
            card = client._card
            equal(card.name, url.rpartition("/agents/")[2] if "/agents/" in url else "demo", "name")
            # Others of an older version may stand beside them.
            current = [each.protocol_binding for each in card.supported_interfaces if each.protocol_version == "1.0"]
            equal(sorted(current), sorted(binding.value for binding in BINDINGS), "bindings")
            assert card.description and card.version and card.default_input_modes and card.default_output_modes, card
            assert card.skills and all(skill.tags for skill in card.skills), card
            # The card leads to its own agent, over this binding.
            task = await self.send(f"to {card.name}", client=client)
            equal((state(task), text_of(task.artifacts[0])), ("COMPLETED", f"to {card.name}"))
        # Nobody else's agent has that task.
        await fails(errors.TaskNotFoundError, self.get(task, client=self.here))

    async def send_and_wait(self):
        task = await self.send("hello")
        equal(state(task), "COMPLETED")
        equal([text_of(artifact) for artifact in task.artifacts], ["hello"])
        equal([(each.role, text_of(each)) for each in task.history], [(pb.ROLE_USER, "hello")], "history")
        assert task.history[0].task_id == task.id and task.history[0].context_id == task.context_id != "", task
        equal(await self.get(task), task, "the task from the other replica")
        waited = await self.send("wait 1")
        equal((state(waited), text_of(waited.artifacts[0])), ("COMPLETED", "Waited 1 seconds."))
        for words, end in (("fail no luck", "FAILED"), ("reject not mine", "REJECTED")):
            task = await self.send(words)
            equal((state(task), text_of(task.status.message)), (end, words.partition(" ")[2]))

    async def parts(self):
        sent = pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER)
        sent.parts.add(text="words", metadata={"language": "en"})
        sent.parts.add(raw=bytes(range(256)), filename="bytes.bin", media_type="application/octet-stream")
        sent.parts.add(url="https://example.com/a.pdf", media_type="application/pdf")
        part = sent.parts.add(media_type="application/json")
        part.data.struct_value.update({"a": [1, 2.5, None, {"b": True}], "ü": "é"})
        task = await only(self.here.send_message(pb.SendMessageRequest(message=sent)))
        equal(list(task.artifacts[0].parts), list(sent.parts), "parts")

    async def send_and_poll(self):
        began = time.monotonic()
        task = await self.send("wait 2", now=True)
        assert time.monotonic() - began < 1.8, "returnImmediately waited"
        assert state(task) in ("SUBMITTED", "WORKING"), task
        task = await self.reach(task, "COMPLETED")
        equal(text_of(task.artifacts[0]), "Waited 2 seconds.")

    async def stream(self):
        request = pb.SendMessageRequest(message=message("stream 5"))
        items = [item async for item in self.streams.send_message(request)]
        task = items[0].task
        equal(state(task), "SUBMITTED", "the first item")
        kinds = [item.WhichOneof("payload") for item in items]
        equal(kinds, ["task", "status_update", *["artifact_update"] * 5, "status_update"], "items")
        equal(state(items[1].status_update), "WORKING")
        equal(state(items[-1].status_update), "COMPLETED")
        chunks = [item.artifact_update for item in items[2:-1]]
        equal([text_of(chunk.artifact) for chunk in chunks], [f"chunk {n} of 5\n" for n in range(1, 6)], "chunks")
        equal([chunk.append for chunk in chunks], [False, True, True, True, True], "append")
        equal([chunk.last_chunk for chunk in chunks], [False, False, False, False, True], "lastChunk")
        for event in [*chunks, items[1].status_update, items[-1].status_update]:
            equal((event.task_id, event.context_id), (task.id, task.context_id))
        equal({chunk.artifact.artifact_id for chunk in chunks}, {"stream"})
        task = await self.get(task)
        equal("".join(text_of(each) for each in task.artifacts), "".join(text_of(each.artifact) for each in chunks))

    async def subscribe_to_task(self):
        task = await self.send("wait 2", now=True)

        async def follow(client):
            return [item async for item in self.subscribe(task, client)]

        # Two subscribers of two replicas see the same events.
        streams = await asyncio.gather(follow(self.streams), follow(self.streams_there))
        for items in streams:
            equal((items[0].task.id, items[0].WhichOneof("payload")), (task.id, "task"), "the first item")
            assert state(items[0].task) in ("SUBMITTED", "WORKING"), items[0]
            assert all(item.WhichOneof("payload") != "task" for item in items[1:]), items
            equal(state(items[-1].status_update), "COMPLETED")
            made = [text_of(each.artifact_update.artifact) for each in items if each.HasField("artifact_update")]
            equal(made, ["Waited 2 seconds."])
        shorter = min(len(items) for items in streams) - 1
        assert shorter >= 3, streams
        equal(streams[0][-shorter:], streams[1][-shorter:], "the events of two subscribers")

    async def resubscribe(self):
        request = pb.SendMessageRequest(message=message("wait 2"))
        stream = self.streams.send_message(request)
        task = (await anext(stream)).task
        # The connection goes, and so does the replica.
        await stream.aclose()
        stream = self.subscribe(task, self.streams_there)
        first = await anext(stream)
        equal((first.task.id, state(first.task) in ("SUBMITTED", "WORKING")), (task.id, True), "the first item")
        await stream.aclose()
        items = [item async for item in self.subscribe(task, self.streams)]
        equal(items[0].task.id, task.id)
        equal(state(items[-1].status_update), "COMPLETED")

    async def subscribe_to_question(self):
        task = await self.send("ask")
        equal(state(task), "INPUT_REQUIRED")
        stream = self.subscribe(task)
        first = await anext(stream)
        equal(state(first.task), "INPUT_REQUIRED", "the first item")
        # It stays open until the question is answered, by a client of the other replica.
        answer = asyncio.create_task(self.send("this", task_id=task.id, context_id=task.context_id))
        items = [item async for item in stream]
        equal(state(items[-1].status_update), "COMPLETED")
        equal([text_of(each.artifact_update.artifact) for each in items if each.HasField("artifact_update")], ["this"])
        equal(state(await answer), "COMPLETED")

    async def several_turns(self):
        task = await self.send("ask")
        equal((state(task), text_of(task.status.message)), ("INPUT_REQUIRED", "What shall I give back?"))
        equal(task.status.message.role, pb.ROLE_AGENT)
        # With the task's id alone: the context is the task's.
        done = await self.send("this", client=self.there, task_id=task.id)
        equal((done.id, done.context_id, state(done)), (task.id, task.context_id, "COMPLETED"))
        equal([text_of(artifact) for artifact in done.artifacts], ["this"])
        # A status message enters the history when the status goes, so the question stands after its answer.
        equal([text_of(each) for each in done.history if each.role == pb.ROLE_USER], ["ask", "this"], "the user's")
        said = [text_of(each) for each in done.history if each.role == pb.ROLE_AGENT]
        equal(said, ["What shall I give back?"], "the agent's")
        equal(list((await self.get(done, history_length=1)).history), list(done.history)[-1:], "historyLength 1")
        equal(list((await self.get(done, history_length=0)).history), [], "historyLength 0")
        # A task after it in the same context, which refers to it.
        after = await self.send("more", context_id=task.context_id, reference_task_ids=[task.id])
        equal((after.context_id, after.id != task.id), (task.context_id, True))
        equal(list(after.history[0].reference_task_ids), [task.id])
        # Streamed, a question ends the answer to the send, and not the task.
        items = [item async for item in self.streams.send_message(pb.SendMessageRequest(message=message("ask")))]
        equal(state(items[-1].status_update), "INPUT_REQUIRED")
        answer = message("that", task_id=items[0].task.id)
        items = [item async for item in self.streams_there.send_message(pb.SendMessageRequest(message=answer))]
        equal((items[0].WhichOneof("payload"), state(items[-1].status_update)), ("task", "COMPLETED"))

    async def authorization(self):
        task = await self.send("auth")
        equal(state(task), "AUTH_REQUIRED")
        done = await self.send("yes", client=self.there, task_id=task.id)
        equal((state(done), text_of(done.artifacts[0])), ("COMPLETED", "Authorized, thank you."))

    async def list_tasks(self):
        context = str(uuid.uuid4())
        tasks = [await self.send(f"number {n}", context_id=context) for n in range(5)]
        asking = await self.send("ask", context_id=context)
        wanted = [asking.id, *(task.id for task in reversed(tasks))]
        found, token, sizes = [], "", []
        for client in [self.here, self.there] * 3:
            request = pb.ListTasksRequest(context_id=context, page_size=2, page_token=token)
            page = await client.list_tasks(request)
            equal((page.page_size, page.total_size), (2, 6), "pageSize and totalSize")
            found += [task.id for task in page.tasks]
            sizes.append(len(page.tasks))
            assert all(not task.artifacts and task.context_id == context for task in page.tasks), page
            token = page.next_page_token
            if not token:
                break
        equal((found, sizes), (wanted, [2, 2, 2]), "the pages, newest first")
        page = await self.there.list_tasks(
            pb.ListTasksRequest(
                context_id=context, status=pb.TASK_STATE_COMPLETED, include_artifacts=True, history_length=0
            )
        )
        equal([task.id for task in page.tasks], wanted[1:], "only what is completed")
        equal([text_of(task.artifacts[0]) for task in page.tasks], [f"number {n}" for n in range(4, -1, -1)])
        assert not any(task.history for task in page.tasks) and not page.next_page_token, page
        after = pb.ListTasksRequest(context_id=context, status_timestamp_after=tasks[3].status.timestamp)
        # At or after: the two are a millisecond apart at least only when the clock says so.
        found = {task.id for task in (await self.here.list_tasks(after)).tasks}
        assert {tasks[4].id, asking.id} <= found <= {tasks[3].id, tasks[4].id, asking.id} | {
            task.id for task in tasks if task.status.timestamp.ToMilliseconds() >= tasks[3].status.timestamp.ToMilliseconds()
        }, found
        empty = await self.here.list_tasks(pb.ListTasksRequest(context_id=str(uuid.uuid4())))
        equal((list(empty.tasks), empty.total_size, empty.next_page_token), ([], 0, ""), "no tasks")

    async def cancel(self):
        task = await self.send("wait 60", now=True)
        stream = self.subscribe(task, self.streams)
        await anext(stream)
        metadata = pb.CancelTaskRequest(id=task.id)
        metadata.metadata.update({"why": "enough"})
        canceled = await self.there.cancel_task(metadata)
        equal((canceled.id, state(canceled)), (task.id, "CANCELED"))
        items = [item async for item in stream]
        equal(state(items[-1].status_update), "CANCELED", "the subscriber's last event")
        equal(state(await self.get(task)), "CANCELED")
        asking = await self.send("ask")
        equal(state(await self.there.cancel_task(pb.CancelTaskRequest(id=asking.id))), "CANCELED")

    async def push_configs(self):
        # Also on a finished task, and for a receiver that no name leads to.
        task = await self.send("hello")
        own = pb.TaskPushNotificationConfig(
            task_id=task.id, id="mine", url="https://hooks.example.com/one", token="t-1",
            authentication=pb.AuthenticationInfo(scheme="Bearer", credentials="secret"),
        )  # fmt: skip
        created = await self.here.create_task_push_notification_config(own)
        equal(created, own, "the config as it was created")
        other = pb.TaskPushNotificationConfig(task_id=task.id, url="https://hooks.example.com/two")
        assigned = await self.there.create_task_push_notification_config(other)
        assert assigned.id not in ("", "mine"), assigned

        def of(request, id):
            return request(task_id=task.id, id=id)

        read = await self.there.get_task_push_notification_config(of(pb.GetTaskPushNotificationConfigRequest, "mine"))
        # Only the answer to whoever set them says secrets.
        own.ClearField("token")
        own.authentication.ClearField("credentials")
        equal(read, own, "the config from the other replica")
        everything = pb.ListTaskPushNotificationConfigsRequest(task_id=task.id)
        listed = (await self.here.list_task_push_notification_configs(everything)).configs
        equal({each.id for each in listed}, {"mine", assigned.id})
        # The same id replaces.
        own.url = "https://hooks.example.com/three"
        await self.there.create_task_push_notification_config(own)
        listed = (await self.here.list_task_push_notification_configs(everything)).configs
        equal({each.url for each in listed}, {own.url, other.url})
        for _ in range(2):  # deleting what is not there is fine
            await self.here.delete_task_push_notification_config(
                of(pb.DeleteTaskPushNotificationConfigRequest, "mine")
            )
        listed = (await self.there.list_task_push_notification_configs(everything)).configs
        equal([each.id for each in listed], [assigned.id])
        await fails(
            errors.TaskNotFoundError,
            self.here.get_task_push_notification_config(of(pb.GetTaskPushNotificationConfigRequest, "mine")),
        )

    async def webhook(self):
        receiver = Receiver()
        try:
            config = pb.TaskPushNotificationConfig(
                url=receiver.url("/inline"), token="t-1",
                authentication=pb.AuthenticationInfo(scheme="Bearer", credentials="secret"),
            )  # fmt: skip
            request = pb.SendMessageRequest(message=message("stream 3"))
            request.configuration.task_push_notification_config.CopyFrom(config)
            task = await only(self.here.send_message(request))
            equal(state(task), "COMPLETED")
            posts = await receiver.until(
                lambda body: body.get("statusUpdate", {}).get("status", {}).get("state") == "TASK_STATE_COMPLETED"
            )
            for path, headers, _ in posts:
                equal(path, "/inline")
                equal((headers["authorization"], headers["x-a2a-notification-token"]), ("Bearer secret", "t-1"))
            kinds = [next(iter(body)) for *_, body in posts]
            equal(kinds, ["task", "statusUpdate", *["artifactUpdate"] * 3, "statusUpdate"], "posts")
            said = "".join(
                part["text"] for *_, body in posts if "artifactUpdate" in body
                for part in body["artifactUpdate"]["artifact"]["parts"]
            )  # fmt: skip
            equal(said, text_of(task.artifacts[0]), "chunks")
            # One that is registered while the task runs, over this binding too.
            task = await self.send("ask")
            config = pb.TaskPushNotificationConfig(task_id=task.id, url=receiver.url("/later"))
            await self.there.create_task_push_notification_config(config)
            await self.send("this", task_id=task.id)
            posts = await receiver.until(
                lambda body: body.get("statusUpdate", {}).get("status", {}).get("state") == "TASK_STATE_COMPLETED"
            )
            equal({path for path, *_ in posts}, {"/later"})
        finally:
            receiver.close()

    async def extended_card(self):
        card = await self.there.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        equal((card.name, card.description), ("demo", "The demo agent, for those who asked who it is."))

    async def idempotency_key(self):
        context = parameters(Idempotency_Key=str(uuid.uuid4()))
        sent = message("once")
        tasks = [
            await only(client.send_message(pb.SendMessageRequest(message=sent), context=context))
            for client in (self.here, self.there)
        ]
        equal(tasks[0].id, tasks[1].id, "the task of the same key")
        # Without a key the same messageId is a new message.
        task = await only(self.here.send_message(pb.SendMessageRequest(message=sent)))
        assert task.id != tasks[0].id, "a task of another send"

    async def task_not_found(self):
        nobody = pb.Task(id=str(uuid.uuid4()))
        kind = errors.TaskNotFoundError
        await fails(kind, self.get(nobody))
        await fails(kind, self.get(pb.Task(id="no such id")))
        await fails(kind, self.here.cancel_task(pb.CancelTaskRequest(id=nobody.id)))
        await fails(kind, self.send("hello", task_id=nobody.id))
        await fails(kind, anext(self.subscribe(nobody)))
        await fails(kind, anext(self.streams.send_message(pb.SendMessageRequest(message=message("a", task_id=nobody.id)))))
        config = pb.TaskPushNotificationConfig(task_id=nobody.id, url="https://hooks.example.com")
        await fails(kind, self.here.create_task_push_notification_config(config))
        every = pb.ListTaskPushNotificationConfigsRequest(task_id=nobody.id)
        await fails(kind, self.here.list_task_push_notification_configs(every))

    async def not_cancelable(self):
        kind = errors.TaskNotCancelableError
        for words in ("hello", "fail", "reject"):
            task = await self.send(words)
            await fails(kind, self.there.cancel_task(pb.CancelTaskRequest(id=task.id)))
        task = await self.send("ask")
        await self.here.cancel_task(pb.CancelTaskRequest(id=task.id))
        await fails(kind, self.there.cancel_task(pb.CancelTaskRequest(id=task.id)))
        # An agent that lets nothing be canceled.
        plain = await self.client(f"{self.urls[0]}/agents/plain")
        task = await self.send("ask", client=plain)
        await fails(kind, plain.cancel_task(pb.CancelTaskRequest(id=task.id)))

    async def unsupported_operation(self):
        kind = errors.UnsupportedOperationError
        task = await self.send("hello")
        await fails(kind, self.send("more", client=self.there, task_id=task.id))
        await fails(kind, anext(self.subscribe(task)))
        more = pb.SendMessageRequest(message=message("more", task_id=task.id))
        await fails(kind, anext(self.streams.send_message(more)))
        # An agent without streams: the client sees it on the card and sends without; past that check it is refused.
        plain = await self.client(f"{self.urls[0]}/agents/plain", streaming=True)
        equal(state(await only(plain.send_message(pb.SendMessageRequest(message=message("hello"))))), "COMPLETED")
        await fails(kind, anext(plain._transport.send_message_streaming(pb.SendMessageRequest(message=message("hello")))))
        await fails(kind, anext(plain._transport.subscribe(pb.SubscribeToTaskRequest(id=task.id))))
        # An agent without an extended card: its client asks only when the card says that there is one.
        loyal = await self.client(f"{self.urls[0]}/agents/loyal")
        loyal._card.capabilities.extended_agent_card = True
        request, context = pb.GetExtendedAgentCardRequest(), parameters(A2A_Extensions=LOYALTY)
        await fails(kind, loyal.get_extended_agent_card(request, context=context))

    async def content_type(self):
        plain = await self.client(f"{self.urls[0]}/agents/plain")
        sent = pb.Message(message_id="1", role=pb.ROLE_USER)
        sent.parts.add(raw=b"png", media_type="image/png")
        await fails(errors.ContentTypeNotSupportedError, only(plain.send_message(pb.SendMessageRequest(message=sent))))

    async def invalid_params(self):
        kind = errors.InvalidParamsError
        empty = pb.Message(message_id="1", role=pb.ROLE_USER)
        error = await fails(kind, only(self.here.send_message(pb.SendMessageRequest(message=empty))))
        assert "message.parts" in str(error), error
        await fails(kind, only(self.here.send_message(pb.SendMessageRequest())))
        await fails(kind, anext(self.streams.send_message(pb.SendMessageRequest(message=empty))))
        error = await fails(kind, self.here.list_tasks(pb.ListTasksRequest(page_size=101)))
        assert "pageSize" in str(error), error
        await fails(kind, self.here.list_tasks(pb.ListTasksRequest(page_token="no such token")))
        await fails(kind, self.here.list_tasks(pb.ListTasksRequest(history_length=-1)))
        task = await self.send("hello")
        config = pb.TaskPushNotificationConfig(task_id=task.id, url="ftp://hooks.example.com")
        error = await fails(kind, self.here.create_task_push_notification_config(config))
        assert "url" in str(error), error
        asking, other = await self.send("ask"), str(uuid.uuid4())
        await fails(kind, self.send("this", task_id=asking.id, context_id=other))

    async def push_not_supported(self):
        kind = errors.PushNotificationNotSupportedError
        plain = await self.client(f"{self.urls[0]}/agents/plain")
        task = await self.send("hello", client=plain)
        config = pb.TaskPushNotificationConfig(task_id=task.id, url="https://hooks.example.com")
        await fails(kind, plain.create_task_push_notification_config(config))
        request = pb.SendMessageRequest(message=message("hello"))
        request.configuration.task_push_notification_config.url = "https://hooks.example.com"
        await fails(kind, only(plain.send_message(request)))

    async def extended_card_not_configured(self):
        plain = await self.client(f"{self.urls[0]}/agents/plain")
        await fails(
            errors.ExtendedAgentCardNotConfiguredError,
            plain.get_extended_agent_card(pb.GetExtendedAgentCardRequest()),
        )

    async def extension_required(self):
        loyal = await self.client(f"{self.urls[0]}/agents/loyal")
        kind = errors.ExtensionSupportRequiredError
        await fails(kind, self.send("hello", client=loyal))
        await fails(kind, loyal.list_tasks(pb.ListTasksRequest()))
        with_it = parameters(A2A_Extensions=LOYALTY)
        equal(state(await self.send("hello", client=loyal, context=with_it)), "COMPLETED")

    async def version_not_supported(self):
        context = parameters(A2A_Version="99.0")
        kind = errors.VersionNotSupportedError
        if self.binding == TransportProtocol.GRPC:
            # This transport adds a caller's version to its own instead of putting it in its place: two values arrive, 1.0 first.
            # Any answer would do to that; ours is that the first one holds.
            equal((await self.here.list_tasks(pb.ListTasksRequest(page_size=1), context=context)).page_size, 1)
            # One value, by way of the metadata that the transport makes.
            for client in (self.here, self.streams):
                client._transport._get_grpc_metadata = lambda _: [("a2a-version", "99.0")]
        await fails(kind, self.here.list_tasks(pb.ListTasksRequest(page_size=1), context=context))
        await fails(kind, self.send("hello", context=context))
        hello = pb.SendMessageRequest(message=message("hello"))
        await fails(kind, anext(self.streams.send_message(hello, context=context)))


CHECKS = [
    ("cards", Suite.cards),
    ("send and wait", Suite.send_and_wait),
    ("every kind of part", Suite.parts),
    ("send and poll", Suite.send_and_poll),
    ("stream", Suite.stream),
    ("subscribe", Suite.subscribe_to_task),
    ("resubscribe", Suite.resubscribe),
    ("subscribe to a question", Suite.subscribe_to_question),
    ("several turns", Suite.several_turns),
    ("authorization", Suite.authorization),
    ("list with paging", Suite.list_tasks),
    ("cancel", Suite.cancel),
    ("push configs", Suite.push_configs),
    ("webhook", Suite.webhook),
    ("extended card", Suite.extended_card),
    ("idempotency key", Suite.idempotency_key),
    ("error: task not found", Suite.task_not_found),
    ("error: not cancelable", Suite.not_cancelable),
    ("error: unsupported operation", Suite.unsupported_operation),
    ("error: content type", Suite.content_type),
    ("error: invalid params", Suite.invalid_params),
    ("error: push not supported", Suite.push_not_supported),
    ("error: no extended card", Suite.extended_card_not_configured),
    ("error: extension required", Suite.extension_required),
    ("error: version not supported", Suite.version_not_supported),
]


if __name__ == "__main__":
    sys.exit(asyncio.run(main("Python", dict.fromkeys(BINDINGS, CHECKS), Suite)))
