import { Resolver } from 'node:dns/promises';

/** Lookups in DNS. A name without such a record has an empty list; every other failure is thrown. */
export interface Dns {
  txt(name: string): Promise<string[]>;
  /** The names of the mail servers, the preferred one first; '' is a null MX (RFC 7505). */
  mx(name: string): Promise<string[]>;
  /** IPv4 and IPv6. */
  addresses(name: string): Promise<string[]>;
  /** The names of an address. */
  names(address: string): Promise<string[]>;
}

export interface DnsOptions {
  /** `address` or `address:port`; null: the operating system's. */
  servers: readonly string[] | null;
  /** After this time all lookups fail. */
  deadlineMs: number;
}

const QUERY = { timeout: 1500, tries: 2 };
const NO_RECORD = new Set(['ENOTFOUND', 'ENODATA']);

/** Calls `use` with lookups, whose results are cached. */
export async function withDns<Result>(
  { servers, deadlineMs }: DnsOptions,
  use: (dns: Dns) => Promise<Result>,
): Promise<Result> {
  const resolver = new Resolver(QUERY);
  if (servers) resolver.setServers(servers);
  const known = new Map<string, Promise<string[]>>();
  let isOver = false;
  const deadline = setTimeout(() => {
    isOver = true;
    resolver.cancel();
  }, deadlineMs);

  const once = (key: string, look: () => Promise<string[]>): Promise<string[]> => {
    const found = known.get(key) ?? (isOver ? Promise.reject(new Error('timeout')) : orNone(look()));
    known.set(key, found);
    return found;
  };
  const dns: Dns = {
    txt: (name) =>
      once(`txt ${name}`, async () => (await resolver.resolveTxt(name)).map((parts) => parts.join(''))),
    mx: (name) =>
      once(`mx ${name}`, async () =>
        (await resolver.resolveMx(name))
          .toSorted((a, b) => a.priority - b.priority)
          .map(({ exchange }) => exchange),
      ),
    async addresses(name) {
      const found = await Promise.all([
        once(`a ${name}`, () => resolver.resolve4(name)),
        once(`aaaa ${name}`, () => resolver.resolve6(name)),
      ]);
      return found.flat();
    },
    names: (address) => once(`ptr ${address}`, () => resolver.reverse(address)),
  };
  try {
    return await use(dns);
  } finally {
    clearTimeout(deadline);
  }
}

async function orNone(records: Promise<string[]>): Promise<string[]> {
  try {
    return await records;
  } catch (error) {
    if (NO_RECORD.has((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
