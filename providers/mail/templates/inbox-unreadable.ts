import { html } from '../html.ts';
import { layout, small } from '../layout.ts';
import { template } from '../template.ts';

const when = (iso: string): string => new Date(iso).toUTCString();

export const inboxUnreadable = template('inboxUnreadable', {
  subject: ({ lineName, workspaceName }) => `Replies do not arrive: ${lineName} (${workspaceName})`,

  text: ({
    workspaceName,
    lineName,
    since,
    reason,
  }) => `The mailbox of the line ${lineName} of ${workspaceName} cannot be read since ${when(since)}.

${reason}

The line still sends, but replies, bounces and opt-outs do not arrive. Check the settings of the mailbox.
This email is sent once. You can turn off line notifications in the line's settings.
`,

  html: ({ workspaceName, lineName, since, reason }) =>
    layout(
      'Replies do not arrive',
      html`<p>
          The mailbox of the line <strong>${lineName}</strong> of ${workspaceName} cannot be read since
          ${when(since)}.
        </p>
        <p>${reason}</p>
        <p>
          The line still sends, but replies, bounces and opt-outs do not arrive. Check the settings of the
          mailbox.
        </p>
        ${small(html`This email is sent once. You can turn off line notifications in the line's settings.`)}`,
    ),
});
