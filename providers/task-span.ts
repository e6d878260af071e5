import { type Attributes, context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

/** Runs a task in a span of its own, to which the spans of the messages that it works on are linked. */
export async function inTaskSpan<T>(
  name: string,
  attributes: Attributes,
  task: () => Promise<T>,
): Promise<T> {
  const span = trace
    .getTracer('linepace')
    .startSpan(name, { kind: SpanKind.CONSUMER, attributes }, ROOT_CONTEXT);
  try {
    return await context.with(trace.setSpan(ROOT_CONTEXT, span), task);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
