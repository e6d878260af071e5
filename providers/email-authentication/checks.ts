import { isIP } from 'node:net';
import type { EmailCheck, EmailSender } from '#domain/lines/email-authentication.ts';
import { truncate } from '#domain/base/text.ts';
import { addressKind } from '../egress-address.ts';
import type { Dns } from './dns.ts';
import { checkSpf, isSpfRecord, type SpfResult } from './spf.ts';

/** If an SMTP server has more addresses, the others are not checked. */
const MAX_ADDRESSES = 4;
const MAX_FOUND = 1000;

type Verdict = Pick<EmailCheck, 'result' | 'text'> & { found?: readonly string[] };

/**
 * Looks up the records by which receivers authenticate the emails of a line: SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 7489), the
 * mail servers of its domain, and the name of the SMTP server's address. Nothing is sent to any of them.
 * @param allowLoopback for servers on this machine; addresses of private networks are never looked up.
 */
export async function checkEmailAuthentication(
  dns: Dns,
  sender: EmailSender,
  { allowLoopback }: { allowLoopback: boolean },
): Promise<EmailCheck[]> {
  const { domain, host, dkimSelector } = sender;
  const servers = () => serverAddresses(dns, host, allowLoopback);
  const selector = dkimSelector ?? 'SELECTOR';
  return Promise.all([
    check('spf', `${domain} TXT "v=spf1 …" that permits ${host ?? 'the SMTP server'}`, () =>
      spf(dns, sender, servers),
    ),
    check('dkim', `${selector}._domainkey.${domain} TXT "v=DKIM1; p=…"`, () => dkim(dns, sender)),
    check('dmarc', `_dmarc.${domain} TXT "v=DMARC1; p=…"`, () => dmarc(dns, domain)),
    check('mx', `${domain} MX, so that replies and bounces arrive`, () => mx(dns, domain)),
    check('ptr', `the addresses of ${host ?? 'the SMTP server'} have names that lead back to them`, () =>
      ptr(dns, sender, servers),
    ),
  ]);
}

async function check(
  name: EmailCheck['name'],
  expected: string,
  look: () => Promise<Verdict>,
): Promise<EmailCheck> {
  const { found = [], ...verdict } = await look().catch((): Verdict => ({
    result: 'unknown',
    text: 'DNS did not answer.',
  }));
  return {
    name,
    ...verdict,
    found: found.length === 0 ? null : truncate(found.join('\n'), MAX_FOUND),
    expected,
  };
}

/** The addresses of the SMTP server that may be looked up. */
async function serverAddresses(dns: Dns, host: string | null, allowLoopback: boolean): Promise<string[]> {
  if (host === null) return [];
  const found = isIP(host) ? [host] : await dns.addresses(host);
  return found
    .filter((address) => {
      const kind = addressKind(address);
      return kind === 'public' || (kind === 'loopback' && allowLoopback);
    })
    .slice(0, MAX_ADDRESSES);
}

const noServer = ({ host }: EmailSender): string =>
  host === null
    ? 'The line is not connected to an SMTP server of its own.'
    : `${host} has no public address in DNS.`;

async function spf(dns: Dns, sender: EmailSender, servers: () => Promise<string[]>): Promise<Verdict> {
  const { domain, host } = sender;
  const found = (await dns.txt(domain)).filter(isSpfRecord);
  if (found.length === 0)
    return {
      result: 'fail',
      text: `${domain} has no SPF record: receivers do not know who may send for it.`,
    };
  if (found.length > 1)
    return { result: 'fail', found, text: `${domain} has several SPF records, so receivers ignore them.` };
  const addresses = await servers();
  if (addresses.length === 0) return { result: 'unknown', found, text: noServer(sender) };
  const results = await Promise.all(
    addresses.map(async (address) => ({ address, result: await checkSpf(dns, domain, address) })),
  );
  const { address, result } = results.toSorted((a, b) => badness(b.result) - badness(a.result))[0] as {
    address: string;
    result: SpfResult;
  };
  switch (result.kind) {
    case 'pass':
      return { result: 'pass', found, text: `The record permits ${host}.` };
    case 'permerror':
      return { result: 'fail', found, text: `The record is invalid: ${result.reason}.` };
    case 'uncertain':
      return {
        result: 'unknown',
        found,
        text: 'The record uses exists, ptr or macros, which are not evaluated here.',
      };
    case 'fail':
    case 'softfail':
    case 'neutral':
    case 'none':
      return {
        result: 'fail',
        found,
        text: `The record does not permit ${address} (${host}). If your provider sends from other addresses, compare the record with the one that it asks for.`,
      };
  }
}

