import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import type { EmailCheck } from '#domain/lines/email-authentication.ts';
import { SmtpConfig } from '#providers/carriers/smtp/config.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { type DnsServer, startDnsServer } from '#test/support/dns-server.ts';
import { createLine, createLineAt, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';

let dns: DnsServer;
let app: OwnApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
let domain: string;

beforeAll(async () => {
  dns = await startDnsServer();
  app = await startTestApp({ worker: false, environment: { DNS_SERVERS: dns.address } });
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLineAt(app, workspace.id, 'email', {
    name: 'smtp',
    schema: SmtpConfig,
    settings: { host: 'smtp.relay.example', dkimSelector: 's1' },
  });
  const { lines } = (await api('GET', '/api/lines/by-user')).body;
  const { email } = lines.find(({ _id }: { _id: string }) => _id === lineId);
  domain = email.split('@')[1];
});
afterAll(async () => {
  await app.stop();
  await dns.stop();
});

const RELAY = '8.8.4.10';

/** The records of a domain whose emails are authenticated. */
beforeEach(() => {
  dns.records.clear();
  for (const [name, records] of Object.entries({
    'smtp.relay.example': { A: [RELAY] },
    '10.4.8.8.in-addr.arpa': { PTR: ['out.relay.example'] },
    'out.relay.example': { A: [RELAY] },
    '_spf.relay.example': { TXT: ['v=spf1 ip4:8.8.4.0/24 -all'] },
    [domain]: { TXT: ['site=1', 'v=spf1 include:_spf.relay.example ~all'], MX: ['mx.relay.example'] },
    [`s1._domainkey.${domain}`]: { TXT: [`v=DKIM1; k=rsa; p=${'A'.repeat(300)}`] },
    [`_dmarc.${domain}`]: { TXT: ['v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com'] },
  }))
    dns.records.set(name, records);
});

async function checks(of = lineId): Promise<Record<EmailCheck['name'], EmailCheck>> {
  const { status, body } = await api('GET', `/api/lines/${of}/email-authentication`);
  expect(status).toBe(200);
  return Object.fromEntries(body.checks.map((check: EmailCheck) => [check.name, check])) as Awaited<
    ReturnType<typeof checks>
  >;
}

const spfOf = async (...TXT: string[]) => {
  dns.records.set(domain, { TXT });
  return (await checks()).spf;
};

test('a domain whose emails are authenticated passes every check', async () => {
  const found = await checks();
  expect(Object.values(found).map(({ name, result }) => [name, result])).toEqual([
    ['spf', 'pass'],
    ['dkim', 'pass'],
    ['dmarc', 'pass'],
    ['mx', 'pass'],
    ['ptr', 'pass'],
  ]);
  expect(found.spf.found).toBe('v=spf1 include:_spf.relay.example ~all');
  expect(found.mx.found).toBe('mx.relay.example');
  expect(found.ptr.found).toBe(`${RELAY} out.relay.example`);
});

test('a domain without records fails every check', async () => {
  dns.records.clear();
  dns.records.set('smtp.relay.example', { A: [RELAY] });
  const results = Object.values(await checks()).map(({ result, found }) => [result, found]);
  expect(results).toEqual(Array.from({ length: 5 }, () => ['fail', null]));
});

describe('SPF', () => {
  const chain = (length: number): string => {
    for (let i = 1; i <= length; i++)
      dns.records.set(`spf${i}.example`, {
        TXT: [i === length ? `v=spf1 ip4:${RELAY} -all` : `v=spf1 include:spf${i + 1}.example -all`],
      });
    return 'v=spf1 include:spf1.example -all';
  };

  it.each([
    ['pass', 'by the address', ['v=spf1 ip4:8.8.4.10 -all']],
    ['pass', 'by the name of the server', ['v=spf1 a:smtp.relay.example -all']],
    ['pass', 'by the network of a name', ['v=spf1 a:near.relay.example/28 -all']],
    ['pass', 'by a redirect', ['v=spf1 redirect=_spf.relay.example']],
    ['fail', 'if it permits others only', ['v=spf1 ip4:192.0.2.1 ip6:2001:db8::/32 mx -all']],
    ['fail', 'if it excludes the address first', ['v=spf1 -ip4:8.8.4.10 +all']],
    ['fail', 'if it does not say', ['v=spf1 ip4:192.0.2.1']],
    ['fail', 'if there are several', ['v=spf1 +all', 'v=spf1 ip4:8.8.4.10 -all']],
    ['fail', 'if it includes a domain without one', ['v=spf1 include:nobody.example +all']],
    ['fail', 'if a term is wrong', ['v=spf1 ip4:8.8.4.300 +all']],
    ['fail', 'if a term after the one that matches is wrong', ['v=spf1 ip4:8.8.4.10 bogus:x']],
    ...[
      'ip4:2001:db8::1',
      'ip6:192.0.2.1',
      'a/33',
      'all:x',
      'exists',
      'exists:%{x}.example',
      'redirect=',
    ].map((term): [string, string, string[]] => [
      'fail',
      `if a term has a wrong form: ${term}`,
      [`v=spf1 ip4:8.8.4.10 ${term}`],
    ]),
    ['fail', 'if a modifier is repeated', ['v=spf1 ip4:8.8.4.10 exp=a.example exp=b.example']],
    ['pass', 'if two lookups find nothing', ['v=spf1 a:void1.example a:void2.example ip4:8.8.4.10']],
    [
      'fail',
      'if three lookups find nothing',
      ['v=spf1 a:void1.example a:void2.example mx:void3.example ip4:8.8.4.10'],
    ],
    ['fail', 'if it includes itself', ['v=spf1 include:self.example -all']],
    ['unknown', 'with macros', ['v=spf1 exists:%{i}._spf.example -all']],
  ])('has the result %s %s', async (result, _when, records) => {
    dns.records.set('near.relay.example', { A: ['8.8.4.1'] });
    dns.records.set('self.example', { TXT: ['v=spf1 include:self.example -all'] });
    const spf = await spfOf(...records);
    expect(spf).toMatchObject({ result });
  });

  it('takes ten lookups, and no more', async () => {
    expect(await spfOf(chain(10))).toMatchObject({ result: 'pass' });
    const tooMany = await spfOf(chain(11));
    expect(tooMany).toMatchObject({ result: 'fail', text: expect.stringContaining('more than 10 lookups') });
  });
});

test.each<[EmailCheck['name'], string, object]>([
  ['dkim', 's1._domainkey.', { TXT: ['v=DKIM1; p='] }],
  ['dmarc', '_dmarc.', { TXT: ['v=DMARC1; rua=mailto:x@example.com'] }],
  ['mx', '', { TXT: ['v=spf1 +all'], MX: ['.'] }],
])('%s fails for a record that says nothing or no', async (name, prefix, records) => {
  dns.records.set(prefix + domain, records);
  expect((await checks())[name].result).toBe('fail');
});

test('a subdomain has the DMARC record of the domain above it', async () => {
  const line = await createLine(app, workspace.id, 'email', { email: 'dana@mail.parent.example' });
  expect((await checks(line)).dmarc.result).toBe('fail');
  dns.records.set('_dmarc.parent.example', { TXT: ['v=DMARC1; p=reject; sp=quarantine'] });
  expect((await checks(line)).dmarc).toMatchObject({
    result: 'pass',
    text: 'The policy is quarantine, by the record of parent.example.',
  });
  dns.records.set('_dmarc.parent.example', { TXT: ['v=DMARC1; p=reject; sp=maybe'] });
  expect((await checks(line)).dmarc.result).toBe('fail');
});

test('a name of the address that leads elsewhere fails', async () => {
  dns.records.set('out.relay.example', { A: ['8.8.4.11'] });
  expect((await checks()).ptr).toMatchObject({ result: 'fail', found: `${RELAY} out.relay.example` });
});

test('what DNS does not answer is unknown, and the other checks are made', async () => {
  dns.records.set(domain, { silent: true });
  const { spf, mx, dmarc } = await checks();
  expect([spf.result, mx.result, dmarc.result]).toEqual(['unknown', 'unknown', 'pass']);
});

test('addresses of private networks are not looked up', async () => {
  dns.records.set('smtp.relay.example', { A: ['10.0.0.5'] });
  dns.records.set('5.0.0.10.in-addr.arpa', { PTR: ['payroll.corp.example'] });
  expect((await checks()).ptr).toMatchObject({ result: 'unknown', found: null });
});

test('DKIM is unknown without a selector, and SPF and PTR without a server', async () => {
  const simulated = await createLine(app, workspace.id, 'email');
  const { spf, dkim, ptr } = await checks(simulated);
  expect([spf.result, dkim.result, ptr.result]).toEqual(Array(3).fill('unknown'));
});

test('a line for another channel is refused, and one of another workspace is not found', async () => {
  const phone = await createLine(app, workspace.id, 'sms');
  expect((await api('GET', `/api/lines/${phone}/email-authentication`)).status).toBe(409);
  const other = apiClient(app.url, (await createWorkspace(app)).key);
  expect((await other('GET', `/api/lines/${lineId}/email-authentication`)).status).toBe(404);
});
