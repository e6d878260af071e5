import { html, Html } from './html.ts';

/** Inline, because many mail clients support nothing else. Text colours have a contrast of at least 4.5. */
const STYLES = {
  page: 'margin: 0; padding: 16px 12px; background: #f4f4f5; font: 16px/1.5 system-ui, sans-serif; color: #18181b; overflow-wrap: anywhere; word-break: break-word',
  card: 'max-width: 560px; margin: 0 auto; padding: 24px 20px; background: #ffffff; border-radius: 8px',
  title: 'margin: 0 0 16px; font-size: 20px; line-height: 1.3',
  button:
    'display: inline-block; padding: 12px 20px; background: #18181b; color: #ffffff; border-radius: 6px; text-decoration: none',
  quote: 'margin: 0 0 8px; padding: 8px 12px; background: #f4f4f5; border-radius: 6px',
  muted: 'color: #52525b; font-size: 14px',
  link: 'color: #52525b',
} as const;

/** The inline style of an element, and its class for dark mode. */
export const styled = (name: keyof typeof STYLES): Html =>
  new Html(`class="${name}" style="${STYLES[name]}"`);

/** For mail clients that support it; others choose their own dark colours. */
const DARK = new Html(`
  :root { color-scheme: light dark; supported-color-schemes: light dark }
  @media (prefers-color-scheme: dark) {
    .page { background: #09090b !important; color: #f4f4f5 !important }
    .card { background: #18181b !important }
    .quote { background: #27272a !important }
    .button { background: #f4f4f5 !important; color: #18181b !important }
    .muted, .link { color: #a1a1aa !important }
  }
`);

export const layout = (title: string, content: Html): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <style>
          ${DARK}
        </style>
      </head>
      <body ${styled('page')}>
        <div ${styled('card')}>
          <h1 ${styled('title')}>${title}</h1>
          ${content}
        </div>
      </body>
    </html> `;

export const button = (label: string, link: string): Html =>
  html`<p style="margin: 16px 0 24px"><a href="${link}" ${styled('button')}>${label}</a></p>`;

export const small = (content: Html): Html => html`<p ${styled('muted')}>${content}</p>`;

/** `Mon, 02 Mar 2026` */
export const day = (iso: string): string => new Date(iso).toUTCString().slice(0, 16);

/** The footer of emails that can be turned off. */
export const turnOff = (reason: string, link: string): Html =>
  small(html`<br />${reason} <a href="${link}" ${styled('link')}>Turn these emails off</a>`);

export const paragraphsHtml = (paragraphs: readonly string[]): Html =>
  new Html(paragraphs.map((paragraph) => html`<p>${paragraph}</p>`.text).join('\n      '));
