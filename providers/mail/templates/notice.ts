import { Html, html } from '../html.ts';
import { button, layout, turnOff } from '../layout.ts';
import { template } from '../template.ts';

const REASON = (workspaceName: string): string => `You get this as an admin of ${workspaceName}.`;

export const notice = template('notice', {
  subject: ({ title, workspaceName }) => `${title} (${workspaceName})`,

  text: ({ workspaceName, title, paragraphs, action, turnOffLink }) =>
    `${[title, ...paragraphs, ...(action ? [`${action.label}: ${action.link}`] : [])].join('\n\n')}

${REASON(workspaceName)} Turn these emails off: ${turnOffLink}
`,

  html: ({ workspaceName, title, paragraphs, action, turnOffLink }) =>
    layout(
      title,
      html`${new Html(paragraphs.map((paragraph) => html`<p>${paragraph}</p>`.text).join('\n      '))}
      ${action ? button(action.label, action.link) : ''} ${turnOff(REASON(workspaceName), turnOffLink)}`,
    ),
});
