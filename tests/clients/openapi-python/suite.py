"""The round trip with clients that openapi-python-client made of the documents: `taskyard_a2a` and `taskyard_worker`.

Usage: suite.py RESULTS URL

URL is that of a `taskyard dev` whose agent `plain` has no worker: this suite is it. RESULTS gets a line for each check: column, check,
result, separated by tabs. The exit code is 1 when a check failed.
"""

import sys
import traceback
import uuid
from collections.abc import Callable
from typing import TypeVar

import httpx
from taskyard_a2a import Client, models
from taskyard_a2a.api.cards import get_agent_card, get_extended_agent_card, get_signing_keys
from taskyard_a2a.api.messages import send_message, send_streaming_message
from taskyard_a2a.api.push_notifications import (
    create_task_push_notification_config,
    delete_task_push_notification_config,
    get_task_push_notification_config,
    list_task_push_notification_configs,
)
from taskyard_a2a.api.tasks import cancel_task, get_task, list_tasks, subscribe_to_task
from taskyard_worker import Client as WorkerClient
from taskyard_worker import models as work
from taskyard_worker.api.leases import heartbeat_leases, poll_leases
from taskyard_worker.api.sessions import open_session
from taskyard_worker.api.tasks import apply_updates, complete_task
from taskyard_worker.api.views import all_tasks

T = TypeVar("T")
VERSION = models.ProtocolVersion.V1_0


def is_a(kind: type[T], value: object) -> T:
    assert isinstance(value, kind), f"wanted {kind.__name__}, found {value!r}"
    return value


def refused(value: object, code: int, reason: str) -> models.ErrorResponse:
    error = is_a(models.ErrorResponse, value)
    found = (error.error.code, error.error.details[0].reason)
    assert found == (code, reason), f"wanted {code} {reason}, found {found}"
    return error


def request(text: str, at_once: bool = False) -> models.SendMessageRequest:
    part = models.PartText(text=text)
    message = models.Message(message_id=str(uuid.uuid4()), role=models.Role.ROLE_USER, parts=[part])
    configuration = models.SendMessageConfiguration(return_immediately=at_once, history_length=10)
    return models.SendMessageRequest(message=message, configuration=configuration)


