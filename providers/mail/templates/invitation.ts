import { html } from '../html.ts';
import { button, day, layout, small } from '../layout.ts';
import { template } from '../template.ts';

const ROLES = { 'org:admin': 'an admin', 'org:member': 'a member' } as const;

export const invitation = template('invitation', {
  subject: ({ workspaceName }) => `Join ${workspaceName} on Linepace`,

  text: ({
    workspaceName,
    invitedBy,
    role,
    link,
    expiresAt,
  }) => `${invitedBy ?? 'Someone of the team'} invites you to ${workspaceName} as ${ROLES[role]}. It is a workspace of Linepace.

Accept the invitation:
${link}

It is valid until ${day(expiresAt)}. If you did not expect it, you can ignore this email.
`,

  html: ({ workspaceName, invitedBy, role, link, expiresAt }) =>
    layout(
      `Join ${workspaceName}`,
      html`<p>
          ${invitedBy ?? 'Someone of the team'} invites you to <strong>${workspaceName}</strong> as
          ${ROLES[role]}. It is a workspace of Linepace.
        </p>
        ${button('Accept the invitation', link)}
        ${small(html`It is valid until ${day(expiresAt)}. If you did not expect it, you can ignore this email.`)}`,
    ),
});
