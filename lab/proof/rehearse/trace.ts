import type { ReceivedSpan } from '../../../test/support/traces-receiver.ts';

/** The names of the spans that a message has from its request to its receipt. */
const COMPLETE = ['message accepted', 'carrier send', 'message sent', 'message delivered'];

/** @returns the trace of the last message that has all its spans, with what each is linked to; '' if there is none. */
export function traceOfOne(spans: readonly ReceivedSpan[]): string {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const traces = [...Map.groupBy(spans, ({ traceId }) => traceId).values()];
  const found = traces.findLast((trace) =>
    COMPLETE.every((name) => trace.some((span) => span.name === name)),
  );
  if (!found) return '';
  const inOrder = found.toSorted((one, other) => startOf(one) - startOf(other));
  const begin = Math.min(...inOrder.map(startOf));
  const lines = inOrder.map((span) => {
    const attributes = span.attributes.map(({ key, value }) => `${key}=${String(Object.values(value)[0])}`);
    const links = (span.links ?? []).map(({ spanId }) => byId.get(spanId)?.name ?? `span ${spanId}`);
    const linked = links.length > 0 ? `\n${' '.repeat(24)}linked to ${links.join(', ')}` : '';
    const times = `${(startOf(span) - begin).toFixed(0).padStart(8)} ms ${durationOf(span).toFixed(0).padStart(6)} ms`;
    return `${times}  ${span.name}  ${attributes.join(' ')}${linked}`;
  });
  return `trace ${inOrder[0]?.traceId}\n   start      took\n${lines.join('\n')}`;
}

const startOf = (span: ReceivedSpan): number => Number(BigInt(span.startTimeUnixNano) / 1000n) / 1000;
const durationOf = (span: ReceivedSpan): number =>
  Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;
