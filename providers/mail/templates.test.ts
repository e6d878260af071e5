import { describe, expect, it } from 'vitest';
import type { MailTemplate } from '#domain/events/mail.ts';
import { TEMPLATES } from './templates.ts';

const WORKSPACE = 'Bits & <b>\nBcc: all@example.com';

const DATA: Record<MailTemplate, Record<string, unknown>> = {
  invitation: {
    workspaceName: WORKSPACE,
    invitedBy: null,
    role: 'org:member',
    link: 'https://api.example/invitations/abc',
    expiresAt: '2026-03-02T12:00:00.000Z',
  },
  agencyInvitation: {
    agencyName: WORKSPACE,
    invitedBy: 'Olivia <b>',
    link: 'https://api.example/invitations/abc',
    expiresAt: '2026-03-02T12:00:00.000Z',
  },
  signInLink: { link: 'https://api.example/sign-in/abc', minutes: 15 },
  replyAlert: {
    workspaceName: WORKSPACE,
    digest: true,
    contacts: [
      {
        name: '<i>Ada</i>',
        address: '+14155550100',
        link: 'https://api.example/inbox/%2B14155550100',
        replies: [{ text: 'Yes <b>please</b>', at: 'Mar 2, 2026, 12:00 PM' }],
      },
    ],
    more: 3,
    turnOffLink: 'https://api.example/notifications/abc',
  },
  ownerNotice: {
    workspaceName: WORKSPACE,
    title: 'There is a new admin',
    paragraphs: ['Ada <b> is now an admin.'],
    link: 'https://api.example/console',
  },
  notice: {
    receivedAs: 'admin',
    workspaceName: WORKSPACE,
    title: 'Campaign <i> completed',
    paragraphs: ['10 leads <b>entered</b>.'],
    sections: [{ heading: 'Spring <i>', paragraphs: ['<b>1</b> lead entered.'] }],
    action: { label: 'Approve', link: 'https://api.example/drafts/abc?action=approve' },
    otherAction: { label: 'Reject', link: 'https://api.example/drafts/abc?action=reject' },
    turnOffLink: 'https://api.example/notifications/abc',
  },
  lineReputation: {
    workspaceName: WORKSPACE,
    lineName: '"Dana" <i>',
    state: 'critical',
    score: 12,
    reasons: ['4 of the 60 people whom the line approached opted out (6.7 %, in 14 days).'],
  },
  inboxUnreadable: {
    workspaceName: WORKSPACE,
    lineName: '"Dana" <i>',
    since: '2026-03-02T12:00:00.000Z',
    reason: 'imap.example:993 refuses the user or the password.',
  },
  lineDown: { workspaceName: WORKSPACE, lineName: '"Dana" <i>', since: '2026-03-02T12:00:00.000Z' },
};

const ALL = Object.keys(TEMPLATES) as MailTemplate[];

describe.each(ALL)('the email %s', (name) => {
  const { subject, text, html } = TEMPLATES[name](DATA[name]);

  it('has a subject of one line, whatever names it contains', () => {
    expect(subject).not.toMatch(/[\r\n]/);
    expect(subject.length).toBeGreaterThan(10);
  });

  it('has the same links in text and HTML', () => {
    const links = text.match(/https?:\/\/\S+/g) ?? [];
    for (const link of links) expect(html).toContain(`href="${link}"`);
    expect(html.match(/href=/g) ?? []).toHaveLength(links.length);
  });
});

// A link that signs in names nobody.
describe.each(ALL.filter((name) => name !== 'signInLink'))('the email %s', (name) => {
  const { text, html } = TEMPLATES[name](DATA[name]);

  it('shows names on one line in text, and escaped in HTML', () => {
    expect(text).toContain('Bits & <b> Bcc: all@example.com');
    expect(html).toContain('Bits &amp; &lt;b&gt;');
    expect(html).not.toMatch(/<b>|<i>/);
    expect(html).toMatch(/^<!doctype html>[^]*<\/html>\s*$/);
  });

  it('truncates a long name', () => {
    const long = 'Your account is locked, call us '.repeat(10);
    const filled = TEMPLATES[name]({ ...DATA[name], workspaceName: long, agencyName: long });
    for (const part of Object.values(filled)) expect(part).not.toContain(long.slice(0, 61));
    expect(filled.text).toContain(`${long.slice(0, 59)}…`);
  });

  it('is not rendered without its required fields', () => {
    expect(() => TEMPLATES[name]({ ...DATA[name], workspaceName: undefined, agencyName: undefined })).toThrow(
      /workspaceName|agencyName/,
    );
  });
});
