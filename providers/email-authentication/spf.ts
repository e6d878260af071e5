import { isInIpRanges, normalizeIpRange } from '#domain/base/ip-range.ts';
import type { Dns } from './dns.ts';

/**
 * The SPF result for an address (RFC 7208, section 2.6). `uncertain`: it depends on parts that are not evaluated here, the
 * mechanisms `exists` and `ptr` and macros.
 */
export type SpfResult =
  | { kind: 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'uncertain' }
  | { kind: 'permerror'; reason: string };

/** Mechanisms and modifiers that query DNS, in total (RFC 7208, section 4.6.4). */
const MAX_LOOKUPS = 10;

/** Lookups that find nothing, after which receivers give up (RFC 7208, section 4.6.4). */
const MAX_VOID_LOOKUPS = 2;
/** A name, perhaps with macros (RFC 7208, section 7.1). */
const DOMAIN = String.raw`(?:[^%\s/]|%[%_-]|%\{[slodiphcrtvSLODIPHCRTV]\d*[rR]?[.\-+,/_=]*\})+`;
const BITS = String.raw`(?:\/(?:3[0-2]|[12]?\d))?(?:\/\/(?:12[0-8]|1[01]\d|[1-9]?\d))?`;
/** What may come after each mechanism (RFC 7208, section 12). */
const MECHANISMS: Readonly<Record<string, RegExp>> = {
  all: /^$/,
  include: new RegExp(`^:${DOMAIN}$`),
  a: new RegExp(`^(?::${DOMAIN})?${BITS}$`),
  mx: new RegExp(`^(?::${DOMAIN})?${BITS}$`),
  ptr: new RegExp(`^(?::${DOMAIN})?$`),
  ip4: /^:[\d.]+(?:\/\d+)?$/,
  ip6: /^:[\da-f.]*:[\da-f:.]*(?:\/\d+)?$/i,
  exists: new RegExp(`^:${DOMAIN}$`),
};
const MODIFIERS = ['redirect', 'exp'];
const NAMED = new RegExp(`^${DOMAIN}$`);

class PermanentError extends Error {}

const QUALIFIERS = { '+': 'pass', '-': 'fail', '~': 'softfail', '?': 'neutral' } as const;
const TERM = /^([+\-~?])?([a-z][a-z0-9_.-]*)(?:([:=/])(.*))?$/i;

/** Whether a text record is one of SPF. */
export const isSpfRecord = (text: string): boolean => /^v=spf1( |$)/i.test(text);

/**
 * Whether a domain permits an address to send its emails.
 * @throws if DNS fails.
 */
export async function checkSpf(dns: Dns, domain: string, ip: string): Promise<SpfResult> {
  try {
    return await new Evaluation(dns, ip).check(domain);
  } catch (error) {
    if (error instanceof PermanentError) return { kind: 'permerror', reason: error.message };
    throw error;
  }
}

class Evaluation {
  readonly #dns: Dns;
  readonly #ip: string;
  #lookups = 0;
  #voidLookups = 0;

  constructor(dns: Dns, ip: string) {
    this.#dns = dns;
    this.#ip = ip;
  }

  async check(domain: string): Promise<Exclude<SpfResult, { kind: 'permerror' }>> {
    const [record, ...others] = (await this.#dns.txt(domain)).filter(isSpfRecord);
    if (record === undefined) return { kind: 'none' };
    if (others.length > 0) throw new PermanentError(`${domain} has several SPF records`);
    let redirect: string | null = null;
    let isCertain = true;
    const terms = record.split(/ +/).slice(1).filter(Boolean);
    // An error anywhere in the record makes all of it useless, also after the term that matches (section 4.6).
    for (const text of terms) this.#requireTerm(text);
    for (const name of MODIFIERS)
      if (terms.filter((text) => text.toLowerCase().startsWith(`${name}=`)).length > 1)
        throw new PermanentError(`it has several terms "${name}"`);
    for (const text of terms) {
      const [, qualifier = '+', name = '', sign = '', value = ''] = TERM.exec(text) ?? [];
      if (sign === '=') {
        if (name.toLowerCase() === 'redirect') redirect = value;
        continue;
      }
      const matches = await this.#matches(
        domain,
        text,
        name.toLowerCase(),
        sign === '/' ? `/${value}` : value,
      );
      if (matches === null) isCertain = false;
      if (!matches) continue;
      return { kind: isCertain ? QUALIFIERS[qualifier as keyof typeof QUALIFIERS] : 'uncertain' };
    }
    if (redirect === null) return { kind: isCertain ? 'neutral' : 'uncertain' };
    if (!isCertain || redirect.includes('%')) return { kind: 'uncertain' };
    return this.#follow(redirect);
  }

