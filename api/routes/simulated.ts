import { Readable } from 'node:stream';
import { request } from 'undici';
import { ApiError } from '../http/errors.ts';
import { publicRoute } from '../http/route.ts';

/**
 * The simulated providers under the API's own address: everything below `/simulated/` is passed on
 * to their service. Without one, as in production, there is nothing there.
 */
export const simulatedRoutes = (['GET', 'POST'] as const).map((method) =>
  publicRoute({
    id: `simulated${method}`,
    method,
    path: '/simulated/{*path}',
    tag: 'Simulated providers',
    summary: 'The simulated providers',
    answers: { 200: 'application/json' },
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
        // The page of the simulated payment provider answers a form with a redirect: that is the browser's to follow.
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
