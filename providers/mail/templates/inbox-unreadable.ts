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
  }) => `Replies to the line ${lineName} of ${workspaceName} do not arrive since ${when(since)}.

${reason}

The line still sends, but replies and opt-outs are not seen. Test its connection on its page.
This email is sent once. You can turn off line notifications in the line's settings.
`,

  html: ({ workspaceName, lineName, since, reason }) =>
    layout(
      'Replies do not arrive',
      html`<p>
          Replies to the line <strong>${lineName}</strong> of ${workspaceName} do not arrive since
          ${when(since)}.
        </p>
        <p>${reason}</p>
        <p>The line still sends, but replies and opt-outs are not seen. Test its connection on its page.</p>
        ${small(html`This email is sent once. You can turn off line notifications in the line's settings.`)}`,
    ),
});
