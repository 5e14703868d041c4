import asyncio, uuid
from a2a.client import ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest

async def main():
    client = await ClientFactory(ClientConfig()).create_from_url("http://127.0.0.1:8080")
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text="stream 3")])
    async for event in client.send_message(SendMessageRequest(message=message)):
        print(event)
    await client.close()

asyncio.run(main())
