import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { request } from 'undici';
import { ApiError } from '#api/http/errors.ts';
import { publicRoute } from '#api/http/route.ts';

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
      if (!isOwnPage(context, config.publicUrl)) throw new ApiError('NOT_FOUND');
      const target = new URL(context.url, config.simulator.url);
      if (!target.pathname.startsWith('/simulated/')) throw new ApiError('NOT_FOUND');
      if (config.stripe && /^\/simulated\/pay(ments)?\//.test(target.pathname))
        throw new ApiError('NOT_FOUND');
      const contentType = context.get('content-type');
      const answer = await request(target, {
        method,
        headers: {
          accept: context.get('accept'),
          ...(contentType !== '' && { 'content-type': contentType }),
        },
        body: method === 'POST' ? Readable.from(context.req) : null,
        // Redirects of the simulated payment page are left to the browser.
      });
      context.status = answer.statusCode;
      // With `no-referrer`, the forms of its pages would be sent with an `Origin` of `null`.
      context.set('Referrer-Policy', 'same-origin');
      for (const name of ['content-type', 'location']) {
        const value = answer.headers[name];
        if (value !== undefined) context.set(name, value);
      }
      context.body = answer.body;
    },
  }),
);

/**
 * Whether a request cannot come from another site's page that a developer visits. Such a page could pay invoices, or
 * read emails by pointing its own domain at this machine.
 */
function isOwnPage(context: Context, publicUrl: string): boolean {
  const isOwn = (host: string): boolean => {
    const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
    return name === 'localhost' || isIP(name) !== 0 || name === new URL(publicUrl).hostname;
  };
  if (!isOwn(context.get('host'))) return false;
  const site = context.get('sec-fetch-site');
  if (site !== '') return site !== 'cross-site';
  const origin = context.get('origin');
  return origin === '' || (URL.canParse(origin) && new URL(origin).host === context.host);
}
