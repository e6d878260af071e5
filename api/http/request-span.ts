import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { inLogContext } from '#providers/log-context.ts';
import type { Exchange } from './exchange.ts';
import type { Route } from './route.ts';

/**
 * Names the request in its log lines and, where traces are recorded, in a span that continues the caller's trace, or is
 * linked to it.
 */
export async function requestSpan(exchange: Exchange, next: () => Promise<void>): Promise<void> {
  const { requestId } = exchange.state as { requestId: string };
  await inLogContext({ requestId }, async () => {
    const given = propagation.extract(context.active(), exchange.headers);
    // Anybody could add spans to somebody else's trace, so a request without a credential starts its own.
    const isAnonymous = exchange.get('authorization') === '';
    const parent = isAnonymous ? context.active() : given;
    const linked = isAnonymous ? trace.getSpanContext(given) : undefined;
    const attributes = { 'http.request.method': exchange.method, 'linepace.request_id': requestId };
    const span = trace
      .getTracer('linepace')
      .startSpan(
        'request',
        { kind: SpanKind.SERVER, attributes, ...(linked && { links: [{ context: linked }] }) },
        parent,
      );
    try {
      await context.with(trace.setSpan(parent, span), next);
    } finally {
      // The route instead of the URL, which can contain phone numbers.
      const route = exchange.state['route'] as Route | undefined;
      span.updateName(`${exchange.method} ${route?.path ?? 'unmatched'}`);
      span.setAttributes({
        'http.response.status_code': exchange.status,
        ...(route && { 'http.route': route.path }),
      });
      if (exchange.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
  });
}
