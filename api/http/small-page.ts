import type { Context } from 'koa';
import { html, type Html } from '#providers/mail/html.ts';

/** A page for a person who followed a link out of an email: a title, and a form with a button where one is needed. */
export function showPage(context: Context, status: number, title: Html, form = html``): void {
  context.status = status;
  context.type = 'html';
  context.set({
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Robots-Tag': 'noindex',
  });
  context.body = html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" /><meta name="viewport" content="width=device-width" />
      <title>${title}</title
      ><style>
        body {
          font: 16px system-ui;
          margin: 20vh auto;
          max-width: 24rem;
          text-align: center;
        }
        button {
          font: inherit;
          padding: 0.5rem 1rem;
        }
      </style>
      <h1>${title}</h1>
      ${form}
    </html>`.text;
}
