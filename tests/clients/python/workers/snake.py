"""An agent written with the package, for the suite: it does what the first word of the message says.

Usage: snake.py URL AGENT FILE [sync]

FILE gets a line for what happens outside of tasks. With `sync` the handler is a plain function.
"""

import asyncio
import sys
import time

from taskyard_worker import Worker, data, file, text_of

url, agent, trace, *rest = sys.argv[1:]
worker = Worker(url, [agent], concurrency=4, grace=3.0)
postponed = set()


def note(words):
    with open(trace, "a", encoding="utf-8") as out:
        out.write(words + "\n")


def common(ctx, verb, rest):
    """What needs no waiting."""
    if verb == "ask":
        return ctx.ask_for_input("What?") if len(ctx.messages) == 1 else ctx.text
    if verb == "auth":
        return ctx.ask_for_auth("May I?") if len(ctx.messages) == 1 else ctx.complete("Thank you.")
    if verb == "fail":
        return ctx.fail(rest)
    if verb == "reject":
        return ctx.reject(rest)
    if verb == "raise":
        raise ValueError(rest)
    if verb == "reply":
        return ctx.reply(rest)
    if verb == "parts":
        return ["text", b"\0\xff", data({"a": [1, None]}), file("https://example.com/a.pdf", media_type="application/pdf")]
    if verb == "unprintable":
        return data(object())
    if verb == "later" and ctx.task_id not in postponed:
        postponed.add(ctx.task_id)
        return ctx.retry_later(0.2, "not yet")
    return None


async def drained(ctx):
    await ctx.draining.wait()
    note("draining")


async def handle(ctx):
    verb, _, rest = text_of(ctx.messages[0]).partition(" ")
    note(f"{verb} attempt {ctx.attempt} {'unfinished' if ctx.unfinished_artifacts else 'fresh'}")
    if verb == "say":
        note(f"session {worker.session}")
    if verb == "stream":
        count, pause = rest.split()
        await ctx.progress("Streaming.")
        async with ctx.stream("text", name="Text") as out:
            for n in range(int(count)):
                await out.write(f"{n};")
                await asyncio.sleep(float(pause))
        return None
    if verb == "many":
        for n in range(int(rest)):
            await ctx.artifact(f"{n}", f"a{n:04}")
        return None
    if verb == "sit":
        await ctx.progress("Sitting.")
        asyncio.ensure_future(drained(ctx))
        try:
            await asyncio.sleep(float(rest))
        except asyncio.CancelledError:
            note(f"cancelled {ctx.lost.state if ctx.lost else 'for the stop'}")
            raise
        return f"sat {rest}"
    if verb == "block":
        # What no author should do: nothing else in this event loop moves.
        time.sleep(float(rest))
        return f"attempt {ctx.attempt}"
    if verb == "listen":
        await ctx.progress("Listening.")
        return text_of(await ctx.next_message())
    return common(ctx, verb, rest) or ctx.text


def handle_in_thread(ctx):
    verb, _, rest = text_of(ctx.messages[0]).partition(" ")
    note(f"{verb} attempt {ctx.attempt}")
    if verb == "stream":
        count, pause = rest.split()
        ctx.progress("Streaming.")
        with ctx.stream("text") as out:
            for n in range(int(count)):
                out.write(f"{n};")
                time.sleep(float(pause))
        return None
    if verb == "sit":
        ctx.progress("Sitting.")
        if ctx.cancelled.wait(float(rest)):
            note(f"cancelled {ctx.lost.state}")
        return f"sat {rest}"
    if verb == "block":
        time.sleep(float(rest))
        return f"attempt {ctx.attempt}"
    if verb == "listen":
        ctx.progress("Listening.")
        return text_of(ctx.next_message())
    return common(ctx, verb, rest) or ctx.text


worker.handler(handle_in_thread if rest else handle)
worker.run()
note("ended")
