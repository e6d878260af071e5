import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { html, Html } from '#providers/mail/html.ts';
import type { Services } from '../services.ts';
import { clientAddress } from './client-address.ts';

/** The responses of routes that show a page; 404 for an invalid link. */
export const PAGE_RESPONSES = { 200: 'text/html', 404: 'text/html' };

const STYLE =
  'body{font:16px system-ui;margin:20vh auto;max-width:24rem;text-align:center}button{font:inherit;padding:.5rem 1rem}';
const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`);
/** The only style that the page's policy allows. */
const STYLE_HASH = `sha256-${hash('sha256', STYLE, 'base64')}`;

/** Shows a page to a person who followed a link in an email: a title and, if required, a form. */
export function showPage(context: Context, status: number, title: Html, form = html``): void {
  context.status = status;
  context.type = 'html';
  context.set({
    'Content-Security-Policy': `default-src 'none'; style-src '${STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'`,
    'Cache-Control': 'no-store',
    'X-Robots-Tag': 'noindex',
  });
  context.body = html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" /><meta name="viewport" content="width=device-width" />
      <title>${title}</title>
      ${STYLE_ELEMENT}
      <main>
        <h1>${title}</h1>
        ${form}
      </main>
    </html>`.text;
}

/** Shows that a link is not valid. @throws RATE_LIMITED after too many from one client, to prevent guessing. */
export async function refuseLink(
  context: Context,
  { rateLimits }: Pick<Services, 'rateLimits'>,
  title = html`This link is not valid`,
): Promise<void> {
  await rateLimits.countFailure(clientAddress(context));
  showPage(context, 404, title);
}
