import { html } from '../html.ts';
import { button, day, layout, small } from '../layout.ts';
import { template } from '../template.ts';

export const agencyInvitation = template('agencyInvitation', {
  subject: ({ agencyName }) => `Join the agency ${agencyName} on Linepace`,

  text: ({
    agencyName,
    invitedBy,
    link,
    expiresAt,
  }) => `${invitedBy ?? 'The owner'} invites you to be a co-admin of the agency ${agencyName} on Linepace.

Sign in and accept the invitation:
${link}

It is valid until ${day(expiresAt)}. If you did not expect it, you can ignore
this email, or say there that you want no more invitations.
`,

  html: ({ agencyName, invitedBy, link, expiresAt }) =>
    layout(
      `Join the agency ${agencyName} on Linepace`,
      html`<p>
          ${invitedBy ?? 'The owner'} invites you to be a co-admin of the agency
          <strong>${agencyName}</strong> on Linepace.
        </p>
        ${button('Sign in and accept', link)}
        ${small(
          html`It is valid until ${day(expiresAt)}. If you did not expect it, you can ignore this email, or
          say there that you want no more invitations.`,
        )}`,
    ),
});
