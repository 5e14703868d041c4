"""An executor of the official SDK, for the suite: nothing in the class knows of Taskyard. Usage: performer.py URL AGENT FILE"""

import asyncio
import sys

from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater
from a2a.types import TaskState

from taskyard_a2a import run_executor

url, agent, trace = sys.argv[1:]


def note(words):
    with open(trace, "a", encoding="utf-8") as out:
        out.write(words + "\n")


class Performer(AgentExecutor):
    async def execute(self, context, event_queue):
        verb, _, rest = context.get_user_input().partition(" ")
        task = context.current_task
        if verb == "say":
            return await event_queue.enqueue_event(new_text_message(rest))
        if not task:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)

        def words(text):
            return updater.new_agent_message([new_text_part(text)])

        if task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            question = task.status.message.parts[0].text
            heard = [part.text for message in task.history for part in message.parts if message.role == 1]
            await updater.add_artifact([new_text_part(f"{heard} {question} {context.get_user_input()}")], artifact_id="answer")
            return await updater.complete()
        await updater.start_work(words("Performing."))
        if verb == "stream":
            for n in range(int(rest)):
                last = n == int(rest) - 1
                await updater.add_artifact([new_text_part(f"{n};")], artifact_id="text", append=n > 0, last_chunk=last)
                await asyncio.sleep(0.05)
        elif verb == "append":
            for n in range(int(rest)):
                await updater.add_artifact([new_text_part(f"{n};")], artifact_id="text", append=True)
                await asyncio.sleep(0.05)
        elif verb == "ask":
            return await updater.requires_input(words("What?"))
        elif verb == "auth":
            await updater.requires_auth(words("May I?"))
            return await asyncio.sleep(60)
        elif verb == "fail":
            return await updater.failed(words(rest))
        elif verb == "reject":
            return await updater.reject(words(rest))
        elif verb == "raise":
            raise ValueError(rest)
        elif verb == "silent":
            return None
        elif verb == "mixed":
            return await event_queue.enqueue_event(new_text_message("too late"))
        elif verb == "sit":
            try:
                await asyncio.sleep(float(rest))
            except asyncio.CancelledError:
                note("execute cancelled")
                raise
        elif verb == "listen":
            await asyncio.sleep(float(rest))
            return None
        elif verb == "then":
            await updater.add_artifact([new_text_part(rest)], artifact_id="heard")
        elif verb == "resume":
            await updater.requires_auth(words("May I?"))
            await asyncio.sleep(float(rest))
            await updater.start_work()
            await asyncio.sleep(1)
        await updater.complete(words("Done."))
        if verb == "raise-after":
            raise ValueError(rest)
        if verb == "tidy":
            await asyncio.sleep(float(rest))
            note("tidied")

    async def cancel(self, context, event_queue):
        note(f"cancel {context.task_id == context.current_task.id}")
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


run_executor(Performer(), [agent], url=url)
