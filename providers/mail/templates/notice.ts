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

const actionsOf = ({ action, otherAction }: Pick<Data, 'action' | 'otherAction'>) =>
  [action, otherAction].filter((one) => one !== null);

const sectionText = ({ heading, paragraphs }: Section): string => [heading, ...paragraphs].join('\n');

const sectionHtml = ({ heading, paragraphs }: Section): Html =>
  html`<h2 style="margin: 24px 0 8px; font-size: 17px; line-height: 1.3">${heading}</h2>
    ${paragraphsHtml(paragraphs)}`;

export const notice = template('notice', {
  subject: ({ title, workspaceName }) => `${title} (${workspaceName})`,

  text: ({ title, paragraphs, sections, turnOffLink, ...rest }) =>
    `${[title, ...paragraphs, ...sections.map(sectionText), ...actionsOf(rest).map(({ label, link }) => `${label}: ${link}`)].join('\n\n')}

${reason(rest)} Turn these emails off: ${turnOffLink}
`,

  html: ({ title, paragraphs, sections, turnOffLink, ...rest }) =>
    layout(
      title,
      html`${paragraphsHtml(paragraphs)}
      ${new Html(sections.map((section) => sectionHtml(section).text).join(''))}
      ${new Html(
        actionsOf(rest)
          .map(({ label, link }) => button(label, link).text)
          .join(''),
      )}
      ${turnOff(reason(rest), turnOffLink)}`,
    ),
});
