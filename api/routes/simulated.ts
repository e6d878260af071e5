import { Readable } from 'node:stream';
import { request } from 'undici';
import { ApiError } from '../http/errors.ts';
import { publicRoute } from '../http/route.ts';

/**
 * Proxies `/simulated/` to the simulated providers. Responds 404 if there are none, as in production.
 */
export const simulatedRoutes = (['GET', 'POST'] as const).map((method) =>
  publicRoute({
    id: `simulated${method}`,
    method,
    path: '/simulated/{*path}',
    tag: 'Simulated providers',
    summary: 'Proxy to the simulated providers',
    contentTypes: { 200: 'application/json' },
    hidden: true,
    async respond(context, { config }) {
      if (!config.simulator) throw new ApiError('NOT_FOUND');
      if (config.stripe && /^\/simulated\/pay(ments)?\//.test(context.path)) throw new ApiError('NOT_FOUND');
      const contentType = context.get('content-type');
      const answer = await request(config.simulator.url + context.url, {
        method,
        headers: {
          accept: context.get('accept'),
          ...(contentType !== '' && { 'content-type': contentType }),
        },
        body: method === 'POST' ? Readable.from(context.req) : null,
        // Redirects of the simulated payment page are left to the browser.
      });
      context.status = answer.statusCode;
      for (const name of ['content-type', 'location']) {
        const value = answer.headers[name];
        if (value !== undefined) context.set(name, value);
      }
      context.body = answer.body;
    },
  }),
);
