import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { messageTraceId } from '../../db/connection/message-traces.ts';
import { startEndpoint } from '../../test/support/endpoint.ts';
import { type ReceivedSpan, startTracesReceiver } from '../../test/support/traces-receiver.ts';
import { callerOf, contactNumber } from './support/callers.ts';
import { startProduct } from './support/product.ts';
import { type Bar, drawTimes } from './support/times.ts';
import { until } from './support/waiting.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * Draws where the time of a message goes, from its request to the customer's webhook, as its trace says: of messages of idle lines, one
 * after the other, the one that took the median. `npm run bench -- trace [--messages 50 --apart 200]`
 */
const { values: options } = parseArgs({
  options: { messages: { type: 'string', default: '50' }, apart: { type: 'string', default: '200' } },
});
/** A workspace may send 60 in a minute. */
const MESSAGES = Math.min(60, Number(options.messages));
const WARM_UP = 50;
const PICTURE = 'docs/images/message-trace.svg';
const EVENT = 'message.sent';

const receiver = await startTracesReceiver();
Object.assign(process.env, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER_ARG: '1' });
const product = await startProduct();
const endpoint = await startEndpoint();

const ms = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1000n) / 1000;

/** The spans of a message until its webhook was called, with those of the requests and activities in which they happened. */
function spansOf(messageId: string, spans: ReadonlyMap<string, ReceivedSpan>): ReceivedSpan[] {
  const own = [...spans.values()].filter(({ traceId }) => traceId === messageTraceId(messageId));
  const last = own.find(({ name, attributes }) => name === 'webhook delivery' && isOf(attributes, EVENT));
  if (!last) return [];
  const shown = own.filter(({ startTimeUnixNano }) => startTimeUnixNano <= last.startTimeUnixNano);
  const around = shown.flatMap(({ links = [] }) => links.flatMap(({ spanId }) => spans.get(spanId) ?? []));
  const byStart = [...new Set([...around, ...shown])].toSorted((a, b) =>
    a.startTimeUnixNano.localeCompare(b.startTimeUnixNano),
  );
  // The round of its webhooks may have begun with an earlier message.
  return byStart.slice(byStart.findIndex(({ name }) => name.startsWith('POST')));
}

/** Sends them in a workspace of their own. @returns their ids. */
async function send(count: number): Promise<string[]> {
  const { id, key, lineIds } = await createBenchWorkspace(product.pools, 10);
  await unpaced(product.pools, id);
  const call = callerOf(product.config, key);
  const hook = await call('POST', '/api/webhooks', { url: endpoint.url, events: [EVENT] });
  if (hook.status !== 201) throw new Error(`the webhook was refused with ${hook.status}`);
  const ids: string[] = [];
  endpoint.received.length = 0;
  for (let n = 0; n < count; n += 1) {
    const body = { message: 'Bench', recipientPhone: contactNumber(n), lineId: lineIds[n % lineIds.length] };
    const sent = await call('POST', '/api/messages', body);
    if (sent.status !== 201) throw new Error(`a message was answered with ${sent.status}`);
    ids.push(sent.body._id as string);
    await until(async () => endpoint.received.length > n);
    await pause(Math.random() * Number(options.apart));
  }
  return ids;
}

const isOf = (attributes: ReceivedSpan['attributes'], event: string): boolean =>
  attributes.some(({ key, value }) => key === 'linepace.event' && value['stringValue'] === event);

const lengthOf = (spans: readonly ReceivedSpan[]): number =>
  Math.max(...spans.map((span) => ms(span.endTimeUnixNano))) - ms(spans[0]?.startTimeUnixNano ?? '0');

function barsOf(spans: readonly ReceivedSpan[]): Bar[] {
  const began = ms(spans[0]?.startTimeUnixNano ?? '0');
  const bars = spans.map((span): Bar => {
    const { name } = span;
    const group = name.startsWith('POST') || name === 'message accepted' ? 'API' : 'worker';
    const isCall = name === 'carrier send' || name === 'webhook delivery';
    return {
      name,
      group: isCall ? 'calls of others' : group,
      from: ms(span.startTimeUnixNano) - began,
      to: ms(span.endTimeUnixNano) - began,
    };
  });
  const accepted = bars.find(({ name }) => name === 'message accepted');
  const activity = bars.find(({ name }) => name.startsWith('activity'));
  if (!accepted || !activity) throw new Error('the trace has no request or no activity');
  const signal = {
    name: 'signal and workflow task',
    group: 'Temporal',
    from: accepted.to,
    to: activity.from,
  };
  return [...bars, signal].toSorted((a, b) => a.from - b.from);
}

try {
  // Code that is not compiled, and the first statements of a connection, are slow.
  await send(WARM_UP);
  const messages = await send(MESSAGES);
  const traces = async () => {
    const spans = new Map(receiver.spans.map((span) => [span.spanId, span]));
    return messages.map((messageId) => spansOf(messageId, spans));
  };
  await until(async () => (await traces()).every(({ length }) => length > 0));
  const byLength = (await traces()).toSorted((a, b) => lengthOf(a) - lengthOf(b));
  const median = byLength[Math.floor(byLength.length / 2)] ?? [];
  const bars = barsOf(median);
  for (const { name, group, from, to } of bars)
    console.log(`${from.toFixed(1).padStart(6)} to ${to.toFixed(1).padStart(6)} ms  ${group}: ${name}`);
  writeFileSync(PICTURE, drawTimes(bars));
  console.error(`written: ${PICTURE}`);
} finally {
  await endpoint.close();
  await product.stop();
  await receiver.close();
}
