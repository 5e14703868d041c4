// The round trip with the types that openapi-typescript made of the documents, and openapi-fetch.
//
// Usage: node suite.js RESULTS URL
//
// URL is that of a `taskyard dev` whose agent `plain` has no worker: this suite is it. RESULTS gets a line for each check: column,
// check, result, separated by tabs. The exit code is 1 when a check failed.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';

import createClient, { type Client } from 'openapi-fetch';

import type { components, paths } from './a2a.js';
import type { components as worked, paths as workerPaths } from './worker.js';

type Schemas = components['schemas'];

const [results, url] = process.argv.slice(2);
if (results === undefined || url === undefined) throw new Error('usage: node suite.js RESULTS URL');

const client = createClient<paths>({ baseUrl: url });
const header = { 'A2A-Version': '1.0' } as const;

const request = (text: string, atOnce = false): Schemas['SendMessageRequest'] => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
  configuration: { returnImmediately: atOnce, historyLength: 10 },
});

/** What an operation answered, which is not an error. */
function good<D, E>(answer: { data?: D; error?: E }): D & {} {
  assert.equal(answer.error, undefined);
  assert.ok(answer.data !== undefined && answer.data !== null);
  return answer.data;
}

function refused(answer: { error?: Schemas['ErrorResponse'] | undefined; response: Response }, code: number, reason: string) {
  assert.equal(answer.response.status, code);
  assert.equal(answer.error?.error.code, code);
  const [info] = answer.error.error.details;
  assert.equal(info?.reason, reason);
  return answer.error.error;
}

async function send(text: string, atOnce = false, by: Client<paths> = client): Promise<Schemas['Task']> {
  const answer = good(await by.POST('/message:send', { params: { header }, body: request(text, atOnce) }));
  assert.ok('task' in answer);
  return answer.task;
}

