import { SendMessageRequest } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';

const factory = new ClientFactory({ transports: [new GrpcTransportFactory()] });
const client = await factory.createFromUrl('http://127.0.0.1:8080/');
const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'stream 3' }] };
for await (const { payload } of client.sendMessageStream(SendMessageRequest.fromJSON({ message }))) {
  console.dir(payload, { depth: null });
}
