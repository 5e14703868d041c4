// The official JavaScript SDK's client against a running Taskyard, over every binding it speaks.
//
// Usage: node suite.js RESULTS URL [URL]
//
// URL is the base of the default agent; with two of them, of two replicas, whatever continues a task goes to the other one.
// RESULTS gets a line for each check: column, check, result, separated by tabs. The exit code is 1 when a check failed.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  Message,
  Role,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
  taskStateToJSON,
} from '@a2a-js/sdk';
import {
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';

const BINDINGS = {
  JSONRPC: JsonRpcTransportFactory,
  'HTTP+JSON': RestTransportFactory,
  GRPC: GrpcTransportFactory,
};
const LOYALTY = 'https://example.com/loyalty/v1';
// Longer than any check takes: what hangs fails.
const LONGEST = 40_000;

const message = (text, fields = {}) => ({
  messageId: randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text }],
  ...fields,
});
const params = (message, configuration) => SendMessageRequest.fromJSON({ message, configuration });
const textOf = (artifact) => artifact.parts.map((part) => part.content.value).join('');
const state = (task) => taskStateToJSON(task.status.state).replace('TASK_STATE_', '');
const isOpen = (task) => ['SUBMITTED', 'WORKING'].includes(state(task));
const kindOf = (item) => item.payload.$case;

async function collect(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}

async function first(stream) {
  const { value, done } = await stream.next();
  assert(!done, 'the stream is empty');
  return value;
}

// Waits for the error that `call` has to end with, and gives it back. Each binding has a class of its own for every kind;
// they are of one name.
async function fails(kind, call) {
  let found;
  try {
    found = await call;
  } catch (error) {
    assert.equal(error.name, kind, `wanted ${kind}, found ${error.stack}`);
    return error;
  }
  assert.fail(`wanted ${kind}, found ${JSON.stringify(found)}`);
}

// A webhook's other end.
class Receiver {
  posts = [];

  static async start() {
    const receiver = new Receiver();
    receiver.server = http.createServer(async (request, answer) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      receiver.posts.push({ path: request.url, headers: request.headers, body: JSON.parse(body) });
      answer.end();
    });
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  url(path) {
    return `http://127.0.0.1:${this.server.address().port}${path}`;
  }

  // Every post up to the one that says the task is completed.
  async untilCompleted() {
    for (let tries = 0; tries < 300; tries++) {
      const end = this.posts.findIndex(({ body }) => body.statusUpdate?.status.state === 'TASK_STATE_COMPLETED');
      if (end >= 0) return this.posts.splice(0, end + 1);
      await sleep(50);
    }
    assert.fail(`the end was not posted: ${JSON.stringify(this.posts)}`);
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

// What every check has at hand, for one binding.
class Suite {
  clients = [];

  constructor(binding, urls) {
    this.binding = binding;
    this.urls = urls;
  }

  // The resolver takes the card's path as relative to the base, which so has to end with a slash.
  async client(url, clientConfig) {
    const factory = new ClientFactory({ transports: [new BINDINGS[this.binding]()], clientConfig });
    const client = await factory.createFromUrl(`${url}/`);
    assert.equal(client.transport.protocolName, this.binding);
    this.clients.push(client);
    return client;
  }

  agent(name) {
    return this.client(`${this.urls[0]}/agents/${name}`);
  }

  async start() {
    this.here = await this.client(this.urls[0]);
    this.there = await this.client(this.urls.at(-1));
  }

  // Only the gRPC transport holds something, and the client has no method that lets go of it.
  stop() {
    for (const client of this.clients) client.transport.grpcClient?.close();
  }

  send(words, { client = this.here, configuration, options, ...fields } = {}) {
    return client.sendMessage(params(message(words, fields), configuration), options);
  }

  begin(words) {
    return this.send(words, { configuration: { returnImmediately: true } });
  }

  stream(words, client = this.here, fields = {}, options = undefined) {
    return client.sendMessageStream(params(message(words, fields)), options);
  }

  get(task, { client = this.there, ...fields } = {}) {
    return client.getTask(GetTaskRequest.fromJSON({ id: task.id, ...fields }));
  }

  cancel(task, client = this.there) {
    return client.cancelTask(CancelTaskRequest.fromJSON({ id: task.id }));
  }

  subscribe(task, client = this.there, options = undefined) {
    return client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: task.id }), options);
  }

  // What is below a client, without its checks; what it adds to a request has to be given. gRPC leads to an agent by the tenant
  // of its interface.
  bare({ transport, agentCard }) {
    const { tenant } = agentCard.supportedInterfaces.find((each) => each.protocolBinding === this.binding);
    return { transport, tenant, options: { serviceParameters: { 'A2A-Version': '1.0' } } };
  }

  async hook(task, fields, client = this.here) {
    return client.createTaskPushNotificationConfig(
      TaskPushNotificationConfig.fromJSON({ taskId: task.id, ...fields }),
    );
  }

  async reach(task, wanted) {
    for (let tries = 0; tries < 200; tries++) {
      task = await this.get(task);
      if (state(task) === wanted) return task;
      await sleep(50);
    }
    assert.fail(`the task stays ${state(task)}`);
  }
}