const BADNESS: readonly SpfResult['kind'][] = [
  'pass',
  'uncertain',
  'neutral',
  'none',
  'softfail',
  'fail',
  'permerror',
];
const badness = ({ kind }: SpfResult): number => BADNESS.indexOf(kind);

async function dkim(dns: Dns, { domain, dkimSelector }: EmailSender): Promise<Verdict> {
  if (dkimSelector === null)
    return {
      result: 'unknown',
      text: "DKIM keys have names that DNS does not list: enter your provider's selector as dkimSelector in the settings of the line's carrier.",
    };
  const found = await dns.txt(`${dkimSelector}._domainkey.${domain}`);
  const key = found.map((text) => tag(text, 'p')).find((value) => value !== null);
  if (key === undefined) return { result: 'fail', found, text: 'There is no key under this selector.' };
  if (key === '') return { result: 'fail', found, text: 'The key was revoked: p is empty.' };
  return {
    result: 'pass',
    found,
    text: 'The key exists. Whether emails are signed with it shows only in one that arrived.',
  };
}

/** Names above the domain that are asked for a record. */
const MAX_PARENTS = 5;

/** The domain and those above it that can have a record, without top-level domains. */
function withParents(domain: string): string[] {
  const labels = domain.split('.');
  return labels.map((_, index) => labels.slice(index).join('.')).slice(0, Math.max(1, labels.length - 1));
}

/** A subdomain without a record has that of the nearest domain above it (RFC 7489, section 6.6.3). */
async function dmarc(dns: Dns, domain: string): Promise<Verdict> {
  for (const name of withParents(domain).slice(0, MAX_PARENTS)) {
    const found = (await dns.txt(`_dmarc.${name}`)).filter((text) => /^v=DMARC1\s*(;|$)/i.test(text));
    if (found.length > 0) return dmarcVerdict(found, name === domain ? null : name);
  }
  return { result: 'fail', text: 'There is no DMARC record.' };
}

const POLICIES = ['none', 'quarantine', 'reject'];

/** @param parent the domain above the line's whose record it is. */
function dmarcVerdict(found: string[], parent: string | null): Verdict {
  const [record = '', ...others] = found;
  if (others.length > 0)
    return { result: 'fail', found, text: 'There are several records, so receivers ignore them.' };
  const policy = tag(record, 'p')?.toLowerCase() ?? '';
  if (!POLICIES.includes(policy))
    return { result: 'fail', found, text: 'The policy p must be none, quarantine or reject.' };
  if (parent === null) return { result: 'pass', found, text: `The policy is ${policy}.` };
  const ofSubdomains = tag(record, 'sp')?.toLowerCase() ?? policy;
  if (!POLICIES.includes(ofSubdomains))
    return { result: 'fail', found, text: `The policy sp of ${parent} must be none, quarantine or reject.` };
  return { result: 'pass', found, text: `The policy is ${ofSubdomains}, by the record of ${parent}.` };
}

async function mx(dns: Dns, domain: string): Promise<Verdict> {
  const found = await dns.mx(domain);
  if (found.length === 0)
    return { result: 'fail', text: 'There is no MX record: replies and bounces may not arrive.' };
  if (found.every((name) => name === ''))
    return { result: 'fail', found: ['.'], text: 'The domain says that it takes no email (RFC 7505).' };
  return { result: 'pass', found, text: 'The domain takes email.' };
}

async function ptr(dns: Dns, sender: EmailSender, servers: () => Promise<string[]>): Promise<Verdict> {
  const addresses = await servers();
  if (addresses.length === 0) return { result: 'unknown', text: noServer(sender) };
  const named = await Promise.all(
    addresses.map(async (address) => ({
      address,
      names: (await dns.names(address)).slice(0, MAX_ADDRESSES),
    })),
  );
  const found = named.flatMap(({ address, names }) => names.map((name) => `${address} ${name}`));
  const unnamed = named.find(({ names }) => names.length === 0);
  if (unnamed) return { result: 'fail', found, text: `${unnamed.address} has no name.` };
  for (const { address, names } of named) {
    const back = await Promise.all(names.map((name) => dns.addresses(name)));
    if (!back.flat().includes(address))
      return { result: 'fail', found, text: `The name of ${address} does not lead back to it.` };
  }
  return { result: 'pass', found, text: 'The addresses have names that lead back to them.' };
}

/** The value of a tag in a list of them (RFC 6376, section 3.2); null if it is missing. */
function tag(record: string, name: string): string | null {
  for (const part of record.split(';')) {
    const [key = '', ...value] = part.split('=');
    if (value.length > 0 && key.trim().toLowerCase() === name) return value.join('=').trim();
  }
  return null;
}
