import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { MailTemplate } from '#domain/events/mail.ts';
import { TEMPLATES } from '#providers/mail/templates.ts';
import { takeScreenshot } from './support/screenshot.ts';

/**
 * Takes screenshots of all emails at the width of a phone, for docs/emails/, with Chromium:
 * CHROMIUM=/usr/bin/chromium npm run example -- emails
 */
const chromium = process.env['CHROMIUM'] ?? 'chromium';
const folder = resolve(process.argv[2] ?? 'docs/emails');
const work = mkdtempSync(join(tmpdir(), 'linepace-emails-'));

const workspaceName = 'Bits & Pieces';
const turnOffLink = 'https://linepace.example/notifications/abc';
const at = 'Mar 2, 2026, 12:00 PM';
const contact = (name: string, address: string, ...texts: string[]) => ({
  name,
  address,
  link: `https://linepace.example/inbox/${encodeURIComponent(address)}`,
  replies: texts.map((text) => ({ text, at })),
});
const notice = (title: string, paragraphs: string[], rest: object = {}) => ({
  workspaceName,
  title,
  paragraphs,
  action: null,
  turnOffLink,
  ...rest,
});

const SAMPLES: Record<string, [MailTemplate, unknown]> = {
  invitation: [
    'invitation',
    {
      workspaceName,
      invitedBy: 'Grace Hopper',
      role: 'org:admin',
      link: 'https://linepace.example/invitations/abc',
      expiresAt: '2026-03-09T12:00:00.000Z',
    },
  ],
  'reply-alert': [
    'replyAlert',
    {
      workspaceName,
      digest: false,
      more: 0,
      turnOffLink,
      contacts: [
        contact(
          'Ada Lovelace',
          '+14155550100',
          'Sounds good, tell me more.\nIs Tuesday at 10 fine?',
          'This is what I mean: https://ada.example/notes/on/the/analytical/engine/that/have/no/place/to/break',
        ),
      ],
    },
  ],
  'reply-digest': [
    'replyAlert',
    {
      workspaceName,
      digest: true,
      more: 12,
      turnOffLink,
      contacts: [
        contact('Ada Lovelace', '+14155550100', 'Sounds good, tell me more.'),
        contact(
          'Maximiliana-Konstantinopolitanische Donaudampfschifffahrtsgesellschaftskapitänin',
          'maximiliana.donaudampfschifffahrtsgesellschaft@a-very-long-company-name.example',
          '',
        ),
        contact('+14155550101', '+14155550101', 'Not now, please write again in May.'),
      ],
    },
  ],
  'campaign-progress': [
    'notice',
    notice('2 campaigns under way', [], {
      sections: [
        {
          heading: 'Spring offer',
          paragraphs: [
            '1200 leads entered: 700 under way, 420 went through all steps, 80 stopped before (a reply, an opt-out or a failure).',
            'In the last 24 hours: 148 messages were sent, 2 failed. 9 contacts replied.',
            'In all: 3100 messages were sent, 12 failed. 77 contacts replied.',
          ],
        },
        {
          heading: 'Webinar follow-up',
          paragraphs: [
            '90 leads entered: 90 under way, 0 went through all steps, 0 stopped before (a reply, an opt-out or a failure).',
            'In the last 24 hours: 45 messages were sent, 0 failed. 3 contacts replied.',
            'In all: 45 messages were sent, 0 failed. 3 contacts replied.',
          ],
        },
      ],
    }),
  ],
  'payment-failed': [
    'notice',
    notice(
      'A payment failed',
      [
        'The payment for the line Ada Lovelace did not go through.',
        'The line is set up as soon as it is paid.',
      ],
      { action: { label: 'Pay now', link: 'https://linepace.example/pay/abc' } },
    ),
  ],
  'webhook-failing': [
    'notice',
    notice('A webhook is failing: CRM', [
      'The last 10 deliveries to https://hooks.customer.example/integrations/linepace/production/8f0d6a5e1c9b4f7a failed.',
      'The last one that succeeded was at Mon, 02 Mar 2026 12:00:00 GMT.',
      'Failed deliveries are not retried automatically. Once the endpoint responds again they can be replayed.',
    ]),
  ],
  'inbox-unreadable': [
    'inboxUnreadable',
    {
      workspaceName,
      lineName: 'Dana Scully, dana@line.example',
      since: '2026-03-02T12:00:00.000Z',
      reason: 'imap.example:993 refuses the user or the password.',
    },
  ],
  'line-down': [
    'lineDown',
    { workspaceName, lineName: 'Dana Scully, +14155550199', since: '2026-03-02T12:00:00.000Z' },
  ],
};

mkdirSync(folder, { recursive: true });
for (const [name, [template, data]] of Object.entries(SAMPLES)) {
  const page = join(work, `${name}.html`);
  writeFileSync(page, TEMPLATES[template](data).html);
  saveScreenshot(page, `${name}.png`);
  if (name === 'reply-alert')
    saveScreenshot(page, `${name}-dark.png`, '--blink-settings=preferredColorScheme=0');
}
rmSync(work, { recursive: true, force: true });

function saveScreenshot(page: string, file: string, ...flags: string[]): void {
  takeScreenshot(chromium, `file://${page}`, join(folder, file), { width: 390, height: 844, flags });
}
