import { html, type Html } from './html.ts';

/** The frame of every email. Mail programs know few styles, and those only inline. */
export const layout = (title: string, content: Html): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
      </head>
      <body
        style="margin: 0; padding: 24px; background: #f4f4f5; font: 16px/1.5 system-ui, sans-serif; color: #18181b"
      >
        <div style="max-width: 560px; margin: 0 auto; padding: 32px; background: #ffffff; border-radius: 8px">
          <h1 style="margin: 0 0 16px; font-size: 20px">${title}</h1>
          ${content}
        </div>
      </body>
    </html> `;

export const button = (label: string, link: string): Html =>
  html`<p style="margin: 24px 0">
    <a
      href="${link}"
      style="padding: 12px 20px; background: #18181b; color: #ffffff; border-radius: 6px; text-decoration: none"
      >${label}</a
    >
  </p>`;

/** The last lines of an email that can be turned off. */
export const turnOff = (reason: string, link: string): Html =>
  html`<p style="margin: 32px 0 0; color: #71717a; font-size: 14px">
    ${reason} <a href="${link}" style="color: #71717a">Turn these emails off</a>
  </p>`;
