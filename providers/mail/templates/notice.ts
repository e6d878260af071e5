import type { z } from 'zod';
import type { MailData } from '#domain/events/mail.ts';
import { Html, html } from '../html.ts';
import { button, layout, paragraphsHtml, turnOff } from '../layout.ts';
import { template } from '../template.ts';

type Data = z.output<typeof MailData.notice>;
type Section = Data['sections'][number];

const reason = ({ receivedAs, workspaceName }: Pick<Data, 'receivedAs' | 'workspaceName'>): string =>
  receivedAs === 'admin'
    ? `You receive this email as an admin of ${workspaceName}.`
    : `You receive this email for replies to ${workspaceName}.`;

const sectionText = ({ heading, paragraphs }: Section): string => [heading, ...paragraphs].join('\n');

const sectionHtml = ({ heading, paragraphs }: Section): Html =>
  html`<h2 style="margin: 24px 0 8px; font-size: 17px; line-height: 1.3">${heading}</h2>
    ${paragraphsHtml(paragraphs)}`;

export const notice = template('notice', {
  subject: ({ title, workspaceName }) => `${title} (${workspaceName})`,

  text: ({ title, paragraphs, sections, action, turnOffLink, ...why }) =>
    `${[title, ...paragraphs, ...sections.map(sectionText), ...(action ? [`${action.label}: ${action.link}`] : [])].join('\n\n')}

${reason(why)} Turn these emails off: ${turnOffLink}
`,

  html: ({ title, paragraphs, sections, action, turnOffLink, ...why }) =>
    layout(
      title,
      html`${paragraphsHtml(paragraphs)}
      ${new Html(sections.map((section) => sectionHtml(section).text).join(''))}
      ${action ? button(action.label, action.link) : ''} ${turnOff(reason(why), turnOffLink)}`,
    ),
});
