"""An agent that tells a poem word by word, and asks whom it is for. Usage: python3 agent.py [AGENT]"""
import asyncio, sys
from taskyard_worker import Worker

worker = Worker("http://127.0.0.1:8080", sys.argv[1:] or ["mine"])

@worker.handler
async def poem(ctx):
    if len(ctx.messages) == 1:
        return ctx.ask_for_input("Whom is it for?")
    await ctx.progress(f"Thinking of {ctx.text}.")
    async with ctx.stream("poem") as out:
        for word in f"Roses are red, {ctx.text} is too.".split():
            await out.write(word + " ")
            await asyncio.sleep(0.1)

worker.run()