class Suite:
    def __init__(self, url: str) -> None:
        self.url = url
        self.client = Client(base_url=url)

    def sent(self, text: str, at_once: bool = False, client: Client | None = None) -> models.Task:
        answer = send_message.sync(client=client or self.client, body=request(text, at_once), a2a_version=VERSION)
        return is_a(models.SendMessageResponseTask, answer).task

    def check_card(self) -> None:
        card = is_a(models.AgentCard, get_agent_card.sync(client=self.client))
        assert card.name and card.supported_interfaces and card.capabilities.streaming
        extended = get_extended_agent_card.sync(client=self.client, a2a_version=VERSION)
        assert is_a(models.AgentCard, extended).description != card.description
        refused(get_signing_keys.sync(client=self.client), 404, "METHOD_NOT_FOUND")

    def check_send(self) -> None:
        task = self.sent("hello")
        assert task.status.state == models.TaskState.TASK_STATE_COMPLETED
        artifacts = is_a(list, task.artifacts)
        assert is_a(models.PartText, artifacts[0].parts[0]).text == "hello"
        assert is_a(list, task.history)[0].role == models.Role.ROLE_USER

    def check_parts(self) -> None:
        parts: list[models.PartText | models.PartRaw | models.PartUrl | models.PartData] = [
            models.PartRaw(raw="aGk=", media_type="application/octet-stream"),
            models.PartUrl(url="https://example.com/a.png", filename="a.png"),
            models.PartData(data={"a": [None, 1, True]}),
            models.PartData(data=None),
            models.PartText(text=""),
        ]
        message = models.Message(message_id="parts", role=models.Role.ROLE_USER, parts=parts)
        body = models.SendMessageRequest(message=message)
        answer = send_message.sync(client=self.client, body=body, a2a_version=VERSION)
        task = is_a(models.SendMessageResponseTask, answer).task
        # Asked for again: a task comes with its history when nothing says otherwise.
        task = is_a(models.Task, get_task.sync(task.id, client=self.client, a2a_version=VERSION))
        found = is_a(list, task.history)[0].parts
        assert found == parts, found

    def check_get_and_list(self) -> None:
        task = self.sent("listed")
        found = is_a(models.Task, get_task.sync(task.id, client=self.client, a2a_version=VERSION, history_length=0))
        assert found.id == task.id and not found.history
        page = list_tasks.sync(
            client=self.client,
            a2a_version=VERSION,
            context_id=is_a(str, task.context_id),
            status=models.TaskState.TASK_STATE_COMPLETED,
            page_size=1,
            include_artifacts=True,
        )
        page = is_a(models.ListTasksResponse, page)
        assert [task.id for task in page.tasks] == [task.id]
        assert (page.page_size, page.total_size, page.next_page_token) == (1, 1, "")

    def check_cancel(self) -> None:
        task = self.sent("wait 30", at_once=True)
        canceled = cancel_task.sync(task.id, client=self.client, a2a_version=VERSION, body=models.CancelTaskRequest())
        assert is_a(models.Task, canceled).status.state == models.TaskState.TASK_STATE_CANCELED
        again = cancel_task.sync(task.id, client=self.client, a2a_version=VERSION)
        refused(again, 400, "TASK_NOT_CANCELABLE")

    def check_stream(self) -> None:
        text = send_streaming_message.sync(client=self.client, body=request("stream 3"), a2a_version=VERSION)
        items = [line for line in is_a(str, text).splitlines() if line.startswith("data: ")]
        assert len(items) > 3, text
        task = self.sent("over")
        ended = subscribe_to_task.sync(task.id, client=self.client, a2a_version=VERSION)
        refused(ended, 400, "UNSUPPORTED_OPERATION")

    def check_push_configs(self) -> None:
        task = self.sent("wait 30", at_once=True)
        config = models.TaskPushNotificationConfig(
            url="http://127.0.0.1:2/hook",
            token="t-1",
            authentication=models.AuthenticationInfo(scheme="Bearer", credentials="secret"),
        )
        created = create_task_push_notification_config.sync(
            task.id, client=self.client, a2a_version=VERSION, body=config
        )
        created = is_a(models.TaskPushNotificationConfig, created)
        config_id = is_a(str, created.id)
        found = get_task_push_notification_config.sync(task.id, config_id, client=self.client, a2a_version=VERSION)
        found = is_a(models.TaskPushNotificationConfig, found)
        assert found.url == config.url and not found.token
        listed = list_task_push_notification_configs.sync(task.id, client=self.client, a2a_version=VERSION)
        listed = is_a(models.ListTaskPushNotificationConfigsResponse, listed)
        assert [config.id for config in is_a(list, listed.configs)] == [config_id]
        gone = delete_task_push_notification_config.sync(task.id, config_id, client=self.client, a2a_version=VERSION)
        is_a(models.Empty, gone)
        missing = get_task_push_notification_config.sync(task.id, config_id, client=self.client, a2a_version=VERSION)
        is_a(models.ErrorResponse, missing)

    def check_errors(self) -> None:
        missing = get_task.sync("nobody", client=self.client, a2a_version=VERSION)
        refused(missing, 404, "TASK_NOT_FOUND")
        body = request("x")
        body.message.parts = []
        error = refused(send_message.sync(client=self.client, body=body, a2a_version=VERSION), 400, "INVALID_PARAMS")
        violations = is_a(list, error.error.details[1].field_violations)
        assert [violation.field for violation in violations] == ["message.parts"]

    def check_servers(self) -> None:
        tenant = Client(base_url=f"{self.url}/t/generated/agents/demo")
        task = self.sent("mine", client=tenant)
        refused(get_task.sync(task.id, client=self.client, a2a_version=VERSION), 404, "TASK_NOT_FOUND")
        short = Client(base_url=f"{self.url}/generated")
        assert is_a(models.Task, get_task.sync(task.id, client=short, a2a_version=VERSION)).id == task.id

    def check_worker(self) -> None:
        worker = WorkerClient(base_url=f"{self.url}/worker/v1", timeout=httpx.Timeout(60))
        plain = Client(base_url=f"{self.url}/agents/plain")
        session = open_session.sync(client=worker, body=work.SessionRequest(agents=["plain"]))
        assert is_a(work.SessionResponse, session).lease_seconds > 0
        task = self.sent("for you", at_once=True, client=plain)
        polled = poll_leases.sync(client=worker, body=work.PollRequest(agents=["plain"], wait_seconds=20, start=True))
        [lease] = is_a(work.PollResponse, polled).leases
        assert lease.task.id == task.id and is_a(work.PartText, lease.messages[0].parts[0]).text == "for you"
        held = heartbeat_leases.sync(
            client=worker,
            body=work.HeartbeatRequest(leases=[work.HeldLease(lease=lease.lease, epoch=lease.epoch)]),
        )
        assert is_a(work.HeartbeatResponse, held).leases[0].held
        said = work.MessageDraft(parts=[work.PartText(text="half")])
        artifact = work.Artifact(artifact_id="a", parts=[work.PartData(data={"n": 1})])
        updates = work.ApplyRequest(
            updates=[
                work.UpdateProgress(progress=work.Progress(status_message=said)),
                work.UpdateArtifact(artifact=work.ArtifactUpdate(artifact=artifact)),
            ]
        )
        id, epoch = lease.lease, lease.epoch
        applied = apply_updates.sync(task.id, client=worker, body=updates, taskyard_lease=id, taskyard_epoch=epoch)
        assert is_a(work.Applied, applied).lease_held
        nameless = is_a(work.ErrorResponse, complete_task.sync(task.id, client=worker))
        assert nameless.error.details[0].reason == "LEASE_REQUIRED"
        end = work.MoveRequest(status_message=said)
        done = complete_task.sync(task.id, client=worker, body=end, taskyard_lease=id, taskyard_epoch=epoch)
        assert is_a(work.Applied, done).state == work.TaskState.TASK_STATE_COMPLETED
        seen = all_tasks.sync(client=worker, agent="plain", state=work.TaskState.TASK_STATE_COMPLETED, page_size=100)
        assert task.id in [record.id for record in is_a(work.ListAllTasksResponse, seen).tasks]


def main() -> int:
    results, url = sys.argv[1:]
    suite = Suite(url)
    failed = 0
    checks: list[tuple[str, Callable[[], None]]] = [
        (name.removeprefix("check_").replace("_", " "), getattr(suite, name))
        for name in vars(Suite)
        if name.startswith("check_")
    ]
    with open(results, "a", encoding="utf-8") as file:
        for name, check in checks:
            outcome = "ok"
            try:
                check()
            except Exception:
                traceback.print_exc()
                outcome, failed = "FAILED", failed + 1
            print(f"Python\t{name}\t{outcome}", file=file)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
