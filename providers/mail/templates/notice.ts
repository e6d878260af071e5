import type { z } from 'zod';
import type { MailData } from '#domain/mail.ts';
import { Html, html } from '../html.ts';
import { button, layout, paragraphsHtml, turnOff } from '../layout.ts';
import { template } from '../template.ts';

const REASON = (workspaceName: string): string => `You receive this email as an admin of ${workspaceName}.`;

type Section = z.output<typeof MailData.notice>['sections'][number];

const sectionText = ({ heading, paragraphs }: Section): string => [heading, ...paragraphs].join('\n');

const sectionHtml = ({ heading, paragraphs }: Section): Html =>
  html`<h2 style="margin: 24px 0 8px; font-size: 17px; line-height: 1.3">${heading}</h2>
    ${paragraphsHtml(paragraphs)}`;

export const notice = template('notice', {
  subject: ({ title, workspaceName }) => `${title} (${workspaceName})`,

  text: ({ workspaceName, title, paragraphs, sections, action, turnOffLink }) =>
    `${[title, ...paragraphs, ...sections.map(sectionText), ...(action ? [`${action.label}: ${action.link}`] : [])].join('\n\n')}

${REASON(workspaceName)} Turn these emails off: ${turnOffLink}
`,

  html: ({ workspaceName, title, paragraphs, sections, action, turnOffLink }) =>
    layout(
      title,
      html`${paragraphsHtml(paragraphs)}
      ${new Html(sections.map((section) => sectionHtml(section).text).join(''))}
      ${action ? button(action.label, action.link) : ''} ${turnOff(REASON(workspaceName), turnOffLink)}`,
    ),
});