  #requireTerm(text: string): void {
    const [, , name = '', sign = '', value = ''] = TERM.exec(text) ?? [];
    const mechanism = name.toLowerCase();
    const isTerm =
      sign === '='
        ? !MODIFIERS.includes(mechanism) || NAMED.test(value)
        : Object.hasOwn(MECHANISMS, mechanism) && MECHANISMS[mechanism]?.test(sign + value);
    if (name === '' || !isTerm) throw new PermanentError(`"${text}" is not a term of SPF`);
    if (sign === '=') return;
    if (mechanism === 'ip4' || mechanism === 'ip6') this.#isIn(value, text);
  }

  /** @returns null if it is not evaluated here. */
  async #matches(domain: string, text: string, name: string, value: string): Promise<boolean | null> {
    switch (name) {
      case 'all':
        return true;
      case 'ip4':
      case 'ip6':
        return this.#isIn(value, text);
      case 'include':
        return value.includes('%') ? this.#skip() : this.#isIncluded(value);
      case 'a':
      case 'mx':
        return value.includes('%') ? this.#skip() : this.#isServer(name, domain, value, text);
      case 'exists':
      case 'ptr':
        return this.#skip();
      default:
        throw new PermanentError(`"${text}" is not a term of SPF`);
    }
  }

  #isIn(range: string, text: string): boolean {
    const normalized = normalizeIpRange(range);
    if (normalized === null) throw new PermanentError(`"${text}" is not a range of addresses`);
    return isInIpRanges(this.#ip, [normalized]);
  }

  #skip(): null {
    this.#countLookup();
    return null;
  }

  async #isIncluded(domain: string): Promise<boolean | null> {
    const { kind } = await this.#follow(domain);
    return kind === 'uncertain' ? null : kind === 'pass';
  }

  async #follow(domain: string) {
    this.#countLookup();
    const result = await this.check(domain);
    if (result.kind === 'none') throw new PermanentError(`${domain} has no SPF record`);
    return result;
  }

  /** `a` and `mx`, with an optional domain and lengths of prefixes: `a:example.com/24//64`. */
  async #isServer(name: 'a' | 'mx', domain: string, value: string, text: string): Promise<boolean> {
    this.#countLookup();
    const [, named, bits4 = '32', bits6 = '128'] =
      /^([^/]*)(?:\/(\d{1,2}))?(?:\/\/(\d{1,3}))?$/.exec(value) ?? [];
    if (named === undefined) throw new PermanentError(`"${text}" is not a term of SPF`);
    const target = named || domain;
    const hosts = name === 'a' ? [target] : await this.#dns.mx(target);
    if (hosts.length > MAX_LOOKUPS)
      throw new PermanentError(`${target} has more than ${MAX_LOOKUPS} mail servers, so receivers ignore it`);
    const found = await Promise.all(hosts.filter(Boolean).map((host) => this.#dns.addresses(host)));
    if (hosts.length === 0 || (name === 'a' && found.flat().length === 0)) this.#countVoidLookup();
    return found
      .flat()
      .some((address) => this.#isIn(`${address}/${address.includes(':') ? bits6 : bits4}`, text));
  }

  #countVoidLookup(): void {
    this.#voidLookups += 1;
    if (this.#voidLookups > MAX_VOID_LOOKUPS)
      throw new PermanentError(
        `more than ${MAX_VOID_LOOKUPS} of its lookups find nothing, so receivers ignore it`,
      );
  }

  #countLookup(): void {
    this.#lookups += 1;
    if (this.#lookups > MAX_LOOKUPS)
      throw new PermanentError(`it takes more than ${MAX_LOOKUPS} lookups, so receivers ignore it`);
  }
}
