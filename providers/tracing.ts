import { createHash } from 'node:crypto';
import { context, propagation, trace } from '@opentelemetry/api';
import type { IdGenerator, Sampler } from '@opentelemetry/sdk-trace';

export interface TracingOptions {
  /** `OTEL_EXPORTER_OTLP_ENDPOINT`; null: nothing is loaded or recorded. */
  endpoint: string | null;
  /** The share of traces that are recorded, by their ids: all spans of a trace, or none. */
  ratio: number;
}

/**
 * Records the traces of this process and sends them by OTLP over HTTP. Spans hold ids, codes and times only.
 * @param service the name of the process in its traces.
 * @param ids called if traces are recorded.
 * @returns a function that sends the remaining spans, and ends.
 */
export async function startTracing(
  service: string,
  { endpoint, ratio }: TracingOptions,
  ids: () => IdGenerator,
): Promise<() => Promise<void>> {
  if (endpoint === null) return async () => {};
  const [sdk, { OTLPTraceExporter }, { AsyncLocalStorageContextManager }, core, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
    ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.namespace': 'linepace' }),
    // The caller's decision is ignored, because it would record only half of a message's trace.
    sampler: byHash(new sdk.TraceIdRatioBasedSampler(ratio)),
    idGenerator: ids(),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  return async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
  };
}

/** Makes a sampler decide by a hash of the id, because ids of messages are not random: those of one process differ in few bits. */
export const byHash = (sampler: Sampler): Sampler => ({
  shouldSample: (parent, traceId, ...rest) =>
    sampler.shouldSample(parent, createHash('sha256').update(traceId).digest('hex').slice(0, 32), ...rest),
  toString: () => sampler.toString(),
});
