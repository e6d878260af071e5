import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { messageTraceId, recordMessageTraces } from '#db/connection/message-traces.ts';
import { startTracing } from '#providers/tracing.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { type Endpoint, registerWebhook, startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import {
  type ReceivedSpan,
  startTracesReceiver,
  type TracesReceiver,
} from '#test/support/traces-receiver.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const ANYBODY = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const REQUEST_ID = 'the-request-of-the-test';
const TEXT = 'A text that nobody else reads';

let receiver: TracesReceiver;
let stopTracing: () => Promise<void>;
let app: OwnApp;
let to: string;
let lineId: string;
let messageId: string;
let endpoint: Endpoint;

beforeAll(async () => {
  receiver = await startTracesReceiver();
  stopTracing = await startTracing('test', { endpoint: receiver.url, ratio: 1 }, recordMessageTraces);
  app = await startTestApp();
  const { id, key } = await createWorkspace(app);
  lineId = await createLine(app, id);
  to = phone();
  const call = apiClient(app.url, key);
  endpoint = await startEndpoint();
  await registerWebhook(call, endpoint.url, { events: ['message.sent'] });
  const { body } = await call(
    'POST',
    '/api/messages',
    { message: TEXT, recipientPhone: to },
    { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`, 'x-request-id': REQUEST_ID },
  );
  messageId = body._id;
  await apiClient(app.url, '')('GET', '/healthz', undefined, {
    traceparent: `00-${ANYBODY.traceId}-${ANYBODY.spanId}-01`,
  });
  await eventually(async () => (await call('GET', `/api/messages/${messageId}`)).body.status === 'delivered');
  await eventually(async () => endpoint.received.length === 1);
  await app.stop();
  await stopTracing();
});
afterAll(() => receiver.close());

const ofMessage = () => receiver.spans.filter(({ traceId }) => traceId === messageTraceId(messageId));
const spanOf = (name: string): ReceivedSpan => {
  const span = ofMessage().find((found) => found.name === name);
  if (!span) throw new Error(`there is no span ${name}`);
  return span;
};
const attributeOf = ({ attributes }: ReceivedSpan, key: string): unknown =>
  attributes.find((attribute) => attribute.key === key)?.value['stringValue'];
/** The span of the request or activity in which a moment of the message happened. */
const linked = (name: string): ReceivedSpan => {
  const [link] = spanOf(name).links ?? [];
  const span = receiver.spans.find(({ spanId }) => spanId === link?.spanId);
  if (!span) throw new Error(`${name} is not linked to a span`);
  return span;
};

test('a request without a credential begins a trace of its own, which is linked to the given one', () => {
  expect(receiver.spans.filter(({ traceId }) => traceId === ANYBODY.traceId)).toEqual([]);
  const span = receiver.spans.find(({ name }) => name === 'GET /healthz');
  expect(span?.links).toMatchObject([{ traceId: ANYBODY.traceId, spanId: ANYBODY.spanId }]);
});

describe('the trace of a message', () => {
  it('goes from its request through its activity and its carrier to its receipt', () => {
    const names = ofMessage().map(({ name }) => name);
    expect(names.toSorted()).toEqual([
      'carrier send',
      'message accepted',
      'message delivered',
      'message sent',
      'webhook delivery',
    ]);
    const root = spanOf('message accepted');
    expect(root.parentSpanId ?? '').toBe('');
    for (const span of ofMessage())
      if (span !== root && span.name !== root.name) expect(span.parentSpanId).toBe(root.spanId);
    expect(attributeOf(spanOf('carrier send'), 'linepace.outcome')).toBe('accepted');
  });

  it('is linked to the request, which continues the trace of its caller, and to the activity of its pacer', () => {
    const request = linked('message accepted');
    expect(request).toMatchObject({ name: 'POST /api/messages', traceId: CALLER.traceId });
    expect(request.parentSpanId).toBe(CALLER.spanId);
    expect(attributeOf(request, 'linepace.request_id')).toBe(REQUEST_ID);
    for (const name of ['carrier send', 'message sent']) {
      expect(linked(name).name).toBe('activity sendAtOnce');
      expect(attributeOf(linked(name), 'temporalWorkflowID')).toBe(linePacerId(lineId));
    }
    expect(linked('message delivered').name).toBe('POST /callbacks/carriers/{carrier}/{lineId}');
  });

  it('goes on at the endpoint of the webhook', () => {
    const span = spanOf('webhook delivery');
    expect(endpoint.received[0]?.headers['traceparent']).toBe(
      `00-${messageTraceId(messageId)}-${span.spanId}-01`,
    );
    expect(attributeOf(span, 'linepace.outcome')).toBe('success');
  });

  it('holds neither the text nor the number', () => {
    expect(receiver.text).toContain(messageId);
    expect(receiver.text).not.toContain(TEXT);
    expect(receiver.text).not.toContain(to.slice(1));
  });
});