const CHECKS = {
  async cards(on) {
    let task;
    for (const [path, name] of [
      ['', 'demo'],
      ['/agents/demo', 'demo'],
      ['/agents/plain', 'plain'],
    ]) {
      const client = await on.client(on.urls[0] + path);
      const card = client.agentCard;
      assert.equal(card.name, name);
      // Others of an older version may stand beside them.
      const current = card.supportedInterfaces.filter((each) => each.protocolVersion === '1.0');
      assert.deepEqual(current.map((each) => each.protocolBinding).sort(), Object.keys(BINDINGS).sort());
      assert(card.description && card.version && card.defaultInputModes.length && card.defaultOutputModes.length);
      assert(card.skills.length && card.skills.every((skill) => skill.tags.length));
      // The card leads to its own agent, over this binding.
      task = await on.send(`to ${name}`, { client });
      assert.deepEqual([state(task), textOf(task.artifacts[0])], ['COMPLETED', `to ${name}`]);
    }
    // Nobody else's agent has that task.
    await fails('TaskNotFoundError', on.get(task, { client: on.here }));
  },

  async 'send and wait'(on) {
    let task = await on.send('hello');
    assert.equal(state(task), 'COMPLETED');
    assert.deepEqual(task.artifacts.map(textOf), ['hello']);
    assert.deepEqual(task.history.map((each) => [each.role, textOf(each)]), [[Role.ROLE_USER, 'hello']]);
    assert(task.contextId);
    assert.deepEqual([task.history[0].taskId, task.history[0].contextId], [task.id, task.contextId]);
    assert.deepEqual(await on.get(task), task);
    task = await on.send('wait 1');
    assert.deepEqual([state(task), textOf(task.artifacts[0])], ['COMPLETED', 'Waited 1 seconds.']);
    for (const [words, end, why] of [
      ['fail no luck', 'FAILED', 'no luck'],
      ['reject not mine', 'REJECTED', 'not mine'],
    ]) {
      task = await on.send(words);
      assert.deepEqual([state(task), textOf(task.status.message)], [end, why]);
    }
  },

  async 'every kind of part'(on) {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
    const sent = message('', {
      parts: [
        { text: 'words', metadata: { language: 'en' } },
        { raw: bytes.toString('base64'), filename: 'bytes.bin', mediaType: 'application/octet-stream' },
        { url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
        { data: { a: [1, 2.5, null, { b: true }], ü: 'é' }, mediaType: 'application/json' },
      ],
    });
    const task = await on.here.sendMessage(params(sent));
    assert.deepEqual(task.artifacts[0].parts, Message.fromJSON(sent).parts);
  },

  async 'send and poll'(on) {
    const began = performance.now();
    const task = await on.begin('wait 2');
    assert(performance.now() - began < 1800, 'returnImmediately waited');
    assert(isOpen(task), state(task));
    assert.equal(textOf((await on.reach(task, 'COMPLETED')).artifacts[0]), 'Waited 2 seconds.');
  },

  async stream(on) {
    const items = await collect(on.stream('stream 5'));
    const kinds = ['task', 'statusUpdate', ...Array(5).fill('artifactUpdate'), 'statusUpdate'];
    assert.deepEqual(items.map(kindOf), kinds);
    const [task, working, ...chunks] = items.map((item) => item.payload.value);
    const end = chunks.pop();
    assert.deepEqual([task, working, end].map(state), ['SUBMITTED', 'WORKING', 'COMPLETED']);
    assert.deepEqual(
      chunks.map(({ artifact, append, lastChunk }) => [artifact.artifactId, textOf(artifact), append, lastChunk]),
      [1, 2, 3, 4, 5].map((n) => ['stream', `chunk ${n} of 5\n`, n > 1, n === 5]),
    );
    for (const event of [working, ...chunks, end]) {
      assert.deepEqual([event.taskId, event.contextId], [task.id, task.contextId]);
    }
    const text = chunks.map((chunk) => textOf(chunk.artifact)).join('');
    assert.deepEqual((await on.get(task)).artifacts.map(textOf), [text]);
  },

  async subscribe(on) {
    const task = await on.begin('wait 2');
    // Two subscribers of two replicas see the same events.
    const streams = await Promise.all([collect(on.subscribe(task, on.here)), collect(on.subscribe(task))]);
    for (const [start, ...events] of streams) {
      assert.deepEqual([kindOf(start), start.payload.value.id], ['task', task.id]);
      assert(isOpen(start.payload.value), state(start.payload.value));
      assert(events.every((item) => kindOf(item) !== 'task'));
      assert.equal(state(events.at(-1).payload.value), 'COMPLETED');
      const made = events.filter((item) => kindOf(item) === 'artifactUpdate');
      assert.deepEqual(made.map((item) => textOf(item.payload.value.artifact)), ['Waited 2 seconds.']);
    }
    const shorter = Math.min(...streams.map((items) => items.length)) - 1;
    assert(shorter >= 3, JSON.stringify(streams));
    assert.deepEqual(streams[0].slice(-shorter), streams[1].slice(-shorter));
  },

  async resubscribe(on) {
    // The connection goes, and so does the replica.
    const cut = new AbortController();
    const begun = on.stream('wait 2', on.here, {}, { signal: cut.signal });
    const task = (await first(begun)).payload.value;
    cut.abort();
    await begun.next().catch(() => {});
    const again = on.subscribe(task);
    const item = await first(again);
    assert.deepEqual([kindOf(item), item.payload.value.id], ['task', task.id]);
    assert(isOpen(item.payload.value));
    await again.return();
    const items = await collect(on.subscribe(task, on.here));
    assert.equal(items[0].payload.value.id, task.id);
    assert.equal(state(items.at(-1).payload.value), 'COMPLETED');
  },

  async 'subscribe to a question'(on) {
    const task = await on.send('ask');
    assert.equal(state(task), 'INPUT_REQUIRED');
    const stream = on.subscribe(task);
    assert.equal(state((await first(stream)).payload.value), 'INPUT_REQUIRED');
    // It stays open until the question is answered, by a client of the other replica.
    const answer = on.send('this', { taskId: task.id, contextId: task.contextId });
    const items = await collect(stream);
    assert.equal(state(items.at(-1).payload.value), 'COMPLETED');
    const made = items.filter((item) => kindOf(item) === 'artifactUpdate');
    assert.deepEqual(made.map((item) => textOf(item.payload.value.artifact)), ['this']);
    assert.equal(state(await answer), 'COMPLETED');
  },

  async 'several turns'(on) {
    const task = await on.send('ask');
    assert.deepEqual([state(task), textOf(task.status.message)], ['INPUT_REQUIRED', 'What shall I give back?']);
    assert.equal(task.status.message.role, Role.ROLE_AGENT);
    // With the task's id alone: the context is the task's.
    const done = await on.send('this', { client: on.there, taskId: task.id });
    assert.deepEqual([done.id, done.contextId, state(done)], [task.id, task.contextId, 'COMPLETED']);
    assert.deepEqual(done.artifacts.map(textOf), ['this']);
    // A status message enters the history when the status goes, so the question stands after its answer.
    const of = (role) => done.history.filter((each) => each.role === role).map(textOf);
    assert.deepEqual(of(Role.ROLE_USER), ['ask', 'this']);
    assert.deepEqual(of(Role.ROLE_AGENT), ['What shall I give back?']);
    assert.deepEqual((await on.get(done, { historyLength: 1 })).history, done.history.slice(-1));
    assert.deepEqual((await on.get(done, { historyLength: 0 })).history, []);
    // A task after it in the same context, which refers to it.
    const after = await on.send('more', { contextId: task.contextId, referenceTaskIds: [task.id] });
    assert.equal(after.contextId, task.contextId);
    assert.notEqual(after.id, task.id);
    assert.deepEqual(after.history[0].referenceTaskIds, [task.id]);
    // Streamed, a question ends the answer to the send, and not the task.
    let items = await collect(on.stream('ask'));
    assert.equal(state(items.at(-1).payload.value), 'INPUT_REQUIRED');
    items = await collect(on.stream('that', on.there, { taskId: items[0].payload.value.id }));
    assert.equal(kindOf(items[0]), 'task');
    assert.equal(state(items.at(-1).payload.value), 'COMPLETED');
  },

  async authorization(on) {
    const task = await on.send('auth');
    assert.equal(state(task), 'AUTH_REQUIRED');
    const done = await on.send('yes', { client: on.there, taskId: task.id });
    assert.deepEqual([state(done), textOf(done.artifacts[0])], ['COMPLETED', 'Authorized, thank you.']);
  },

  async 'list with paging'(on) {
    const contextId = randomUUID();
    const wanted = [];
    for (let n = 0; n < 5; n++) wanted.unshift((await on.send(`number ${n}`, { contextId })).id);
    wanted.unshift((await on.send('ask', { contextId })).id);
    const list = (client, fields) => client.listTasks(ListTasksRequest.fromJSON({ contextId, ...fields }));
    const found = [];
    let pageToken = '';
    for (const client of [on.here, on.there, on.here]) {
      const page = await list(client, { pageSize: 2, pageToken });
      assert.deepEqual([page.pageSize, page.totalSize, page.tasks.length], [2, 6, 2]);
      assert(page.tasks.every((task) => task.contextId === contextId && task.artifacts.length === 0));
      found.push(...page.tasks.map((task) => task.id));
      pageToken = page.nextPageToken;
    }
    assert.deepEqual([found, pageToken], [wanted, ''], 'the pages, newest first');
    const status = 'TASK_STATE_COMPLETED';
    const page = await list(on.there, { status, includeArtifacts: true, historyLength: 0 });
    assert.deepEqual(page.tasks.map((task) => task.id), wanted.slice(1));
    const made = page.tasks.map((task) => textOf(task.artifacts[0]));
    assert.deepEqual(made, [4, 3, 2, 1, 0].map((n) => `number ${n}`));
    assert(page.tasks.every((task) => task.history.length === 0));
    const late = new Date(Date.now() + 3_600_000).toISOString();
    assert.deepEqual((await list(on.here, { statusTimestampAfter: late })).tasks, []);
    const none = await list(on.here, { contextId: randomUUID() });
    assert.deepEqual([none.tasks, none.totalSize, none.nextPageToken], [[], 0, '']);
  },

  async cancel(on) {
    const task = await on.begin('wait 60');
    const stream = on.subscribe(task, on.here);
    await first(stream);
    const canceled = await on.cancel(task);
    assert.deepEqual([canceled.id, state(canceled)], [task.id, 'CANCELED']);
    assert.equal(state((await collect(stream)).at(-1).payload.value), 'CANCELED');
    assert.equal(state(await on.get(task)), 'CANCELED');
    assert.equal(state(await on.cancel(await on.send('ask'))), 'CANCELED');
  },

  async 'push configs'(on) {
    // Also on a finished task, and for a receiver that no name leads to.
    const task = await on.send('hello');
    const one = 'https://hooks.example.com/one';
    const authentication = { scheme: 'Bearer', credentials: 'secret' };
    const created = await on.hook(task, { id: 'mine', url: one, token: 't-1', authentication });
    assert.deepEqual([created.taskId, created.id, created.url], [task.id, 'mine', one]);
    assert.deepEqual([created.token, created.authentication], ['t-1', authentication]);
    const assigned = await on.hook(task, { url: 'https://hooks.example.com/two' }, on.there);
    assert(assigned.id && assigned.id !== 'mine', assigned.id);
    const mine = { taskId: task.id, id: 'mine' };
    const get = (client) =>
      client.getTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest.fromJSON(mine));
    const list = async (client) =>
      (await client.listTaskPushNotificationConfig(
        ListTaskPushNotificationConfigsRequest.fromJSON({ taskId: task.id }),
      )).configs;
    const read = await get(on.there);
    assert.deepEqual([read.taskId, read.id, read.url, read.authentication.scheme], [task.id, 'mine', one, 'Bearer']);
    // Only the answer to whoever set them says secrets.
    assert.deepEqual([read.token, read.authentication.credentials], ['', '']);
    assert.deepEqual((await list(on.here)).map((each) => each.id).sort(), ['mine', assigned.id].sort());
    // The same id replaces.
    await on.hook(task, { id: 'mine', url: 'https://hooks.example.com/three' }, on.there);
    const urls = (await list(on.here)).map((each) => each.url.split('/').at(-1));
    assert.deepEqual(urls.sort(), ['three', 'two']);
    // Deleting what is not there is fine.
    for (const client of [on.here, on.there]) {
      await client.deleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest.fromJSON(mine));
    }
    assert.deepEqual((await list(on.there)).map((each) => each.id), [assigned.id]);
    await fails('TaskNotFoundError', get(on.here));
  },

  async webhook(on) {
    const receiver = await Receiver.start();
    try {
      const configuration = {
        taskPushNotificationConfig: {
          url: receiver.url('/inline'),
          token: 't-1',
          authentication: { scheme: 'Bearer', credentials: 'secret' },
        },
      };
      let task = await on.send('stream 3', { configuration });
      assert.equal(state(task), 'COMPLETED');
      let posts = await receiver.untilCompleted();
      for (const { path, headers } of posts) {
        assert.equal(path, '/inline');
        assert.deepEqual([headers.authorization, headers['x-a2a-notification-token']], ['Bearer secret', 't-1']);
      }
      const kinds = ['task', 'statusUpdate', ...Array(3).fill('artifactUpdate'), 'statusUpdate'];
      assert.deepEqual(posts.map(({ body }) => Object.keys(body)[0]), kinds);
      const chunks = posts.flatMap(({ body }) => body.artifactUpdate?.artifact.parts ?? []);
      assert.equal(chunks.map((part) => part.text).join(''), textOf(task.artifacts[0]));
      // One that is registered while the task runs, over this binding too.
      task = await on.send('ask');
      await on.hook(task, { url: receiver.url('/later') }, on.there);
      await on.send('this', { taskId: task.id });
      posts = await receiver.untilCompleted();
      assert(posts.every(({ path }) => path === '/later'));
    } finally {
      receiver.close();
    }
  },

  async 'extended card'(on) {
    const card = await on.there.getAgentCard();
    assert.deepEqual([card.name, card.description], ['demo', 'The demo agent, for those who asked who it is.']);
  },

  async 'idempotency key'(on) {
    const options = { serviceParameters: { 'Idempotency-Key': randomUUID() } };
    const sent = params(message('once'));
    const tasks = [await on.here.sendMessage(sent, options), await on.there.sendMessage(sent, options)];
    assert.equal(tasks[0].id, tasks[1].id);
    // Without a key the same messageId is a new message.
    assert.notEqual((await on.here.sendMessage(sent)).id, tasks[0].id);
  },

  async 'error: task not found'(on) {
    const kind = 'TaskNotFoundError';
    const nobody = { id: randomUUID() };
    await fails(kind, on.get(nobody));
    await fails(kind, on.get({ id: 'no such id' }));
    await fails(kind, on.cancel(nobody));
    await fails(kind, on.send('hello', { taskId: nobody.id }));
    await fails(kind, first(on.subscribe(nobody)));
    await fails(kind, first(on.stream('hello', on.here, { taskId: nobody.id })));
    await fails(kind, on.hook(nobody, { url: 'https://hooks.example.com' }));
    const every = ListTaskPushNotificationConfigsRequest.fromJSON({ taskId: nobody.id });
    await fails(kind, on.here.listTaskPushNotificationConfig(every));
  },

  async 'error: not cancelable'(on) {
    const kind = 'TaskNotCancelableError';
    for (const words of ['hello', 'fail', 'reject']) await fails(kind, on.cancel(await on.send(words)));
    let task = await on.cancel(await on.send('ask'), on.here);
    await fails(kind, on.cancel(task));
    // An agent that lets nothing be canceled.
    const plain = await on.agent('plain');
    task = await on.send('ask', { client: plain });
    await fails(kind, on.cancel(task, plain));
  },

  async 'error: unsupported operation'(on) {
    const kind = 'UnsupportedOperationError';
    const task = await on.send('hello');
    await fails(kind, on.send('more', { client: on.there, taskId: task.id }));
    await fails(kind, first(on.subscribe(task)));
    await fails(kind, first(on.stream('more', on.here, { taskId: task.id })));
    // An agent without streams: the client sees it on the card and sends without; past that check it is refused.
    const plain = await on.agent('plain');
    const [item] = await collect(on.stream('hello', plain));
    assert.equal(state(item.payload.value), 'COMPLETED');
    const { transport, tenant, options } = on.bare(plain);
    await fails(kind, first(transport.sendMessageStream({ ...params(message('hello')), tenant }, options)));
    const subscribed = SubscribeToTaskRequest.fromJSON({ id: item.payload.value.id, tenant });
    await fails(kind, first(transport.resubscribeTask(subscribed, options)));
    // An agent without an extended card; the client itself would give back the one it has.
    const loyal = on.bare(await on.agent('loyal'));
    const { serviceParameters } = loyal.options;
    const request = GetExtendedAgentCardRequest.fromJSON({ tenant: loyal.tenant });
    const headers = { ...serviceParameters, ...ServiceParameters.create(withA2AExtensions(LOYALTY)) };
    await fails(kind, loyal.transport.getExtendedAgentCard(request, { serviceParameters: headers }));
  },

  async 'error: content type'(on) {
    const client = await on.agent('plain');
    const parts = [{ raw: Buffer.from('png').toString('base64'), mediaType: 'image/png' }];
    await fails('ContentTypeNotSupportedError', on.send('', { client, parts }));
  },

  async 'error: invalid params'(on) {
    const refused = async (words, call) => {
      const error = await fails('RequestMalformedError', call);
      assert(error.message.includes(words), error.message);
      if (on.binding === 'JSONRPC') assert.equal(error.envelopeCode, -32602);
      if (on.binding === 'HTTP+JSON') assert.equal(error.statusCode, 400);
      if (on.binding === 'GRPC') assert.equal(error.status, 3);
    };
    await refused('message.parts', on.send('', { parts: [] }));
    await refused('message.parts', first(on.stream('', on.here, { parts: [] })));
    await refused('message', on.here.sendMessage(SendMessageRequest.fromJSON({})));
    const list = (fields) => on.here.listTasks(ListTasksRequest.fromJSON(fields));
    await refused('pageSize', list({ pageSize: 101 }));
    await refused('pageToken', list({ pageToken: 'no such token' }));
    await refused('historyLength', list({ historyLength: -1 }));
    await refused('url', on.hook(await on.send('hello'), { url: 'ftp://hooks.example.com' }));
    const { id: taskId } = await on.send('ask');
    await refused('contextId', on.send('this', { taskId, contextId: randomUUID() }));
  },

  async 'error: push not supported'(on) {
    const kind = 'PushNotificationNotSupportedError';
    const client = await on.agent('plain');
    const task = await on.send('hello', { client });
    const config = { url: 'https://hooks.example.com' };
    // The client sees it on the card and asks nobody; past that check it is refused.
    await fails(kind, on.hook(task, config, client));
    const { transport, tenant, options } = on.bare(client);
    const asked = TaskPushNotificationConfig.fromJSON({ taskId: task.id, tenant, ...config });
    await fails(kind, transport.createTaskPushNotificationConfig(asked, options));
    await fails(kind, on.send('hello', { client, configuration: { taskPushNotificationConfig: config } }));
  },

  async 'error: no extended card'(on) {
    await fails('ExtendedAgentCardNotConfiguredError', (await on.agent('plain')).getAgentCard());
  },

  async 'error: extension required'(on) {
    const kind = 'ExtensionSupportRequiredError';
    const client = await on.agent('loyal');
    await fails(kind, on.send('hello', { client }));
    await fails(kind, client.listTasks(ListTasksRequest.fromJSON({})));
    const options = { serviceParameters: ServiceParameters.create(withA2AExtensions(LOYALTY)) };
    assert.equal(state(await on.send('hello', { client, options })), 'COMPLETED');
  },

  async 'error: version not supported'(on) {
    // The client sets its own version over a caller's; an interceptor comes after that.
    const before = async ({ options }) => {
      options.serviceParameters = { ...options.serviceParameters, 'A2A-Version': '99.0' };
    };
    const client = await on.client(on.urls[0], { interceptors: [{ before, after: async () => {} }] });
    const kind = 'VersionNotSupportedError';
    await fails(kind, client.listTasks(ListTasksRequest.fromJSON({})));
    await fails(kind, on.send('hello', { client }));
    await fails(kind, first(on.stream('hello', client)));
  },
};

async function within(milliseconds, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`takes longer than ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Every check over one binding, one after the other: a line for each, and whether all passed.
async function run(binding, urls) {
  const lines = [];
  let passed = true;
  for (const [name, check] of Object.entries(CHECKS)) {
    const suite = new Suite(binding, urls);
    let result = 'ok';
    try {
      await within(LONGEST, suite.start().then(() => check(suite)));
    } catch (error) {
      passed = false;
      result = 'FAILED';
      console.error(`JS ${binding}, ${name}:\n${error.stack}\n`);
    }
    suite.stop();
    console.log(`${result.padEnd(6)}  JS ${binding}  ${name}`);
    lines.push(`JS ${binding}\t${name}\t${result}\n`);
  }
  return { lines, passed };
}

const [results, ...given] = process.argv.slice(2);
const urls = given.map((url) => url.replace(/\/+$/, ''));
// At the same time: most of it is waiting.
const runs = await Promise.all(Object.keys(BINDINGS).map((binding) => run(binding, urls)));
appendFileSync(results, runs.flatMap((each) => each.lines).join(''));
// Connections that are kept alive would hold the process.
process.exit(runs.every((each) => each.passed) ? 0 : 1);
