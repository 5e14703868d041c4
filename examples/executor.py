"""An executor of the official SDK, as it would stand in its server. Usage: python3 executor.py [AGENT]"""
import sys
from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater
from taskyard_a2a import run_executor

class Greeter(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task
        if not task:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work(new_text_message("Greeting."))
        await updater.add_artifact([new_text_part(f"Hello, {context.get_user_input()}!")], artifact_id="greeting")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

run_executor(Greeter(), sys.argv[1:] or ["mine"], url="http://127.0.0.1:8080")
