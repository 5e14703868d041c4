"""Workers in Python against a running Taskyard: the package, the adapter for executors of the official SDK, and the README's examples.

Usage: suite.py RESULTS URL [URL]

The tasks are sent with the official client. The package has to be installed, and the folder `workers` beside RESULTS has to hold
`agent.py` and `executor.py` of the README, with URL for the platform's. With two URLs, of two replicas, the workers work at the second
one. RESULTS gets a line for each check: column, check, result, separated by tabs. The exit code is 1 when a check failed.
"""

import asyncio
import contextlib
import glob
import os
import signal
import sys
import tempfile
import time
import uuid

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from proxy import LossyProxy  # noqa: E402
from runner import equal, run  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def message(text, **fields):
    return pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)], **fields)


def text_of(said):
    return "".join(part.text for part in said.parts)


def end(task):
    """State and status message."""
    return pb.TaskState.Name(task.status.state).removeprefix("TASK_STATE_"), text_of(task.status.message)


async def until(what, condition, seconds=20):
    """Waits for a condition."""
    limit = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < limit, f"{what} does not happen"
        await asyncio.sleep(0.02)
    return found


class Process:
    """A worker, with the file that it writes to of what happens outside of tasks."""

    def __init__(self, child, trace):
        self.child, self.trace = child, trace

    def notes(self):
        with open(self.trace, encoding="utf-8") as lines:
            return lines.read().splitlines()

    async def noted(self, words):
        await until(f"`{words}`", lambda: words in self.notes())

    async def stop(self, number=signal.SIGTERM):
        """How long it took to end."""
        began = time.monotonic()
        if self.child.returncode is None:
            self.child.send_signal(number)
        await asyncio.wait_for(self.child.wait(), 30)
        return time.monotonic() - began


