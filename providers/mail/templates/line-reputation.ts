import { html } from '../html.ts';
import { layout, paragraphsHtml, small } from '../layout.ts';
import { template } from '../template.ts';

const TITLES = {
  at_risk: 'A line is at risk',
  critical: 'A line rests',
} as const;

const WHAT_HAPPENS = {
  at_risk:
    'Unless you decided otherwise for this line, it now starts fewer new conversations and pauses longer between messages.',
  critical:
    'Unless you decided otherwise for this line, it now starts no new conversations until it has recovered. Answers go on.',
} as const;

const FOOTER = "You can turn off line notifications in the line's settings.";

export const lineReputation = template('lineReputation', {
  subject: ({ state, lineName, workspaceName }) =>
    `${state === 'critical' ? 'Line rests' : 'Line at risk'}: ${lineName} (${workspaceName})`,

  text: ({
    workspaceName,
    lineName,
    state,
    score,
    reasons,
  }) => `The reputation of the line ${lineName} of ${workspaceName} has fallen to ${score} of 100. Carriers may block it.

${reasons.map((reason) => `- ${reason}`).join('\n')}

${WHAT_HAPPENS[state]}
The page of the line explains each number.
${FOOTER}
`,

  html: ({ workspaceName, lineName, state, score, reasons }) =>
    layout(
      TITLES[state],
      html`<p>
          The reputation of the line <strong>${lineName}</strong> of ${workspaceName} has fallen to
          ${String(score)} of 100. Carriers may block it.
        </p>
        ${paragraphsHtml(reasons)}
        <p>${WHAT_HAPPENS[state]} The page of the line explains each number.</p>
        ${small(html`${FOOTER}`)}`,
    ),
});
