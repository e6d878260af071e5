import type { Context } from 'koa';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { inLogContext } from '#providers/log-context.ts';
import type { Route } from './route.ts';

/**
 * Names the request in its log lines and, where traces are recorded, in a span that continues the caller's trace, or is
 * linked to it.
 */
export async function requestSpan(koa: Context, next: () => Promise<void>): Promise<void> {
  const { requestId } = koa.state as { requestId: string };
  await inLogContext({ requestId }, async () => {
    const given = propagation.extract(context.active(), koa.headers);
    // Anybody could add spans to somebody else's trace, so a request without a credential starts its own.
    const isAnonymous = koa.get('authorization') === '';
    const parent = isAnonymous ? context.active() : given;
    const linked = isAnonymous ? trace.getSpanContext(given) : undefined;
    const attributes = { 'http.request.method': koa.method, 'linepace.request_id': requestId };
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
      const route = koa.state['route'] as Route | undefined;
      span.updateName(`${koa.method} ${route?.path ?? 'unmatched'}`);
      span.setAttributes({
        'http.response.status_code': koa.status,
        ...(route && { 'http.route': route.path }),
      });
      if (koa.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
  });
}
