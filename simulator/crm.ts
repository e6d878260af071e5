import type { Middleware } from 'koa';

/** A request that a simulated CRM has got. */
interface SeenRequest {
  method: string;
  path: string;
  status: number;
  at: number;
}
interface Fault {
  status: number;
  body?: object;
  headers?: Record<string, string>;
}

/** What every simulated CRM shows of its requests, and how they are made to fail. */
export interface CrmRequests {
  /** The next requests to a path that contains `path` fail. @param headers of the response. */
  fault(path: string, ...faults: Fault[]): void;
  /** The paths that were requested. */
  requests: readonly SeenRequest[];
}

/** @returns `note`, which goes first, and `fail`, which goes before what checks requests. */
export function watchRequests(): CrmRequests & { note: Middleware; fail: Middleware } {
  const requests: SeenRequest[] = [];
  const faults: (Fault & { path: string })[] = [];
  return {
    requests,
    fault: (path, ...given) => void faults.push(...given.map((fault) => ({ path, ...fault }))),
    async note(context, next) {
      await next();
      const { method, path, status } = context;
      requests.push({ method, path, status, at: Date.now() });
    },
    async fail(context, next) {
      const index = faults.findIndex(({ path }) => context.path.includes(path));
      const [fault] = index === -1 ? [] : faults.splice(index, 1);
      if (!fault) return next();
      context.set(fault.headers ?? {});
      context.status = fault.status;
      context.body = fault.body ?? 'upstream connect error';
    },
  };
}

export interface StoredContact<Fields> {
  fields: Fields;
  createdAt: number;
  modifiedAt: number;
  /** From then on the search finds this version. */
  foundFrom: number;
  /** The version that the search finds until then. */
  before: StoredContact<Fields> | null;
  isArchived: boolean;
}

/** Contacts whose changes the search finds later, as those of the vendors say. */
export interface CrmContacts<Fields> extends Iterable<[string, StoredContact<Fields>]> {
  /** @param at when; default: now. */
  write(id: string, fields: Fields, isArchived?: boolean, at?: number): void;
  /** Null: there is none, or it is archived. */
  get(id: string): StoredContact<Fields> | null;
  /** Those that the search finds, changed since a time, from the first changed to the last. */
  found(since: number): { id: string; version: StoredContact<Fields> }[];
  /** The contact that has a value of a field. */
  holderOf(field: keyof Fields, value: unknown): string | undefined;
}

export function createContacts<Fields extends Record<string, unknown>>(
  foundAfterMs: number,
): CrmContacts<Fields> {
  const contacts = new Map<string, StoredContact<Fields>>();
  const visible = (contact: StoredContact<Fields> | null): StoredContact<Fields> | null =>
    !contact || contact.foundFrom <= Date.now() ? contact : visible(contact.before);
  return {
    [Symbol.iterator]: () => contacts[Symbol.iterator](),
    write(id, fields, isArchived = false, now = Date.now()) {
      const before = contacts.get(id) ?? null;
      contacts.set(id, {
        fields: { ...before?.fields, ...fields },
        createdAt: before?.createdAt ?? now,
        modifiedAt: now,
        foundFrom: now + foundAfterMs,
        before,
        isArchived,
      });
    },
    get(id) {
      const contact = contacts.get(id);
      return contact && !contact.isArchived ? contact : null;
    },
    found: (since) =>
      [...contacts]
        .flatMap(([id, contact]) => {
          const version = contact.isArchived ? null : visible(contact);
          return version && version.modifiedAt >= since ? [{ id, version }] : [];
        })
        // Those of the same moment in the order in which they were made.
        .toSorted((a, b) => a.version.modifiedAt - b.version.modifiedAt),
    holderOf: (field, value) =>
      [...contacts].find(
        ([, { fields, isArchived }]) => !isArchived && value !== undefined && fields[field] === value,
      )?.[0],
  };
}