class Suite:
    def __init__(self, examples, urls):
        self.examples, self.urls, self.failed = examples, urls, False

    async def start(self):
        self.stack = contextlib.AsyncExitStack()
        self.folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.http = await self.stack.enter_async_context(httpx.AsyncClient(verify=False, timeout=60))

    async def stop(self):
        if self.failed:
            for log in glob.glob(os.path.join(self.folder, "*.log")):
                with open(log, encoding="utf-8", errors="replace") as lines:
                    print(f"{os.path.basename(log)}:\n{lines.read()}", file=sys.stderr)
        await self.stack.aclose()

    async def worker(self, script, *arguments):
        trace = os.path.join(self.folder, str(uuid.uuid4()))
        open(trace, "w", encoding="utf-8").close()
        arguments = [trace if argument is ... else argument for argument in arguments]
        with open(f"{trace}.log", "w", encoding="utf-8") as log:
            child = await asyncio.create_subprocess_exec(sys.executable, script, *arguments, stdout=log, stderr=log)
        process = Process(child, trace)

        async def end():
            if child.returncode is None:
                child.kill()
                await child.wait()

        self.stack.push_async_callback(end)
        return process

    async def snake(self, agent="snake", *sync, url=None):
        return await self.worker(os.path.join(HERE, "snake.py"), url or self.urls[-1], agent, ..., *sync)

    async def performer(self, agent="performer"):
        return await self.worker(os.path.join(HERE, "performer.py"), self.urls[-1], agent, ...)

    async def client(self, agent, streaming=False):
        factory = ClientFactory(ClientConfig(streaming=streaming, httpx_client=self.http))
        return await factory.create_from_url(f"{self.urls[0]}/agents/{agent}")

    async def answer(self, agent, words, now=False, **fields):
        """The task or the message that a send leads to."""
        request = pb.SendMessageRequest(message=message(words, **fields), configuration=pb.SendMessageConfiguration(return_immediately=now))
        items = [item async for item in (await self.client(agent)).send_message(request)]
        equal(len(items), 1, "items of an answer")
        return getattr(items[0], items[0].WhichOneof("payload"))

    async def get(self, agent, task):
        return await (await self.client(agent)).get_task(pb.GetTaskRequest(id=task.id))

    async def reach(self, agent, task, wanted, seconds=20):
        limit = time.monotonic() + seconds
        while not wanted(task):
            assert time.monotonic() < limit, f"the task stays {task}"
            await asyncio.sleep(0.05)
            task = await self.get(agent, task)
        return task

    # The README's.

    async def readme_package(self):
        await self.worker(os.path.join(self.examples, "agent.py"), "poem")
        task = await self.answer("poem", "a poem")
        equal(end(task), ("INPUT_REQUIRED", "Whom is it for?"))
        task = await self.answer("poem", "Violet", task_id=task.id)
        equal((end(task), [text_of(each) for each in task.artifacts]), (("COMPLETED", ""), ["Roses are red, Violet is too. "]))

    async def readme_executor(self):
        await self.worker(os.path.join(self.examples, "executor.py"), "greeter")
        task = await self.answer("greeter", "world")
        equal((end(task), [text_of(each) for each in task.artifacts]), (("COMPLETED", ""), ["Hello, world!"]))

    # The package.

    async def outcomes(self, agent="snake", *sync):
        worker = await self.snake(agent, *sync)
        task = await self.answer(agent, "say this")
        equal((end(task), task.artifacts[0].artifact_id, text_of(task.artifacts[0])), (("COMPLETED", ""), "result", "say this"))
        task = await self.answer(agent, "parts")
        parts = task.artifacts[0].parts
        equal([part.WhichOneof("content") for part in parts], ["text", "raw", "data", "url"])
        equal((parts[1].raw, parts[3].media_type), (b"\0\xff", "application/pdf"))
        equal(end(await self.answer(agent, "fail no luck")), ("FAILED", "no luck"))
        equal(end(await self.answer(agent, "reject not mine")), ("REJECTED", "not mine"))
        equal(end(await self.answer(agent, "raise a fault")), ("FAILED", "a fault"))
        equal(end(await self.answer(agent, "unprintable"))[0], "FAILED")
        equal(end(await self.answer(agent, "reply words")), ("COMPLETED", "words"))
        equal(text_of((await self.answer(agent, "later")).artifacts[0]), "later")
        equal(len([each for each in worker.notes() if each.startswith("later")]), 2, "turns at what was postponed")
        await self.turns(agent)

    async def turns(self, agent):
        task = await self.answer(agent, "ask")
        equal(end(task), ("INPUT_REQUIRED", "What?"))
        task = await self.answer(agent, "that", task_id=task.id)
        equal((end(task), text_of(task.artifacts[0])), (("COMPLETED", ""), "that"))
        task = await self.answer(agent, "auth")
        equal(end(task), ("AUTH_REQUIRED", "May I?"))
        equal(end(await self.answer(agent, "yes", task_id=task.id)), ("COMPLETED", "Thank you."))

    async def outcomes_of_threads(self):
        await self.outcomes("threads", "sync")

    async def streams(self, agent="snake", *sync):
        await self.snake(agent, *sync)
        request = pb.SendMessageRequest(message=message("stream 12 0.05"))
        items = [item async for item in (await self.client(agent, True)).send_message(request)]
        chunks = [item.artifact_update for item in items if item.HasField("artifact_update")]
        equal([chunk.append for chunk in chunks], [False] + [True] * (len(chunks) - 1), "append")
        equal([chunk.last_chunk for chunk in chunks], [False] * (len(chunks) - 1) + [True], "lastChunk")
        equal("".join(text_of(chunk.artifact) for chunk in chunks), "".join(f"{n};" for n in range(12)))
        assert any(text_of(item.status_update.status.message) == "Streaming." for item in items), items

    async def streams_of_threads(self):
        await self.streams("threads", "sync")

    async def batches(self):
        await self.snake()
        task = await self.answer("snake", "many 250")
        equal((end(task), [text_of(each) for each in task.artifacts]), (("COMPLETED", ""), [str(n) for n in range(250)]))

    async def busy(self, agent="snake", *sync):
        await self.snake(agent, *sync)
        # Longer than its lease, and the event loop stands still.
        equal(text_of((await self.answer(agent, "block 8")).artifacts[0]), "attempt 1")

    async def busy_thread(self):
        await self.busy("threads", "sync")

    async def cancel(self, agent="snake", *sync):
        worker = await self.snake(agent, *sync)
        task = await self.answer(agent, "sit 60", now=True)
        task = await self.reach(agent, task, lambda task: end(task)[1] == "Sitting.")
        equal(end(await (await self.client(agent)).cancel_task(pb.CancelTaskRequest(id=task.id)))[0], "CANCELED")
        await worker.noted("cancelled TASK_STATE_CANCELED")
        equal(text_of((await self.answer(agent, "say on")).artifacts[0]), "say on", "the next task")

    async def cancel_thread(self):
        await self.cancel("threads", "sync")

    async def new_message(self, agent="snake", *sync):
        await self.snake(agent, *sync)
        task = await self.answer(agent, "listen", now=True)
        await self.reach(agent, task, lambda task: end(task)[1] == "Listening.")
        task = await self.answer(agent, "hear me", task_id=task.id)
        equal((end(task)[0], text_of(task.artifacts[0])), ("COMPLETED", "hear me"))

    async def new_message_to_thread(self):
        await self.new_message("threads", "sync")

    async def direct(self):
        await self.snake("quick")
        said = await self.answer("quick", "reply at once")
        assert isinstance(said, pb.Message), said
        equal(text_of(said), "at once")
        equal(end(await self.answer("quick", "say more"))[0], "COMPLETED")

    # What dies, leaves and is lost.

    async def killed_while_streaming(self):
        first = await self.snake("mortal")
        task = await self.answer("mortal", "stream 30 0.1", now=True)
        await self.reach("mortal", task, lambda task: task.artifacts and "5;" in text_of(task.artifacts[0]))
        await first.stop(signal.SIGKILL)
        partial = await self.get("mortal", task)
        assert end(partial)[0] == "WORKING" and "29;" not in text_of(partial.artifacts[0]), partial
        second = await self.snake("mortal")
        task = await self.reach("mortal", task, lambda task: end(task)[0] == "COMPLETED")
        equal([text_of(each) for each in task.artifacts], ["".join(f"{n};" for n in range(30))])
        notes = second.notes()
        equal(len(notes), 1)
        assert notes[0].endswith("unfinished"), notes

    async def stopped(self):
        first = await self.snake("leaving")
        short = await self.answer("leaving", "sit 2", now=True)
        long = await self.answer("leaving", "sit 60", now=True)
        for task in (short, long):
            await self.reach("leaving", task, lambda task: end(task)[1] == "Sitting.")
        took = await first.stop()
        equal(first.child.returncode, 0)
        assert took < 12, f"stopping took {took:.1f} s"
        equal(first.notes()[-2:], ["cancelled for the stop", "ended"])
        equal(text_of((await self.get("leaving", short)).artifacts[0]), "sat 2", "what finished within the grace")
        # The other one was given back, and does not wait for the end of its lease of 30 s.
        second = await self.snake("leaving")
        await until("the second worker's turn", lambda: any(note.startswith("sit attempt") for note in second.notes()), 15)
        equal(end(await (await self.client("leaving")).cancel_task(pb.CancelTaskRequest(id=long.id)))[0], "CANCELED")
        # Heartbeats come every 10 s here; the control stream tells at once.
        await until("the end of the canceled turn", lambda: "cancelled TASK_STATE_CANCELED" in second.notes(), 5)

    async def stopped_while_idle(self):
        worker = await self.snake("leaving")
        await self.answer("leaving", "say this")
        took = await worker.stop()
        assert worker.child.returncode == 0 and took < 5, f"stopping took {took:.1f} s, exit {worker.child.returncode}"

    async def drained(self):
        worker = await self.snake("leaving")
        await self.answer("leaving", "say this")
        task = await self.answer("leaving", "sit 3", now=True)
        await self.reach("leaving", task, lambda task: end(task)[1] == "Sitting.")
        session = next(note.partition(" ")[2] for note in worker.notes() if note.startswith("session "))
        answer = await self.http.post(f"{self.urls[0]}/worker/v1/sessions/{session}:drain", json={})
        equal(answer.status_code, 200, answer.text)
        await worker.noted("draining")
        later = await self.answer("leaving", "say later", now=True)
        equal(text_of((await self.reach("leaving", task, lambda task: task.artifacts)).artifacts[0]), "sat 3")
        equal(end(await self.get("leaving", later))[0], "SUBMITTED", "what came after the drain")
        equal((await worker.stop(), worker.child.returncode)[1], 0)
        await self.snake("leaving")
        await self.reach("leaving", later, lambda task: end(task)[0] == "COMPLETED")

    async def lost_answers(self):
        # Every third report's; and that of a poll that brings a task.
        polls = iter([True])

        def lose(kind, count, content):
            return count % 3 == 0 if kind == "apply" else kind == "poll" and b'"epoch"' in content and next(polls, False)

        proxy = LossyProxy(self.urls[-1], lose)
        self.stack.callback(proxy.close)
        await self.snake("lossy", url=proxy.url)
        equal(text_of((await self.answer("lossy", "say it again")).artifacts[0]), "say it again")
        equal(proxy.lost, ["poll"])
        tasks = await asyncio.gather(*(self.answer("lossy", "stream 20 0.08") for _ in range(3)))
        for task in tasks:
            equal((end(task)[0], [text_of(each) for each in task.artifacts]), ("COMPLETED", ["".join(f"{n};" for n in range(20))]))
        tasks = [await self.answer("lossy", f"say {n}") for n in range(6)]
        equal([text_of(task.artifacts[0]) for task in tasks], [f"say {n}" for n in range(6)])
        assert len(proxy.lost) >= 10, f"only {len(proxy.lost)} answers were lost"

    # The adapter.

    async def executor_outcomes(self):
        await self.performer()
        task = await self.answer("performer", "stream 5")
        equal((end(task), [text_of(each) for each in task.artifacts]), (("COMPLETED", "Done."), ["0;1;2;3;4;"]))
        equal(text_of((await self.answer("performer", "append 3")).artifacts[0]), "0;1;2;")
        equal(end(await self.answer("performer", "fail no luck")), ("FAILED", "no luck"))
        equal(end(await self.answer("performer", "reject not mine")), ("REJECTED", "not mine"))
        equal(end(await self.answer("performer", "raise a fault")), ("FAILED", "a fault"))
        equal(end(await self.answer("performer", "say words")), ("COMPLETED", "words"))
        for words in ("silent", "mixed"):
            equal(end(await self.answer("performer", words))[0], "FAILED", words)

    async def executor_stream(self):
        await self.performer()
        request = pb.SendMessageRequest(message=message("stream 5"))
        items = [item async for item in (await self.client("performer", True)).send_message(request)]
        kinds = [item.WhichOneof("payload") for item in items]
        equal(kinds, ["task", "status_update", *["artifact_update"] * 5, "status_update"])
        chunks = [item.artifact_update for item in items if item.HasField("artifact_update")]
        equal([chunk.append for chunk in chunks], [False, True, True, True, True])
        equal([chunk.last_chunk for chunk in chunks], [False, False, False, False, True])

    async def executor_afterwards(self):
        worker = await self.performer("mortal-performer")
        # What an executor does after the end is its own affair, and nobody waits for it.
        equal(end(await self.answer("mortal-performer", "raise-after a fault")), ("COMPLETED", "Done."))
        began = time.monotonic()
        equal(end(await self.answer("mortal-performer", "tidy 5")), ("COMPLETED", "Done."))
        assert time.monotonic() - began < 4, "the client waited"
        await worker.noted("tidied")
        # Authorized while it waits for that itself.
        task = await self.answer("mortal-performer", "resume 1")
        task = await self.reach("mortal-performer", task, lambda task: end(task)[0] == "COMPLETED")
        equal(end(task), ("COMPLETED", "Done."))

    async def executor_turns(self):
        await self.performer()
        task = await self.answer("performer", "ask")
        equal(end(task), ("INPUT_REQUIRED", "What?"))
        task = await self.answer("performer", "that", task_id=task.id)
        equal((end(task)[0], text_of(task.artifacts[0])), ("COMPLETED", "['ask'] What? that"))
        # It does not return, and its client is asked all the same.
        task = await self.answer("performer", "auth")
        equal(end(task), ("AUTH_REQUIRED", "May I?"))
        # Written while it works: the next call of execute().
        task = await self.answer("performer", "listen 3", now=True)
        await self.reach("performer", task, lambda task: end(task)[0] == "WORKING")
        task = await self.answer("performer", "then this", task_id=task.id)
        equal((end(task), text_of(task.artifacts[0])), (("COMPLETED", "Done."), "this"))

    async def executor_cancel(self):
        worker = await self.performer()
        task = await self.answer("performer", "sit 60", now=True)
        await self.reach("performer", task, lambda task: end(task)[1] == "Performing.")
        canceled = await (await self.client("performer")).cancel_task(pb.CancelTaskRequest(id=task.id))
        equal(end(canceled)[0], "CANCELED")
        await worker.noted("execute cancelled")
        equal(worker.notes(), ["cancel True", "execute cancelled"])
        equal(end(await self.get("performer", task))[0], "CANCELED")

    async def executor_killed(self):
        first = await self.performer("mortal-performer")
        # It sends even its first chunk as one to append.
        task = await self.answer("mortal-performer", "append 40", now=True)
        await self.reach("mortal-performer", task, lambda task: task.artifacts and "5;" in text_of(task.artifacts[0]))
        await first.stop(signal.SIGKILL)
        assert "39;" not in text_of((await self.get("mortal-performer", task)).artifacts[0])
        await self.performer("mortal-performer")
        task = await self.reach("mortal-performer", task, lambda task: end(task)[0] == "COMPLETED")
        equal([text_of(each) for each in task.artifacts], ["".join(f"{n};" for n in range(40))])

    async def executor_direct(self):
        await self.performer("quick-performer")
        said = await self.answer("quick-performer", "say at once")
        assert isinstance(said, pb.Message), said
        equal(text_of(said), "at once")
        equal(end(await self.answer("quick-performer", "stream 2"))[0], "COMPLETED")


# Columns at the same time, since most of it is waiting; no two of them share an agent that one of them kills.
COLUMNS = {
    "README": ["readme_package", "readme_executor"],
    "package": ["outcomes", "streams", "batches", "busy", "cancel", "new_message", "direct"],
    "threads": ["outcomes_of_threads", "streams_of_threads", "busy_thread", "cancel_thread", "new_message_to_thread"],
    "losses": ["killed_while_streaming", "stopped", "stopped_while_idle", "drained", "lost_answers"],
    "executor losses": ["executor_killed", "executor_afterwards"],
    "executor": ["executor_outcomes", "executor_stream", "executor_turns", "executor_cancel", "executor_direct"],
}


async def main():
    results, *urls = sys.argv[1:]
    examples = os.path.join(os.path.dirname(results), "workers")
    urls = [url.rstrip("/") for url in urls]
    runs = await asyncio.gather(
        *(
            run(f"Workers {column}", [(name, getattr(Suite, name)) for name in names], lambda: Suite(examples, urls))
            for column, names in COLUMNS.items()
        )
    )
    with open(results, "a", encoding="utf-8") as out:
        out.writelines(line for lines, _ in runs for line in lines)
    return 0 if all(passed for _, passed in runs) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
