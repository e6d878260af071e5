import { html } from '../html.ts';
import { layout, small } from '../layout.ts';
import { template } from '../template.ts';

const when = (iso: string): string => new Date(iso).toUTCString();

export const lineDown = template('lineDown', {
  subject: ({ lineName, workspaceName }) => `Line down: ${lineName} (${workspaceName})`,

  text: ({
    workspaceName,
    lineName,
    since,
  }) => `The line ${lineName} of ${workspaceName} does not answer since ${when(since)}.

It sends nothing until it recovers. Messages that were to leave through it keep their place, or leave through your other lines.
You are told once; line notifications can be turned off in the line's settings.
`,

  html: ({ workspaceName, lineName, since }) =>
    layout(
      'A line is down',
      html`<p>
          The line <strong>${lineName}</strong> of ${workspaceName} does not answer since ${when(since)}.
        </p>
        <p>
          It sends nothing until it recovers. Messages that were to leave through it keep their place, or
          leave through your other lines.
        </p>
        ${small(html`You are told once; line notifications can be turned off in the line's settings.`)}`,
    ),
});
