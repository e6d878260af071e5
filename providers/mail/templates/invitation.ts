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
  }) => `${invitedBy ?? 'A team member'} invites you to join ${workspaceName}, a workspace on Linepace, as ${ROLES[role]}.

Accept the invitation:
${link}

It is valid until ${day(expiresAt)}. If you did not expect it, you can ignore
this email, or say there that you want no more invitations.
`,

  html: ({ workspaceName, invitedBy, role, link, expiresAt }) =>
    layout(
      `Join ${workspaceName}`,
      html`<p>
          ${invitedBy ?? 'A team member'} invites you to join <strong>${workspaceName}</strong>, a workspace
          on Linepace, as ${ROLES[role]}.
        </p>
        ${button('Accept the invitation', link)}
        ${small(
          html`It is valid until ${day(expiresAt)}. If you did not expect it, you can ignore this email, or
          say there that you want no more invitations.`,
        )}`,
    ),
});
