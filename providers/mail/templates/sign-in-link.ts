import { html } from '../html.ts';
import { button, layout, small } from '../layout.ts';
import { template } from '../template.ts';

export const signInLink = template('signInLink', {
  subject: () => 'Sign in to Linepace',

  text: ({ link, minutes }) => `Open this link in the browser in which you asked for it:
${link}

It is valid once, for ${minutes} minutes. If you did not ask for it, ignore this email:
the link signs in no other browser.
`,

  html: ({ link, minutes }) =>
    layout(
      'Sign in to Linepace',
      html`<p>Open this link in the browser in which you asked for it.</p>
        ${button('Sign in', link)}
        ${small(
          html`It is valid once, for ${String(minutes)} minutes. If you did not ask for it, ignore this email:
          the link signs in no other browser.`,
        )}`,
    ),
});