const checks: Record<string, () => Promise<void>> = {
  async card() {
    const card = good(await client.GET('/.well-known/agent-card.json'));
    assert.ok(card.capabilities.streaming);
    const extended = good(await client.GET('/extendedAgentCard', { params: { header } }));
    assert.notEqual(extended.description, card.description);
    refused(await client.GET('/.well-known/jwks.json'), 404, 'METHOD_NOT_FOUND');
  },

  async send() {
    const task = await send('hello');
    assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
    const part = task.artifacts?.[0]?.parts[0];
    assert.ok(part && 'text' in part);
    assert.equal(part.text, 'hello');
    assert.equal(task.history?.[0]?.role, 'ROLE_USER');
  },

  async parts() {
    const parts: Schemas['Part'][] = [
      { raw: 'aGk=', mediaType: 'application/octet-stream' },
      { url: 'https://example.com/a.png', filename: 'a.png' },
      { data: { a: [null, 1, true] } },
      { data: null },
      { text: '' },
    ];
    const message: Schemas['Message'] = { messageId: 'parts', role: 'ROLE_USER', parts };
    const answer = good(await client.POST('/message:send', { params: { header }, body: { message } }));
    assert.ok('task' in answer);
    const path = { id: answer.task.id };
    const task = good(await client.GET('/tasks/{id}', { params: { header, path } }));
    assert.deepEqual(task.history?.[0]?.parts, parts);
  },

  async 'get and list'() {
    const { id, contextId } = await send('listed');
    assert.ok(contextId);
    const query = { historyLength: 0 };
    const task = good(await client.GET('/tasks/{id}', { params: { header, path: { id }, query } }));
    assert.deepEqual([task.id, task.history ?? []], [id, []]);
    const filter = { contextId, status: 'TASK_STATE_COMPLETED', pageSize: 1, includeArtifacts: true } as const;
    const page = good(await client.GET('/tasks', { params: { header, query: filter } }));
    assert.deepEqual(page.tasks.map((task) => task.id), [id]);
    assert.deepEqual([page.pageSize, page.totalSize, page.nextPageToken], [1, 1, '']);
  },

  async cancel() {
    const path = { id: (await send('wait 30', true)).id };
    const canceled = good(await client.POST('/tasks/{id}:cancel', { params: { header, path }, body: {} }));
    assert.equal(canceled.status.state, 'TASK_STATE_CANCELED');
    refused(await client.POST('/tasks/{id}:cancel', { params: { header, path } }), 400, 'TASK_NOT_CANCELABLE');
  },

  async stream() {
    const params = { header: { ...header, 'Idempotency-Key': randomUUID() } };
    const text = good(
      await client.POST('/message:stream', { params, body: request('stream 3'), parseAs: 'text' }),
    );
    const items = text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line): Schemas['StreamResponse'] => JSON.parse(line.slice('data: '.length)));
    const [first, last] = [items[0], items.at(-1)];
    assert.ok(first && 'task' in first && last && 'statusUpdate' in last);
    assert.equal(last.statusUpdate.status.state, 'TASK_STATE_COMPLETED');
    assert.ok(items.some((item) => 'artifactUpdate' in item && item.artifactUpdate.append));
    const path = { id: first.task.id };
    const ended = await client.GET('/tasks/{id}:subscribe', { params: { header, path }, parseAs: 'text' });
    refused(ended, 400, 'UNSUPPORTED_OPERATION');
  },

  async 'push configs'() {
    const configs = '/tasks/{task_id}/pushNotificationConfigs';
    const { id: task_id } = await send('wait 30', true);
    const params = { header, path: { task_id } };
    const body: Schemas['TaskPushNotificationConfig'] = {
      url: 'http://127.0.0.1:2/hook',
      token: 't-1',
      authentication: { scheme: 'Bearer', credentials: 'secret' },
    };
    const { id } = good(await client.POST(configs, { params, body }));
    assert.ok(id);
    const one = { params: { header, path: { task_id, id } } };
    const found = good(await client.GET(`${configs}/{id}`, one));
    assert.deepEqual([found.url, found.token], [body.url, undefined]);
    const listed = good(await client.GET(configs, { params }));
    assert.deepEqual(listed.configs?.map((config) => config.id), [id]);
    assert.deepEqual(good(await client.DELETE(`${configs}/{id}`, one)), {});
    assert.ok((await client.GET(`${configs}/{id}`, one)).error);
  },

  async errors() {
    const nobody = { params: { header, path: { id: 'nobody' } } };
    refused(await client.GET('/tasks/{id}', nobody), 404, 'TASK_NOT_FOUND');
    const body = request('x');
    body.message.parts = [];
    const error = refused(await client.POST('/message:send', { params: { header }, body }), 400, 'INVALID_PARAMS');
    assert.deepEqual(error.details[1]?.fieldViolations?.map((violation) => violation.field), ['message.parts']);
  },

  async servers() {
    const { id } = await send('mine', false, createClient<paths>({ baseUrl: `${url}/t/generated/agents/demo` }));
    const one = { params: { header, path: { id } } };
    refused(await client.GET('/tasks/{id}', one), 404, 'TASK_NOT_FOUND');
    const short = createClient<paths>({ baseUrl: `${url}/generated` });
    assert.equal(good(await short.GET('/tasks/{id}', one)).id, id);
  },

  async worker() {
    const worker = createClient<workerPaths>({ baseUrl: `${url}/worker/v1` });
    const agents = ['plain'];
    const session = good(await worker.POST('/sessions', { body: { agents } }));
    assert.ok(session.leaseSeconds > 0);
    const { id } = await send('for you', true, createClient<paths>({ baseUrl: `${url}/agents/plain` }));
    const polled = good(await worker.POST('/leases:poll', { body: { agents, waitSeconds: 20, start: true } }));
    const [held] = polled.leases;
    assert.ok(held);
    assert.equal(held.task.id, id);
    const { lease, epoch } = held;
    const beat = good(await worker.POST('/leases:heartbeat', { body: { leases: [{ lease, epoch }] } }));
    assert.equal(beat.leases[0]?.held, true);
    const statusMessage: worked['schemas']['MessageDraft'] = { parts: [{ text: 'half' }] };
    const updates: worked['schemas']['Update'][] = [
      { progress: { statusMessage } },
      { artifact: { artifact: { artifactId: 'a', parts: [{ data: { n: 1 } }] } } },
    ];
    const under = { header: { 'Taskyard-Lease': lease, 'Taskyard-Epoch': epoch }, path: { id } };
    assert.ok(good(await worker.POST('/tasks/{id}:apply', { params: under, body: { updates } })).leaseHeld);
    const nameless = await worker.POST('/tasks/{id}:complete', { params: { path: { id } } });
    assert.equal(nameless.error?.error.details[0]?.reason, 'LEASE_REQUIRED');
    const done = good(await worker.POST('/tasks/{id}:complete', { params: under, body: { statusMessage } }));
    assert.equal(done.state, 'TASK_STATE_COMPLETED');
    const query = { agent: 'plain', state: 'TASK_STATE_COMPLETED', pageSize: 100 } as const;
    const seen = good(await worker.GET('/allTasks', { params: { query } }));
    assert.ok(seen.tasks.some((task) => task.id === id));
  },
};

for (const [name, check] of Object.entries(checks)) {
  let outcome = 'ok';
  try {
    await check();
  } catch (error) {
    console.error(`${name}:`, error);
    outcome = 'FAILED';
    process.exitCode = 1;
  }
  appendFileSync(results, `TypeScript\t${name}\t${outcome}\n`);
}
