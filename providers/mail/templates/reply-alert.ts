import type { z } from 'zod';
import type { MailData } from '#domain/events/mail.ts';
import { escapeHtml, Html, html } from '../html.ts';
import { button, layout, styled, turnOff } from '../layout.ts';
import { template } from '../template.ts';

type Data = z.output<typeof MailData.replyAlert>;
type Contact = Data['contacts'][number];

const NO_TEXT = '(no text)';
const reasonFor = (workspaceName: string): string =>
  `You receive this email for replies to ${workspaceName}.`;

const shown = (text: string): string => text.trim() || NO_TEXT;
const heading = ({ name, address }: Contact): string => (name === address ? name : `${name} (${address})`);
const moreText = ({ more }: Data): string => (more === 0 ? '' : `And ${more} more in your inbox.`);

function title({ contacts, more, digest }: Data): string {
  const count = contacts.length + more;
  const [first] = contacts;
  if (!digest && count === 1 && first) return `${first.name} replied`;
  return `${count} ${count === 1 ? 'contact' : 'contacts'} replied`;
}

/** The replies of one contact, or a digest of several. */
export const replyAlert = template('replyAlert', {
  subject: (data) => `${title(data)} (${data.workspaceName})`,

  text: (data) =>
    `${[
      ...data.contacts.map(
        (contact) =>
          `${heading(contact)}\n${contact.replies.map(({ text, at }) => `[${at}] ${shown(text)}`).join('\n')}\nOpen: ${contact.link}`,
      ),
      ...(data.more > 0 ? [moreText(data)] : []),
    ].join('\n\n')}

${reasonFor(data.workspaceName)} Turn these emails off: ${data.turnOffLink}
`,

  html: (data) =>
    layout(
      title(data),
      html`${new Html(data.contacts.map((contact) => contactHtml(contact).text).join('\n      '))}
      ${data.more > 0 ? html`<p>${moreText(data)}</p>` : ''}
      ${turnOff(reasonFor(data.workspaceName), data.turnOffLink)}`,
    ),
});

const contactHtml = (contact: Contact): Html =>
  html`<p style="margin: 24px 0 8px"><strong>${heading(contact)}</strong></p>
    ${new Html(contact.replies.map((reply) => replyHtml(reply).text).join('\n      '))}
    ${button('Open the conversation', contact.link)}`;

// Line breaks become elements, because the layout collapses white space.
const replyHtml = ({ text, at }: Contact['replies'][number]): Html =>
  html`<p ${styled('quote')}>
    ${new Html(escapeHtml(shown(text)).replaceAll('\n', '<br />'))}<br />
    <span ${styled('muted')}>${at}</span>
  </p>`;
