import { html } from '../html.ts';
import { button, layout, paragraphsHtml, small } from '../layout.ts';
import { template } from '../template.ts';

const why = (workspaceName: string): string => `You receive this email as the owner of ${workspaceName}.`;

/** About what costs money or grants access. It cannot be turned off. */
export const ownerNotice = template('ownerNotice', {
  subject: ({ title, workspaceName }) => `${title} (${workspaceName})`,

  text: ({ workspaceName, title, paragraphs, link }) =>
    `${[title, ...paragraphs, link, why(workspaceName)].join('\n\n')}\n`,

  html: ({ workspaceName, title, paragraphs, link }) =>
    layout(
      title,
      html`${paragraphsHtml(paragraphs)} ${button('Open the console', link)}
      ${small(html`${why(workspaceName)}`)}`,
    ),
});
