import { randomBytes } from 'node:crypto';
import {
  type Attributes,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import type { TenantDb } from './transactions.ts';

/**
 * Every message has its own trace, whose id is derived from the message's id. So whichever process handles the message
 * next, however much later, continues the trace, and nothing has to be stored for it. Its spans are linked to the request or the
 * activity that they happened in. Without `OTEL_EXPORTER_OTLP_ENDPOINT` there is no tracer, and all of this does nothing.
 */
const contextOf = (messageId: string): SpanContext => ({
  traceId: messageTraceId(messageId),
  // The rightmost part of an id differs most.
  spanId: messageId.slice(-16),
  traceFlags: TraceFlags.SAMPLED,
});

const PREFIX = Buffer.from('line').toString('hex');

/** @returns `6c696e65`, which reads "line", and the message's id. */
export const messageTraceId = (messageId: string): string => PREFIX + messageId;

const tracer = () => trace.getTracer('linepace');

let root: SpanContext | null = null;

/** Whether this process records traces. */
let isRecording = false;

/** Starts recording. @returns the id generator that gives the first span of a message the ids to which all others refer. */
export function recordMessageTraces() {
  isRecording = true;
  return {
    generateTraceId: (): string => root?.traceId ?? randomBytes(16).toString('hex'),
    generateSpanId: (): string => root?.spanId ?? randomBytes(8).toString('hex'),
  };
}

/** The request or the activity in which a step of a message happens. */
export type Happening = Link[];

export function happenedIn(): Happening {
  const context = trace.getActiveSpan()?.spanContext();
  return context ? [{ context }] : [];
}

/** Begins the trace of a message once its transaction has committed. */
export function traceAccepted(db: TenantDb, messageId: string, attributes: Attributes): void {
  if (!isRecording) return;
  const options = { attributes: { ...ids(db, messageId), ...attributes }, links: happenedIn(), root: true };
  const at = new Date();
  db.wakes.afterCommit(() => {
    root = contextOf(messageId);
    tracer()
      .startSpan('message accepted', { ...options, startTime: at })
      .end();
    root = null;
  });
}

/** Adds a step to the trace of a message once the transaction has committed. */
export function traceMoment(db: TenantDb, messageId: string, name: string, links = happenedIn()): void {
  if (!isRecording) return;
  const options = { attributes: ids(db, messageId), links, startTime: new Date() };
  db.wakes.afterCommit(() => startSpan(name, messageId, options).end());
}

const ids = ({ workspaceId }: Pick<TenantDb, 'workspaceId'>, messageId: string): Attributes => ({
  'linepace.workspace_id': workspaceId,
  'linepace.message_id': messageId,
});

const startSpan = (
  name: string,
  messageId: string,
  options: { attributes: Attributes; links: Link[] },
): Span => tracer().startSpan(name, options, trace.setSpanContext(ROOT_CONTEXT, contextOf(messageId)));

/** The W3C header that continues the trace of a span at another server; none if nothing is recorded. */
export function traceHeaders(span: Span): { traceparent?: string } {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (!isSpanContextValid({ traceId, spanId, traceFlags })) return {};
  return { traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` };
}

/** Like `inMessageSpan`, for an event that may be about no message. @param messageId null: nothing is recorded. */
export const inSpanOfEvent = <T>(
  name: string,
  messageId: string | null,
  attributes: Attributes,
  work: (span: Span | null) => Promise<T>,
): Promise<T> =>
  messageId === null || !isRecording ? work(null) : inMessageSpan(name, messageId, attributes, work);

/** Runs work in a span of a message's trace. */
export async function inMessageSpan<T>(
  name: string,
  messageId: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = startSpan(name, messageId, {
    attributes: { 'linepace.message_id': messageId, ...attributes },
    links: happenedIn(),
  });
  try {
    return await work(span);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
