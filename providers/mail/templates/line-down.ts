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
    reason,
  }) => `The line ${lineName} of ${workspaceName} has not been able to send since ${when(since)}.${
    reason === undefined
      ? ''
      : `
The reason: ${reason}`
  }

It sends nothing until it recovers. Its messages wait, or are sent through your other lines.
This email is sent once. You can turn off line notifications in the line's settings.
`,

  html: ({ workspaceName, lineName, since, reason }) =>
    layout(
      'A line is down',
      html`<p>
          The line <strong>${lineName}</strong> of ${workspaceName} has not been able to send since
          ${when(since)}.
        </p>
        ${reason === undefined ? html`` : html`<p>The reason: ${reason}</p>`}
        <p>It sends nothing until it recovers. Its messages wait, or are sent through your other lines.</p>
        ${small(html`This email is sent once. You can turn off line notifications in the line's settings.`)}`,
    ),
});
